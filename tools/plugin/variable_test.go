package plugin

import (
	"encoding/json"
	"strings"
	"testing"
)

// promise 3: no variable of the environment gives options of two plugins.
func TestAVariableIsOfOneOption(t *testing.T) {
	var names []string
	for list := []string{""}; len(list[0]) < 4; {
		var longer []string
		for _, s := range list {
			for _, c := range []string{"a", "B", "1", "_", "-", "."} {
				longer = append(longer, s+c)
			}
		}
		list, names = longer, append(names, longer...)
	}
	var plugins, options []string
	for _, n := range names {
		if IsName(n) {
			plugins = append(plugins, n)
		}
		if isOption(n) {
			options = append(options, n)
		}
	}
	if len(plugins) < 50 || len(options) < 50 {
		t.Fatal(len(plugins), len(options))
	}
	same := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) } // refused in one project
	of := map[string][2]string{}
	for _, p := range plugins {
		for _, o := range options {
			pair := [2]string{same(p), same(o)}
			if other, taken := of[Variable(p, o)]; taken && other != pair {
				t.Fatalf("%s gives %v and %v", Variable(p, o), other, pair)
			}
			of[Variable(p, o)] = pair
		}
	}
	for name, want := range map[string][2]bool{
		"a": {true, true}, "a_b": {true, true}, "a-b": {true, false}, "1": {true, false}, "": {}, ".": {}, "..": {}, "../x": {}, "a/b": {}, "a__b": {}, "a--b": {}, "a_-b": {}, "_a": {}, "-a": {}, "a_": {}, "a-": {},
		strings.Repeat("a", 64): {true, true}, strings.Repeat("a", 65): {}, "a\n": {},
	} {
		if got := [2]bool{IsName(name), isOption(name)}; got != want {
			t.Errorf("%q: plugin, option: %v, want %v", name, got, want)
		}
	}
}

// promise 3: a value that is a secret is kept nowhere, whichever option it was given to.
func TestAValueThatIsASecretIsNotKept(t *testing.T) {
	plugins := map[string]*Manifest{
		"a": {Name: "a", ConfigOptions: []Option{{Key: "extensions.a.text", Type: "string"}, {Key: "extensions.a.n", Type: "integer"}}},
		"b": {Name: "b", ConfigOptions: []Option{{Key: "extensions.b.token", Type: "string", Secret: true}}},
	}
	given := Given{
		{From: FromFlag, Plugins: map[string]map[string]any{"a": {"text": "swordfish-9", "n": int64(3)}}},
		{From: FromFile, Plugins: map[string]map[string]any{"a": {"text": "plain"}, "b": {"token": "swordfish-9"}}},
	}
	open, secret := given.Split(plugins)
	kept, _ := json.Marshal(open)
	if want := `[{"from":"flag","plugins":{"a":{"n":3}}},{"from":"operator file","plugins":{"a":{"text":"plain"}}}]`; string(kept) != want {
		t.Errorf("kept: %s, want %s", kept, want)
	}
	if rest, _ := json.Marshal(secret); strings.Count(string(rest), "swordfish-9") != 2 {
		t.Errorf("secret: %s", rest)
	}
}
