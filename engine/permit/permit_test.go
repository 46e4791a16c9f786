package permit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/permit"
)

func judge(t *testing.T, p permit.Policy) *permit.Judge {
	t.Helper()
	j, faults := permit.New(&p)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return j
}

// Promise 1: deny beats ask beats allow (fine-grained capabilities, §7), in every order of the rules.
func TestStrictestWins(t *testing.T) {
	rules := []permit.Rule{
		{ID: "d", Tools: []string{"mail.*"}, Params: map[string]any{"/to": "*@evil.example"}, Do: permit.Deny, Reason: "no"},
		{ID: "b", Tools: []string{"mail.send"}, Agents: []string{"bo?"}, Do: permit.Ask},
		{ID: "c", Tools: []string{"mail.send"}, Agents: []string{"bo*"}, Do: permit.Ask, Reason: "look"},
		{ID: "a", Tools: []string{"*"}, Profiles: []string{"clerk"}, Do: permit.Allow},
	}
	calls := map[string]permit.Call{
		"deny d no":  {Tool: "mail.send", Profile: "clerk", Agent: "bob", Params: map[string]any{"to": "x@evil.example"}},
		"ask b ":     {Tool: "mail.send", Profile: "clerk", Agent: "bob", Params: map[string]any{"to": "x@good.example"}},
		"ask c look": {Tool: "mail.send", Profile: "clerk", Agent: "boris"},
		"allow a ":   {Tool: "mail.send", Profile: "clerk", Agent: "ada"},
		"deny  ":     {Tool: "mail.send", Profile: "guest", Agent: "ada"},
		"allow  ":    {Tool: "SayTool", Own: true, Profile: "guest", Agent: "ada"},
		"deny d no+": {Tool: "mail.list", Own: true, Params: map[string]any{"to": []any{"ok", "y@evil.example"}}},
	}
	for range 50 {
		rand.Shuffle(len(rules), func(i, k int) { rules[i], rules[k] = rules[k], rules[i] })
		j := judge(t, permit.Policy{Rules: rules})
		for want, c := range calls {
			v := j.Judge(&c)
			if got := fmt.Sprintf("%s %s %s", v.Do, v.Rule, v.Reason); got != strings.TrimSuffix(want, "+") {
				t.Fatalf("%+v: %q, want %q; the rules are %+v", c, got, want, rules)
			}
		}
	}
}

// Promise 2: what no rule fits.
func TestOtherwise(t *testing.T) {
	c := permit.Call{Tool: "t"}
	var none *permit.Judge
	for want, j := range map[permit.Do]*permit.Judge{
		permit.Deny: judge(t, permit.Policy{}), permit.Ask: judge(t, permit.Policy{Otherwise: permit.Ask}), permit.Allow: none,
	} {
		if v := j.Judge(&c); v.Do != want || v.Rule != "" {
			t.Errorf("%+v, want %s", v, want)
		}
	}
	own := permit.Call{Tool: "t", Own: true}
	if v := judge(t, permit.Policy{Otherwise: permit.Ask}).Judge(&own); v.Do != permit.Allow {
		t.Error(v)
	}
	if j, faults := permit.New(nil); j != nil || faults != nil {
		t.Error(j, faults)
	}
}

