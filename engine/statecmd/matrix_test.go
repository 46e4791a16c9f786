package statecmd

import (
	"fmt"
	"testing"

	"tavernsim/engine/statecmd/command"
)

// TestMatrix_everyAction: the options that every action takes mean the same for
// each.
func TestMatrix_everyAction(t *testing.T) {
	const state = `{"n":1,"l":[1,1],"o":{"__version":3,"x":{"y":1}}}`
	targets := map[command.Action][2]string{ // key and value of an entry that applies
		command.Set: {"o.x", `{"z":1}`}, command.Add: {"n", "1"}, command.Update: {"o.x", `{"z":1}`}, command.Patch: {"o.x", `{"z":1}`},
		command.Ensure: {"new", "1"}, command.Push: {"l", "2"}, command.Pull: {"l", "1"}, command.Delete: {"o.x", ""},
	}
	for _, a := range command.Actions() {
		key, value := targets[a][0], targets[a][1]
		entry := func(options string) string { return cmd(string(a), key, value, options) }
		absent := cmd(string(a), "absent.x", value, `"ifExists":true`)
		exists := "skipped/missing"
		if a == command.Ensure { // C6: it implies ifMissing
			exists = "rejected/conflicting_options"
		}
		for _, r := range []rule{
			{name: "idempotencyKey", do: batch(entry(`"idempotencyKey":"k"`), entry(`"idempotencyKey":"k"`)), want: "applied/ok* skipped/duplicate", after: "~"},
			{name: "reason and tags", do: batch(entry(`"reason":"why","tags":["a","b"]`)), want: "applied/ok*", after: "~"},
			{name: "ifExists", do: batch(absent), want: exists},
			{name: "ifEquals", do: batch(entry(`"ifEquals":"other"`)), want: "skipped/not_equal"},
			{name: "ifVersion", do: batch(entry(`"ifVersion":99`)), want: "rejected/version_conflict"},
			{name: "expect", do: batch(entry(`"expect":{"equals":"other"}`)), want: "rejected/expect_failed"},
			{name: "transaction", do: batch(entry(`"transaction":true`), cmd("delete", "nothing", "", "")), want: "rolled_back/transaction rejected/missing"},
		} {
			r.state = state
			t.Run(fmt.Sprintf("%s/%s", a, r.name), func(t *testing.T) { r.test(t, Settings{}) })
		}
	}
}

// TestMatrix_ttl: every action that brings a value takes ttl; add for what is
// new only; on a soft delete it is the purge time of the record.
func TestMatrix_ttl(t *testing.T) {
	for name, c := range map[string]struct{ state, do, soon, late string }{
		"set":          {`{}`, cmd("set", "a", "1", `"ttl":5`), `{"a":1}`, `{}`},
		"update":       {`{"a":{"x":1}}`, cmd("update", "a", `{"y":1}`, `"ttl":5`), `{"a":{"x":1,"y":1}}`, `{}`},
		"patch":        {`{}`, cmd("patch", "a", `{"y":1}`, `"ttl":5`), `{"a":{"y":1}}`, `{}`},
		"ensure":       {`{}`, cmd("ensure", "a", "1", `"ttl":5`), `{"a":1}`, `{}`},
		"add new":      {`{}`, cmd("add", "a", "1", `"ttl":5`), `{"a":1}`, `{}`},
		"add key":      {`{"a":{"x":1}}`, cmd("add", "a", `{"y":1}`, `"ttl":5`), `{"a":{"x":1,"y":1}}`, `{"a":{"x":1}}`},
		"add element":  {`{"a":[1]}`, cmd("add", "a", "2", `"ttl":5`), `{"a":[1,2]}`, `{"a":[1]}`},
		"push element": {`{"a":[1]}`, cmd("push", "a", "2", `"ttl":5`), `{"a":[1,2]}`, `{"a":[1]}`},
		"purge":        {`{"a":1,"bin":[]}`, cmd("delete", "a", "", `"softDelete":true,"ttl":5`), "~", `{"bin":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			tab := newTable(t, Settings{}, c.state)
			tab.run(batch(c.do))
			if tab.advance(4e9); c.soon != "~" && tab.state() != canonical(t, c.soon) {
				t.Errorf("before its time: %s", tab.state())
			}
			if tab.advance(1e9); tab.state() != canonical(t, c.late) {
				t.Errorf("after it: %s", tab.state())
			}
		})
	}
}

// C10: the extension that would take JSON Patch is refused, whatever it says.
func TestPatchFormat_C10(t *testing.T) {
	for _, r := range []rule{
		{name: "json-patch", state: `{"a":{}}`, do: batch(cmd("patch", "a", `{"x":1}`, `"patchFormat":"json-patch"`)), want: "rejected/json_patch", say: "patchFormat is not taken"},
		{name: "another word", state: `{"a":{}}`, do: batch(cmd("update", "a", `{"x":1}`, `"patchFormat":1`)), want: "rejected/json_patch"},
	} {
		t.Run(r.name, func(t *testing.T) { r.test(t, Settings{}) })
	}
}
