package statecmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
)

func TestGuard_C26_C27(t *testing.T) {
	patterns := func(s ...string) []world.Pattern {
		out := make([]world.Pattern, len(s))
		for i := range s {
			var err error
			if out[i], err = world.ParsePattern(s[i]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	guard := &Guard{ReadOnly: patterns("rules", "npc.*.secret"), Protected: patterns("npc", "npc.*"), Strict: true, Known: []string{"npc", "时间", "log"},
		Types: []TypeRule{{Pattern: patterns("npc.*.hp")[0], Type: "integer", Coerce: true}, {Pattern: patterns("npc.*.name")[0], Type: "text"}, {Pattern: patterns("log.*")[0], Type: "text", Coerce: true}}}
	set := Settings{Mounts: []Mount{{Prefix: p, Document: "state", Root: world.P("root"), Guard: guard}}}
	const state = `{"root":{"npc":{"a":{"hp":1,"secret":2}},"rules":{"x":1}}}`
	for _, r := range []rule{
		{name: "read-only", do: batch(cmd("set", "rules.x", "2", ""), cmd("delete", "rules", "", ""), cmd("set", "npc.a.secret", "1", ""), cmd("update", "npc.a", `{"secret":1}`, "")), want: "rejected/protected rejected/protected rejected/protected rejected/protected"},
		{name: "protected", do: batch(cmd("set", "npc", `{}`, ""), cmd("delete", "npc.a", "", ""), cmd("set", "npc.a", "5", "")), want: "rejected/protected rejected/protected rejected/protected"},
		{name: "inside a protected one", do: batch(cmd("set", "npc.a.hp", "2", "")), want: "applied/ok*", after: `{"root":{"npc":{"a":{"hp":2,"secret":2}},"rules":{"x":1}}}`},
		{name: "coerced", do: batch(cmd("set", "npc.a.hp", `"12"`, ""), cmd("push", "log", "5", ""), cmd("update", "npc.a", `{"hp":"13"}`, ""), cmd("update", "npc", `{"a":{"hp":14}}`, `"mergeStrategy":"deep"`)), want: "applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"root":{"log":["5"],"npc":{"a":{"hp":14,"secret":2}},"rules":{"x":1}}}`, warn: "coerced coerced coerced"},
		{name: "wrong type", do: batch(cmd("set", "npc.a.hp", `"many"`, ""), cmd("set", "npc.a.name", `5`, "")), want: "rejected/schema rejected/schema"},
		{name: "C27 invented root", do: batch(cmd("set", "时问.当前", `"x"`, ""), cmd("set", "时间.当前", `"x"`, "")), want: "rejected/unknown_root applied/ok*", say: "did you mean 时间?", after: `{"root":{"npc":{"a":{"hp":1,"secret":2}},"rules":{"x":1},"时间":{"当前":"x"}}}`},
	} {
		r.state = state
		t.Run(r.name, func(t *testing.T) { r.test(t, set) })
	}
}

func TestLimits_C29(t *testing.T) {
	var many []string
	for range command.MaxEntries + 5 {
		many = append(many, cmd("add", "n", "1", ""))
	}
	tab := newTable(t, Settings{MaxDocument: 400 << 10}, `{}`)
	dec := tab.run(batch(many...))
	if tab.state() != `{"n":200}` || dec.Results[200].Code != command.Limit || dec.Results[204].Status != Rejected {
		t.Errorf("%s %+v", tab.state(), dec.Results[200:])
	}
	long := `"` + strings.Repeat("x", 256<<10) + `"`
	half := `"` + strings.Repeat("x", 200<<10) + `"`
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", command.MaxListItems), ",") + "]"
	for _, r := range []rule{
		{name: "key", do: batch(cmd("set", strings.Repeat("k", 600), "1", "")), want: "rejected/limit"},
		{name: "depth", do: batch(cmd("set", strings.Repeat("k.", 40)+"k", "1", "")), want: "rejected/invalid_path"},
		{name: "value", do: batch(cmd("set", "a", long, "")), want: "rejected/limit"},
		{name: "list in a value", do: batch(cmd("set", "a", "["+list[1:len(list)-1]+",1]", "")), want: "rejected/limit"},
		{name: "list growing", state: `{"l":` + list + `}`, do: batch(cmd("push", "l", "1", ""), cmd("push", "l", "1", `"limit":5`)), want: "rejected/limit applied/ok*", after: `{"l":[1,1,1,1,1]}`},
		{name: "document", do: batch(cmd("set", "a", half, ""), cmd("set", "b", half, ""), cmd("push", "c", half, ""), cmd("set", "d", "1", "")), want: "applied/ok* rejected/limit rejected/limit applied/ok*", after: "~"},
	} {
		t.Run(r.name, func(t *testing.T) { r.test(t, Settings{MaxDocument: 400 << 10}) })
	}
}

func TestReason_C31(t *testing.T) {
	tab := newTable(t, Settings{LintReason: true}, `{}`)
	dec := tab.run(batch(cmd("set", "a", "1", ""), cmd("set", "b", "1", `"reason":"why"`)))
	if warnings(dec.Warnings) != "no_reason" || outcomes(dec.Results) != "applied/ok* applied/ok*" {
		t.Errorf("%v", dec.Warnings)
	}
	changes := dec.Facts[0].(*Committed).Parts[0].Changes
	if len(changes) != 2 || changes[0].Reason != "" || changes[1].Reason != "why" {
		t.Errorf("the reasons of the changes: %+v", changes)
	}
}

func TestInspect_C32(t *testing.T) {
	tab := newTable(t, Settings{}, `{"a":{"x":1}}`)
	dec := tab.run(`{"tavern_inspect":[{"key":"s.a"},"s.b","bad"]}`)
	if len(dec.Debug) != 3 || !dec.Debug[0].Exists || dec.Debug[1].Exists || dec.Debug[2].Error == "" || len(dec.Facts) > 0 {
		t.Errorf("%+v", dec.Debug)
	}
}

func TestSummary_C33(t *testing.T) {
	tab := newTable(t, Settings{}, `{}`)
	dec := tab.run(batch(cmd("set", "a", "1", ""), cmd("delete", "b", "", "")))
	want := "state commands: 1 applied, 0 skipped, 1 rejected, 0 rolled back\n- #1 delete s.b: rejected (missing) \"s.b\" does not exist; allowMissing:true would accept that"
	if got := Summary(dec.Results, dec.Warnings); got != want {
		t.Errorf("%s", got)
	}
}

// TestBranches_C34: a state kept before a turn is that turn's beginning for ever.
func TestBranches_C34(t *testing.T) {
	tab := newTable(t, Settings{}, `{"n":0}`)
	kept := tab.s
	tab.run(batch(cmd("add", "n", "1", `"idempotencyKey":"k"`)))
	first := mustSnapshot(t, tab.s)
	tab.s = kept
	tab.run(batch(cmd("add", "n", "1", `"idempotencyKey":"k"`)))
	if string(first) != string(mustSnapshot(t, tab.s)) {
		t.Error("the same turn on the kept state differs")
	}
}

func TestMounts(t *testing.T) {
	set := Settings{Mounts: []Mount{{Prefix: "character.saveData.", Document: "save"}, {Prefix: "world.", Document: "world"}, {Prefix: "self", Document: "self"}}}
	tab := newTable(t, set, `{}`)
	dec := tab.run(`[{"action":"set","key":"world.weather","value":"rain"},{"action":"set","key":"self.mood","value":1},{"action":"set","key":"character.saveData.x","value":2},{"action":"set","key":"word.x","value":2}]`)
	if outcomes(dec.Results) != "applied/ok* applied/ok* applied/ok* rejected/bad_prefix" {
		t.Errorf("%+v", dec.Results)
	}
	for name, want := range map[string]string{"world": `{"weather":"rain"}`, "self": `{"mood":1}`, "save": `{"x":2}`} {
		if got := string(tab.s.Document(name).AppendJSON(nil)); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if !strings.Contains(dec.Results[3].Message, `did you mean "world.x"?`) {
		t.Error(dec.Results[3].Message)
	}
	// One transaction over several documents.
	tab.run(`[{"action":"set","key":"world.weather","value":"sun","options":{"transaction":true}},{"action":"set","key":"self.mood","value":9},{"action":"delete","key":"world.none"}]`)
	if got := string(tab.s.Document("self").AppendJSON(nil)) + string(tab.s.Document("world").AppendJSON(nil)); got != `{"mood":1}{"weather":"rain"}` {
		t.Error(got)
	}
	// Soft deletes stay in their document.
	dec = tab.run(`[{"action":"delete","key":"self.mood","options":{"softDelete":true,"recycleBinKey":"world.bin"}}]`)
	if outcomes(dec.Results) != "rejected/bin_conflict" {
		t.Error(outcomes(dec.Results))
	}
	if _, err := New(Settings{Mounts: []Mount{{Prefix: "a", Document: "x"}, {Prefix: "a.", Document: "y"}}}); err == nil {
		t.Error("one prefix was mounted twice")
	}
}

func TestDeclaredReads(t *testing.T) {
	tab := newTable(t, Settings{}, `{"a":1,"b":{"x":1}}`)
	tab.run(batch(cmd("set", "b.x", "2", ""))) // version 1
	try := func(key string, version string) string {
		return outcomes(tab.run(`{"commands":` + batch(cmd("set", "c", "1", "")) + `,"options":{"reads":[{"key":"s.` + key + `","version":` + version + `}]}}`).Results)
	}
	if got := try("b", "0"); got != "rejected/conflict" {
		t.Error(got)
	}
	if got := try("b.y", "0") + " " + try("a", "0"); got != "applied/ok* applied/unchanged" {
		t.Error(got)
	}
	if got := try("b", "1"); got != "applied/unchanged" {
		t.Error(got)
	}
}

func TestPermissions(t *testing.T) {
	pattern, _ := world.ParsePattern("mine")
	set := Settings{Permissions: &world.Permissions{Default: world.Rules{Allow: []world.Pattern{pattern}}}}
	tab := newTable(t, set, `{"other":{"x":1}}`)
	dec := tab.run(batch(cmd("set", "mine.x", "1", ""), cmd("set", "other.x", "2", ""), cmd("delete", "other", "", ""), cmd("delete", "mine.x", "", `"softDelete":true`)))
	if outcomes(dec.Results) != "applied/ok* rejected/denied rejected/denied rejected/denied" {
		t.Error(outcomes(dec.Results))
	}
}

// An element that is appended is judged at its own place, whichever action appends it.
func TestPermissionsOfElements(t *testing.T) {
	pattern, _ := world.ParsePattern("orders.*.approved")
	set := Settings{Permissions: &world.Permissions{Default: world.Rules{Deny: []world.Pattern{pattern}}}}
	tab := newTable(t, set, `{"orders":[]}`)
	dec := tab.run(batch(
		cmd("push", "orders", `{"what":"oats","approved":true}`, ""), cmd("add", "orders", `{"what":"oats","approved":true}`, ""),
		cmd("push", "orders", `{"what":"oats"}`, ""), cmd("add", "orders", `{"what":"rye"}`, ""),
	))
	if got := outcomes(dec.Results); got != "rejected/denied rejected/denied applied/ok* applied/ok*" {
		t.Error(got)
	}
}

// What makes others go, move or change is a write of the whole list.
func TestPermissionsOfElementsBeside(t *testing.T) {
	pattern, _ := world.ParsePattern("orders.*.approved")
	set := Settings{Permissions: &world.Permissions{Default: world.Rules{Deny: []world.Pattern{pattern}}}}
	tab := newTable(t, set, `{"orders":[{"what":"rye","approved":true}]}`)
	dec := tab.run(batch(
		cmd("push", "orders", `{"what":"oats"}`, ""), cmd("push", "orders", `{"what":"oats"}`, `"limit":1`),
		cmd("push", "orders", `{"what":"oats"}`, `"position":"head"`), cmd("push", "orders", `{"what":"rye"}`, `"uniqueBy":["what"],"onConflict":"replace"`),
	))
	if got := outcomes(dec.Results); got != "applied/ok* rejected/denied rejected/denied rejected/denied" {
		t.Error(got)
	}
}

// The timers that a merge ends are in its fact, in one order.
func TestMergedTimersHaveOneOrder(t *testing.T) {
	for _, action := range []string{"update", "patch"} {
		tab := newTable(t, Settings{}, `{"m":{}}`)
		fields := map[string]int{}
		for i := range 12 {
			key := fmt.Sprint("k", i)
			fields[key] = i + 100
			tab.run(batch(cmd("set", "m."+key, fmt.Sprint(i), `"ttl":500`)))
		}
		value, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if tab.run(batch(cmd(action, "m", string(value), ""))); tab.s.Timers("state") != 0 {
			t.Errorf("%s: %d timers are left", action, tab.s.Timers("state"))
		}
	}
}

// The bound of values that wait to expire holds for records of a recycle bin, too, and a record that a full bin loses
// waits no longer.
func TestTimersOfTheBin(t *testing.T) {
	tab := newTable(t, Settings{MaxTimers: 2}, `{"a":1,"b":2,"c":3}`)
	soft := func(key string) string { return cmd("delete", key, "", `"softDelete":true,"ttl":500`) }
	got := tab.run(batch(soft("a"), soft("b"), soft("c"))).Results
	if got[1].Status != Applied || got[2].Code != command.Limit || tab.s.Timers("state") != 2 {
		t.Errorf("%+v, %d timers", got, tab.s.Timers("state"))
	}
	fill := strings.TrimSuffix(strings.Repeat("1,", command.MaxListItems-1), ",")
	tab = newTable(t, Settings{}, `{"a":1,"bin":[`+fill+`]}`)
	tab.run(batch(cmd("push", "bin", `{"opId":"oldest"}`, `"position":"head","ttl":500`)))
	before := tab.s.Timers("state")
	if tab.run(batch(soft("a"))); before != 1 || tab.s.Timers("state") != 1 {
		t.Errorf("%d timers, and %d when the bin has lost the record of one", before, tab.s.Timers("state"))
	}
}

// What a writer expects of a secret is in no message.
func TestExpectedSecretsAreHidden(t *testing.T) {
	got := newTable(t, Settings{}, `{}`).run(batch(cmd("set", "api_key", `"a"`, `"expect":{"equals":"sk-hunter2"}`))).Results[0]
	if got.Code != command.ExpectFailed || strings.Contains(got.Message, "hunter2") {
		t.Errorf("%+v", got)
	}
}

// What a batch is shown is part of its fact, and a fact has a limit.
func TestInspectIsBounded_C32(t *testing.T) {
	tab := newTable(t, Settings{}, `{"big":"`+strings.Repeat("x", 100<<10)+`","small":1}`)
	dec := tab.run(`{"tavern_inspect":["s.big","s.big","s.big","s.small","s.none"]}`)
	for i, want := range []string{"true ", "true ", "true limit", "true ", "false "} {
		d := dec.Debug[i]
		if got := fmt.Sprint(d.Exists, " ", d.Error); !strings.HasPrefix(got, want) || d.Error == "" != (want[len(want)-1] == ' ') || d.Error != "" && d.Value != nil {
			t.Errorf("%d: %v %.40v, want %s", i, got, d.Value, want)
		}
	}
}

// The message of a failed expectation shows no secret, whether the key or a field names it.
func TestExpectHidesSecrets_C17(t *testing.T) {
	for _, do := range []string{
		cmd("set", "user.password", `"hunter2"`, `"expect":{"equals":"hidden-word"}`),
		cmd("update", "user", `{"password":"hunter2"}`, `"expect":{"equals":{"password":"hidden-word"}}`),
		cmd("update", "user", `{"password":"hunter2"}`, `"expect":{"contains":{"name":"x","password":"hidden-word"}}`),
	} {
		dec := newTable(t, Settings{}, `{"user":{"password":"old"}}`).run(do)
		if m := dec.Results[0].Message; dec.Results[0].Code != command.ExpectFailed || strings.Contains(m, "hidden-word") || strings.Contains(dec.Audit[0].Message, "hidden-word") {
			t.Errorf("%s: %s", do, m)
		}
	}
}