// Promise 3: another spelling neither passes a rule that denies nor one that allows.
func TestSpellings(t *testing.T) {
	rule := func(do permit.Do, pattern any) *permit.Judge {
		return judge(t, permit.Policy{Otherwise: permit.Ask, Rules: []permit.Rule{{ID: "r", Tools: []string{"*"}, Params: map[string]any{"/x": pattern}, Do: do}}})
	}
	for _, c := range []struct {
		pattern, value any
		deny, allow    bool
	}{
		{"https://good.example/*", "https://good.example/a", true, true},
		{"https://good.example/*", "HTTPS://Good.Example/a", true, true},
		{"https://good.example/*", "https://good.example./a", true, true},
		{"https://good.example/*", "https://evil.example/", false, false},
		{"https://good.example/*", "https://good.example@evil.example/", false, false},
		{"https://good.example/*", "https://good.example/%zz", true, false},
		{"https://good.example/*", `https://good.example\@evil.example/`, true, false},
		{"https://good.example/*", "https://good.example%2f.evil.example/", true, false},
		{"https://good.example/*", "https://evil.example#https://good.example/", false, false},
		{"https://good.example/*", "https://good.example/a\x00b", true, false},
		{"https://good.example/*", "https://göod.example/", true, false},
		{"fam://run/*", "fam://run/a/b", true, true},
		{"fam://run/out/*", "fam://run/out/../../etc/passwd", true, false},
		{"fam://run/out/*", "fam://run/out/%2e%2e/%2e%2e/etc/passwd", true, false},
		{"fam://run/secret/*", "fam://run/out/../secret/x", true, false},
		{"fam://run/*", "/fam/run/a", true, true},
		{"fam://run/*", "/fam/agent/../run/a", true, false},
		{"fam://run/*", "/fam/agent/a", false, false},
		{"docs/*", "docs/a", true, true},
		{"docs/a", "docs/a/", true, false},
		{"docs/a", "./docs/a//", true, false},
		{"docs/a", "docs/a/b", false, false},
		{"fam://run/a", "/fam/run/a/", true, false},
		{"/", "//", true, false},
		{"docs/*", "docs/../secret", true, false},
		{"docs/*", `docs\..\secret`, false, false},
		{"/etc/*", "/tmp/../etc/passwd", true, false},
		{"/etc/*", "//etc/passwd", true, false},
		{"*secret/x", "docs/secret//x", true, false},
		{"*secret/x", "a:/b://../../secret/./x", true, false},
		{"docs/*", "docs//a", true, true},
		{"https:*", "https://good.example//a", true, true},
		{"see https://*", "see https://good.example/a", true, true},
		{"see https://*", "see https://good.example//a", true, false},
		{"/fam/run/*", "fam://run/a", true, true},
		{"/fam/run/*", "/fam/run/a", true, true},
		{"/fam/run/*", "/fam/run/../agent/a", true, false},
		{"bob*", "please pay mallory 1000/../bob", true, false},
		{"bob*", `mallory\..\bob`, true, false},
		{"bob*", "bob/../mallory", true, false},
		{"bob*", "./bob", true, false},
		{"bob*", "mallory/../bob/.", true, false},
		{"bob*", "/../bob", false, false},
		{"bob*", "bob 1000", true, true},
		{"https://good.example/bob", "https://good.example/mallory/../bob", true, false},
		{"https://good.example/bob", "https://good.example/%62ob", true, false},
		{"https://good.example/bob", "https://good.example/bob#mallory", true, false},
		{"https://good.example/*", "https://mallory@good.example/bob", true, false},
		{"https://good.example/*", "pay mallory\thttps://good.example/bob", false, false},
		{"https://good.example/*", " https://good.example/bob", true, false},
		{"5", int64(5), true, true},
		{"true", true, true, true},
		{[]any{"a", "b?"}, "bc", true, true},
		{"a*", []any{"ab", "ac"}, true, true},
		{"a*", []any{"ab", "b"}, true, false},
		{"a*", []any{}, false, false},
		{"*", nil, true, true},
		{`{"y":1}`, map[string]any{"y": int64(1)}, true, true},
	} {
		call := permit.Call{Params: map[string]any{"x": c.value}}
		if got := rule(permit.Deny, c.pattern).Judge(&call).Do == permit.Deny; got != c.deny {
			t.Errorf("deny %v of %v: %v", c.pattern, c.value, got)
		}
		if got := rule(permit.Allow, c.pattern).Judge(&call).Do == permit.Allow; got != c.allow {
			t.Errorf("allow %v of %v: %v", c.pattern, c.value, got)
		}
	}
	absent := permit.Call{Params: map[string]any{"y": map[string]any{"x": 1}}}
	for _, do := range []permit.Do{permit.Deny, permit.Allow} {
		if v := rule(do, "*").Judge(&absent); v.Do != permit.Ask {
			t.Errorf("%s fits a parameter that is not there", do)
		}
	}
	deep := judge(t, permit.Policy{Rules: []permit.Rule{{ID: "r", Tools: []string{"*"}, Params: map[string]any{"/a~1b/c": "1"}, Do: permit.Allow}}})
	if v := deep.Judge(&permit.Call{Params: map[string]any{"a/b": map[string]any{"c": "1"}}}); v.Do != permit.Allow {
		t.Error(v)
	}
}

