package statecmd

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/statecmd/command"
)

// TestUndo: a batch taken back, unless somebody wrote in the same places since.
func TestUndo(t *testing.T) {
	tab := newTable(t, Settings{}, `{"o":{"__version":1,"x":1},"l":[1,2],"keep":1}`)
	from := tab.s
	tab.run(batch(cmd("set", "o.x", "2", `"ttl":5`), cmd("push", "l", "3", ""), cmd("delete", "keep", "", ""), cmd("set", "new.a", "1", "")))
	to := tab.s
	tab.run(batch(cmd("set", "other", "1", "")))
	dec := tab.e.Undo(tab.s, Undoing{Now: tab.now, From: from, To: to, Actor: "user", BatchID: "u"})
	tab.check(dec)
	if got := outcomes(dec.Results); got != "applied/ok*" {
		t.Fatal(got, dec.Results)
	}
	tab.s = dec.Next
	if got := tab.state(); got != canonical(t, `{"o":{"__version":3,"x":1},"l":[1,2],"keep":1,"other":1}`) || tab.s.Timers("state") != 0 {
		t.Errorf("%s, %d timers", got, tab.s.Timers("state"))
	}
	again := tab.e.Undo(tab.s, Undoing{Now: tab.now, From: from, To: to})
	tab.check(again)
	if got := outcomes(again.Results); got != "rejected/conflict" || !strings.Contains(again.Results[0].Message, "written after") {
		t.Error(got, again.Results)
	}
	if none := tab.e.Undo(tab.s, Undoing{Now: tab.now, From: to, To: to}); outcomes(none.Results) != "applied/unchanged" {
		t.Error(none.Results)
	}
}

// Whatever a batch did, undoing it at once gives the state before, counters
// aside.
func TestUndo_random(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "o.x", "o.y.z", "l", "l[0]", "o"})
	values := rapid.SampledFrom([]string{"1", `"t"`, "[1,2]", `{"x":{"y":1}}`, "null"})
	options := rapid.SampledFrom([]string{"", `"softDelete":true`, `"ttl":5`, `"ifVersion":0`, `"dedupe":true`})
	plain := t
	rapid.Check(t, func(t *rapid.T) {
		tab := newTable(plain, Settings{}, `{"a":1,"o":{"x":1,"y":{"z":[1]}},"l":[1,{"k":2}]}`)
		from := tab.s
		var list []string
		for range rapid.IntRange(1, 6).Draw(t, "entries") {
			a := rapid.SampledFrom(command.Actions()).Draw(t, "action")
			list = append(list, cmd(string(a), keys.Draw(t, "key"), values.Draw(t, "value"), options.Draw(t, "options")))
		}
		tab.run(batch(list...))
		dec := tab.e.Undo(tab.s, Undoing{Now: tab.now, From: from, To: tab.s})
		tab.check(dec)
		if got, want := fmt.Sprint(bare(dec.Next.Document("state").Value())), fmt.Sprint(bare(from.Document("state").Value())); got != want || dec.Results[0].Status != Applied {
			t.Fatalf("%s\n%s\nwant %s: %+v", list, got, want, dec.Results)
		}
	})
}
