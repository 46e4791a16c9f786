package own_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools/grants"
	"tavernsim/tools/secrets"
)

const asks = `
-- project.json --
{"id": "test"}
-- tools/a.tool.yaml --
id: a
implementation: {type: http, url: "https://a.example/"}
needs: ["net:a.example:443"]
-- tools/b.tool.yaml --
id: b
implementation: {type: http, url: "https://b.example/"}
needs: ["net:b.example:443"]
-- scenes/s.yaml --
{id: s, name: S, agent_instances: []}
`

func storeOf(t *testing.T, value string) *secrets.Store {
	t.Helper()
	s, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: value, Tools: []string{"a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Promises 1 and 2: what is taken counts as a whole, and texts stay without the values of before
// and those of options.
func TestTakenAnew(t *testing.T) {
	files, err := txtar.FS(txtar.Parse([]byte(asks)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(files, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]*grants.Store{"a": {}, "b": {}}
	for _, a := range needs.Of(p, needs.Place{}) {
		of[a.Tool].Give(&a)
	}
	o, err := own.New(p, needs.Place{}, "", own.Files{Grants: of["a"], Secrets: storeOf(t, "firstsecret-1234")}, map[string]string{"extensions.p.token": "optionsecret-56"})
	if err != nil {
		t.Fatal(err)
	}
	next, err := o.Next(own.Files{Grants: of["b"], Secrets: storeOf(t, "secondsecret-9876")})
	if err != nil || next.Refused("b") != nil || next.Refused("a") == nil {
		t.Fatal(next, err)
	}
	if o.Refused("a") != nil || o.Refused("b") == nil {
		t.Error("it counts before it is taken")
	}
	if err := o.Take(next); err != nil {
		t.Fatal(err)
	}
	if o.Refused("a") == nil || o.Refused("b") != nil {
		t.Error("it does not count")
	}
	if got, err := o.Held().Granted("a", []string{"key"}); err != nil || got["key"] != "secondsecret-9876" {
		t.Error(got, err)
	}
	for _, value := range []string{"firstsecret-1234", "secondsecret-9876", "optionsecret-56"} {
		if text, err := o.Held().Store().Text("it is " + value); err != nil || strings.Contains(text, value) {
			t.Errorf("%q, %v", text, err)
		}
	}
}