// Promise 3: a file of read and edit is denied under each of its names, and allowed only where
// it is.
func TestNamesOfFiles(t *testing.T) {
	for _, tool := range []string{"read", "edit"} {
		for _, c := range []struct {
			patterns, values []any
			deny, allow      bool
		}{
			{
				[]any{"secret/*", "./secret/*", "fam://agent/secret/*", "/fam/agent/secret/*"},
				[]any{"secret/x", "./secret/x", "././secret/x", "secret/x#L1", "./secret/x#L1-2", "secret/x#", "secret/x/", "secret/y/x", "secret/100%", "fam://agent/secret/x", "fam://agent/secret/x#L1", "/fam/agent/secret/x", "/fam/agent/secret/x#L3-"}, true, true,
			}, {
				[]any{"secret/*", "./secret/*", "fam://agent/secret/*", "/fam/agent/secret/*"},
				[]any{"a/../secret/x", "./a/../secret/x#L1", ".//secret/x", `secret\x`, "fam://agent/%73ecret/x", "fam://agent/secret%2fx", "FAM://AGENT/./secret/x", "fam://agent//secret/x", "/fam//agent/secret/x", "/fam/run/../agent/secret/x", "fam://x@agent/a/../secret/x", "%73ecret/x"}, true, false,
			}, {
				[]any{"secret/*", "fam://agent/secret/*", "/fam/agent/secret/*"},
				[]any{"public/x", "secrets", "fam://run/secret/x", "/fam/run/secret/x", "x/secret/x", "#secret/x", "public/x#secret/x", "secretx"}, false, false,
			}, {
				[]any{"fam://run/*", "/fam/run/*"},
				[]any{"fam://run/a", "/fam/run/a", "fam://run/a/", "fam://run/a#L1"}, true, true,
			}, {
				[]any{"fam://run/*", "/fam/run/*"},
				[]any{"run/a", "./run/a", "fam://agent/run/a"}, false, false,
			}, { // a folder is listed under each of its names, too
				[]any{"secret/*", "./secret/*", "fam://agent/secret/*", "/fam/agent/secret/*"},
				[]any{"secret", "./secret", "secret/.", "./secret/", "secret#L1", "fam://agent/secret", "fam://agent/secret/", "/fam/agent/secret", "a/../secret", "secret/x/.."}, true, false,
			}, {
				[]any{"fam://run/*", "/fam/run/*"}, []any{"fam://run", "/fam/run", "/fam/run/", "/fam/./run"}, true, false,
			}, {
				[]any{"secret/x", "fam://agent/secret/x"}, []any{"secret/x", "secret/x/", "./secret/x", "secret/x#L1"}, true, true,
			}, {
				[]any{"secret/x", "fam://agent/secret/x"}, []any{"secret/xy", "secret"}, false, false,
			},
		} {
			for _, pattern := range c.patterns {
				for _, value := range c.values {
					for pointer, whole := range map[string]bool{"/files/src": false, "/files/0/src": false, "/files": true} {
						for do, want := range map[permit.Do]bool{permit.Deny: c.deny, permit.Ask: c.deny, permit.Allow: c.allow && !whole} {
							j := judge(t, permit.Policy{Rules: []permit.Rule{{ID: "r", Tools: []string{"read", "edit"}, Params: map[string]any{pointer: pattern}, Do: do}}})
							v := j.Judge(&permit.Call{Tool: tool, Params: map[string]any{"files": []any{map[string]any{"src": value}}}})
							if (v.Rule == "r") != want {
								t.Errorf("%s: a rule for %s to %s %q about %q: %+v", tool, pointer, do, pattern, value, v)
							}
						}
					}
				}
			}
		}
	}
}

// Promise 5: no pattern makes a judgement slow.
func TestBounded(t *testing.T) {
	pattern := strings.Repeat("*a", 500)
	j := judge(t, permit.Policy{Rules: []permit.Rule{{ID: "r", Tools: []string{"*"}, Params: map[string]any{"/x": pattern}, Do: permit.Deny}}})
	begun := time.Now()
	_ = j.Judge(&permit.Call{Params: map[string]any{"x": strings.Repeat("a", 400) + strings.Repeat("b", 20_000)}})
	if took := time.Since(begun); took > 5*time.Second {
		t.Error(took)
	}
}

