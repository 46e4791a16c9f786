package statecmd

import (
	"fmt"
	"slices"
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

// Promise 3 of package command, for every option alone on every action: it makes a difference
// to some document, or else every document is answered with a warning or a rejection.
func TestMatrix_noOptionIsSilent(t *testing.T) {
	states := []string{`{"n":1}`, `{"a":1}`, `{"a":[1,2,1]}`, `{"a":[{"id":1,"v":2},{"id":2}]}`, `{"a":{"__version":2,"x":{"y":1}}}`, `{"a":[]}`}
	values := []string{"1", `{"id":1}`, `{"x":{"z":1}}`}
	options := map[string][]string{ // none says the default of every action
		"idempotencyKey": {`"k"`}, "reason": {`"why"`}, "tags": {`["t"]`}, "ifMissing": {"true"}, "ifExists": {"true"}, "ifEquals": {"1"}, "ifVersion": {"2"},
		"mergeStrategy": {`"replace"`, `"shallow"`, `"deep"`}, "uniqueBy": {`"id"`}, "dedupe": {"true"}, "onConflict": {`"replace"`, `"keep"`},
		"position": {`"head"`, `"tail"`}, "limit": {"1"}, "where": {`{"id":2}`}, "count": {"1"}, "softDelete": {"true"}, "recycleBinKey": {`"s.trash"`}, "cascade": {"false"},
		"allowMissing": {"true", "false"}, "ttl": {"5"}, "expiresAt": {`"2025-02-01T00:00:00Z"`}, "expect": {`{"equals":77}`}, "transaction": {"true"},
	}
	same := map[string]bool{ // what says the default of the action
		"ensure ifMissing true": true, "pull ifExists true": true,
		`set mergeStrategy "replace"`: true, `update mergeStrategy "shallow"`: true, `patch mergeStrategy "shallow"`: true, `push position "tail"`: true,
		"update allowMissing true": true, "patch allowMissing true": true, "push allowMissing true": true, "pull allowMissing true": true, "delete allowMissing false": true,
	}
	for _, a := range command.Actions() {
		plain := map[string]string{}
		for _, name := range command.OptionNames() {
			if len(options[name]) == 0 {
				t.Errorf("no value of %s is tried", name)
			}
			for _, v := range options[name] {
				differs, silent := false, ""
				for _, state := range states {
					for _, value := range values {
						where := state + " with the value " + value
						if plain[where] == "" {
							plain[where], _ = outcomeOf(t, state, cmd(string(a), "a", value, ""))
						}
						with, warned := outcomeOf(t, state, cmd(string(a), "a", value, fmt.Sprintf("%q:%s", name, v)))
						if differs = differs || with != plain[where]; with == plain[where] && !warned {
							silent = where
						}
					}
				}
				if !differs && silent != "" && !same[fmt.Sprintf("%s %s %s", a, name, v)] && name != "reason" && name != "tags" { // these two are for the audit alone
					t.Errorf("%s %s %s changes nothing, and %s gives no warning", a, name, v, silent)
				}
			}
		}
	}
}

// outcomeOf is all that comes of an entry, and of one behind it that is rejected, but what the
// audit says of the options; and whether the entry was warned about.
func outcomeOf(t *testing.T, state, entry string) (outcome string, warned bool) {
	tab := newTable(t, Settings{}, state)
	dec := tab.run(batch(entry, cmd("delete", "nothing", "", "")))
	for i := range dec.Audit {
		dec.Audit[i].Options, dec.Audit[i].Warnings = nil, nil
	}
	warned = slices.ContainsFunc(dec.Warnings, func(w command.Warning) bool { return w.Index == 0 })
	return mustJSON(t, dec.Results, dec.Audit, tab.state(), tab.s.NextExpiry(), tab.s.Keys("state")), warned
}

// What an option needs beside it.
func TestMatrix_neededBeside(t *testing.T) {
	for _, r := range []rule{
		{name: "a bin without softDelete", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"recycleBinKey":"s.trash"`)), want: "applied/ok*", after: `{}`, warn: "option_ignored"},
		{name: "a bin, softDelete is false", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"softDelete":false,"recycleBinKey":"s.trash"`)), want: "applied/ok*", after: `{}`, warn: "option_ignored"},
		{name: "a bin of a pull", state: `{"a":[1]}`, do: batch(cmd("pull", "a", "1", `"recycleBinKey":"s.trash"`)), want: "applied/ok*", after: `{"a":[]}`, warn: "option_ignored"},
		{name: "a bin and softDelete", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"softDelete":true,"recycleBinKey":"s.trash"`)), want: "applied/ok*", after: "~"},
		{name: "onConflict alone", state: `{"a":[1]}`, do: batch(cmd("push", "a", "1", `"onConflict":"replace"`)), want: "applied/ok*", after: `{"a":[1,1]}`, warn: "option_ignored"},
		{name: "onConflict with dedupe alone", state: `{"a":[1]}`, do: batch(cmd("push", "a", "1", `"onConflict":"replace","dedupe":true`)), want: "skipped/duplicate", warn: "option_ignored"},
		{name: "onConflict, uniqueBy is off", state: `{"a":[{"id":1}]}`, do: batch(cmd("push", "a", `{"id":1}`, `"onConflict":"replace","uniqueBy":"id","dedupe":false`)), want: "applied/ok*", after: "~", warn: "option_ignored option_ignored"},
		{name: "onConflict with uniqueBy", state: `{"a":[{"id":1}]}`, do: batch(cmd("push", "a", `{"id":1,"v":2}`, `"onConflict":"replace","uniqueBy":"id"`)), want: "applied/ok*", after: `{"a":[{"id":1,"v":2}]}`},
		{name: "position of a pull without count", state: `{"a":[1,2,1]}`, do: batch(cmd("pull", "a", "1", `"position":"tail"`)), want: "applied/ok*", after: `{"a":[2]}`, warn: "option_ignored"},
		{name: "position of a pull with count", state: `{"a":[1,2,1]}`, do: batch(cmd("pull", "a", "1", `"position":"tail","count":1`)), want: "applied/ok*", after: `{"a":[1,2]}`},
		{name: "a pull that must not miss", do: batch(cmd("pull", "a", "1", `"allowMissing":false`)), want: "skipped/missing", warn: "option_ignored"},
		{name: "a merge of no object", state: `{"a":1}`, do: batch(cmd("set", "a", "2", `"mergeStrategy":"deep"`)), want: "applied/ok*", after: `{"a":2}`},
	} {
		t.Run(r.name, func(t *testing.T) { r.test(t, Settings{}) })
	}
}

// A ttl of an element that takes the place of another holds for it, and that of the other is
// gone.
func TestMatrix_ttlOfAReplacement(t *testing.T) {
	const unique = `"onConflict":"replace","uniqueBy":"id"`
	for name, c := range map[string]struct{ before, options, soon, late string }{
		"first":   {``, unique + `,"ttl":5`, `{"a":[{"id":1,"v":2}]}`, `{"a":[]}`},
		"later":   {`"uniqueBy":"id","ttl":2`, unique + `,"ttl":5`, `{"a":[{"id":1,"v":2}]}`, `{"a":[]}`},
		"no more": {`"uniqueBy":"id","ttl":2`, unique, `{"a":[{"id":1,"v":2}]}`, `{"a":[{"id":1,"v":2}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			tab := newTable(t, Settings{}, `{"a":[]}`)
			tab.run(batch(cmd("push", "a", `{"id":1}`, c.before)))
			tab.run(batch(cmd("push", "a", `{"id":1,"v":2}`, c.options)))
			if tab.advance(4e9); tab.state() != c.soon {
				t.Errorf("before its time: %s", tab.state())
			}
			if tab.advance(1e9); tab.state() != c.late {
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