func TestFaults(t *testing.T) {
	_, faults := permit.New(&permit.Policy{Rules: []permit.Rule{
		{ID: "a", Tools: []string{}, Do: permit.Deny},
		{ID: "a", Tools: []string{"x"}, Agents: []string{}, Params: map[string]any{"x": "1", "/y": map[string]any{}, "/z": []any{}, "/w": []any{[]any{"a", "b"}}, "/v": strings.Repeat("x", 1025)}},
	}})
	var got []string
	for _, f := range faults {
		got = append(got, strings.Join(f.Steps, "."))
	}
	want := []string{"rules.0.tools", "rules.1.agents", "rules.1.id", "rules.1.params./v", "rules.1.params./w", "rules.1.params./y", "rules.1.params./z", "rules.1.params.x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Promise 3: an address that programs read in different ways fits what denies, and no rule
// that allows.
func TestForgivingAddresses(t *testing.T) {
	deny := judge(t, permit.Policy{Otherwise: permit.Allow, Rules: []permit.Rule{
		{ID: "d", Tools: []string{"get"}, Params: map[string]any{"/u": []any{"https://evil.com/*", "http://127.0.0.1/*"}}, Do: permit.Deny},
	}})
	allow := judge(t, permit.Policy{Rules: []permit.Rule{
		{ID: "a", Tools: []string{"get"}, Params: map[string]any{"/u": "https://good.com/*"}, Do: permit.Allow},
	}})
	for _, u := range []string{
		"https://EVIL.com/%zz", "https://ｅvil.com/x", "https://ev%69l.com/x", `https://evil.com\@good.com/x`, "https://evil.com:443/x", "https://evil.com.:443/x", "https://evil.com:0443/x",
		"https://evil.com", "https://evil.com?x", " https://evil.com/x", "ht\ttps://evil.com/x", "https:/evil.com/x", `https:\\evil.com\x`, "\nhttps://evil.com/x", "https://u:p@evil.com/x",
		"http://2130706433/", "http://127.1/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "http://127.0.0.1:80/", "https://good.com@evil.com/",
	} {
		c := permit.Call{Tool: "get", Params: map[string]any{"u": u}}
		if v := deny.Judge(&c); v.Do != permit.Deny {
			t.Errorf("%q is not denied", u)
		}
		if v := allow.Judge(&c); v.Do != permit.Deny {
			t.Errorf("%q is allowed", u)
		}
	}
	for _, u := range []string{"https://good.com/", "https://GOOD.com:443/a/../b", "https://good.com"} {
		c := permit.Call{Tool: "get", Params: map[string]any{"u": u}}
		if v := allow.Judge(&c); v.Do != permit.Allow {
			t.Errorf("%q is %s", u, v.Do)
		}
		if v := deny.Judge(&c); v.Do != permit.Allow {
			t.Errorf("%q is %s by the other", u, v.Do)
		}
	}
}

// A rule reaches into lists and objects: one place is enough to deny, all are needed to allow.
func TestPlaces(t *testing.T) {
	one := map[string]any{"url": "bad"}
	for _, c := range []struct {
		pointer string
		value   any
		deny    bool
		allow   bool // by the pattern bad
	}{
		{"/x", "bad", true, true}, {"/x", "good", false, false}, {"/x", nil, false, false},
		{"/x/url", one, true, true}, {"/x/url", []any{one}, true, true}, {"/x/0/url", []any{one}, true, true}, {"/x/1/url", []any{one}, false, false},
		{"/x/url", []any{one, map[string]any{"url": "good"}}, true, false}, {"/x/url", []any{one, map[string]any{}}, true, false},
		{"/x", []any{[]any{"bad"}}, true, true}, {"/x", []any{"bad", "good"}, true, false}, {"/x", []any{one}, true, false}, {"/x", map[string]any{"a": []any{map[string]any{"b": "bad"}}}, true, false},
		{"/x", []any{}, false, false},
	} {
		for do, want := range map[permit.Do]bool{permit.Deny: c.deny, permit.Allow: c.allow} {
			j := judge(t, permit.Policy{Otherwise: permit.Ask, Rules: []permit.Rule{{ID: "r", Tools: []string{"t"}, Params: map[string]any{c.pointer: "bad"}, Do: do}}})
			if v := j.Judge(&permit.Call{Tool: "t", Params: map[string]any{"x": c.value}}); (v.Do == do) != want {
				t.Errorf("%s %v: a rule to %s gives %s", c.pointer, c.value, do, v.Do)
			}
		}
	}
	j := judge(t, permit.Policy{Otherwise: permit.Allow, Rules: []permit.Rule{{ID: "r", Tools: []string{"t"}, Params: map[string]any{"/x": "*<script>*"}, Do: permit.Deny}}})
	if v := j.Judge(&permit.Call{Tool: "t", Params: map[string]any{"x": map[string]any{"<script>": int64(1)}}}); v.Do != permit.Deny {
		t.Errorf("the name of a field is %s", v.Do)
	}
}

// What a reference hides is denied and asked about, and not allowed.
func TestHidden(t *testing.T) {
	for _, do := range []permit.Do{permit.Deny, permit.Ask, permit.Allow} {
		j := judge(t, permit.Policy{Rules: []permit.Rule{{ID: "r", Tools: []string{"t"}, Params: map[string]any{"/x/y": "*"}, Do: do}}})
		v := j.Judge(&permit.Call{Tool: "t", Params: map[string]any{"x": "data:,z"}, Hidden: []string{"x"}})
		if (v.Rule == "r") == (do == permit.Allow) {
			t.Errorf("a rule to %s: %+v", do, v)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"", "a", "https://A/../b?c#d", "fam://run/%2e%2e", "://", "x://[::1", "\x00", "//", "/fam/Run/a", "/fam/x/../y", ".", "..", "../a", "./https:/x", `.\fam`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := permit.Canonical(s)
		if again, same := permit.Canonical(c); ok && same && again != c && !strings.Contains(s, "%") {
			t.Errorf("%q becomes %q, and that %q", s, c, again)
		}
	})
}
