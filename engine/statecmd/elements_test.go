package statecmd

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/statecmd/command"
)

// C16. The timer of an element is for that element, not for another one that has its fields.
func TestElementTimersFindTheirElement_C16(t *testing.T) {
	for _, c := range []struct{ name, state, first, then, want string }{
		{"whole", `{"l":[{"a":1,"b":2}]}`, cmd("push", "l", `{"a":1}`, `"ttl":5`), "", `{"l":[{"a":1,"b":2}]}`},
		{"empty", `{"l":[{"a":1}]}`, cmd("push", "l", `{}`, `"ttl":5`), "", `{"l":[{"a":1}]}`},
		{"the first of two, counted", `{"l":[{"a":1,"b":2},{"__version":3,"a":1}]}`, cmd("push", "l", `{"a":1}`, `"ttl":5,"position":"tail"`), "", `{"l":[{"a":1,"b":2},{"a":1}]}`},
		{"by its fields", `{"l":[]}`, cmd("push", "l", `{"id":1,"n":1}`, `"uniqueBy":"id","ttl":5`), "", `{"l":[]}`},
		{"its own timer goes", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("push", "l", `{"a":1,"b":2}`, `"ttl":50`)), cmd("pull", "l", `{"a":1,"b":2}`, ""), `{"l":[]}`},
		{"each its own", `{"l":[]}`, batch(cmd("push", "l", `"x"`, `"ttl":5`), cmd("push", "l", `"x"`, `"ttl":50`), cmd("push", "l", `"x"`, "")), cmd("pull", "l", "", `"where":{"equals":"x"},"count":2`), `{"l":["x"]}`},
		{"counted deep inside", `{"l":[[{"__version":3,"a":1}]]}`, cmd("push", "l", `[{"a":1}]`, `"ttl":5,"position":"tail"`), "", `{"l":[[{"a":1}]]}`},
		{"other fields of one float", `{"l":[]}`, batch(cmd("push", "l", `{"id":1310720000000000001,"n":1}`, `"uniqueBy":"id","ttl":5`), cmd("push", "l", `{"id":1310720000000000002,"n":2}`, `"uniqueBy":"id"`)), cmd("pull", "l", "", `"where":{"n":2}`), `{"l":[]}`},
		{"other numbers of one float", `{"l":[]}`, batch(cmd("push", "l", `{"a":1152921504606846976}`, `"ttl":5`), cmd("set", "l[0].b", `2`, ""), cmd("push", "l", `{"a":1152921504606846977,"c":1}`, "")), cmd("delete", "l[1]", "", ""), `{"l":[]}`},
		{"numbers of one value", `{"l":[]}`, batch(cmd("push", "l", `1.0`, `"ttl":50`), cmd("push", "l", `1`, `"ttl":5`)), cmd("delete", "l[1]", "", ""), `{"l":[1.0]}`},
		{"another's timer stays", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("push", "l", `{"a":1,"b":2}`, "")), cmd("pull", "l", `{"a":1,"b":2}`, ""), `{"l":[]}`},
		{"another's timer stays when a place is deleted", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("push", "l", `{"a":1,"b":2}`, "")), cmd("delete", "l[1]", "", ""), `{"l":[]}`},
		{"another's timer stays at the limit", `{"l":[]}`, batch(cmd("push", "l", `{"a":1,"b":2}`, ""), cmd("push", "l", `{"a":1}`, `"ttl":5`)), cmd("push", "l", `0`, `"limit":2`), `{"l":[0]}`},
		{"of two timers one is spare", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("push", "l", `{"a":1}`, `"ttl":50`), cmd("set", "l[1].b", `2`, "")), cmd("pull", "l", `{"a":1,"b":2}`, ""), `{"l":[{"a":1}]}`},
		{"both of two timers go", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("set", "l[1].b", `2`, "")), batch(cmd("pull", "l", "", `"where":{"a":1}`), cmd("push", "l", `{"a":1}`, "")), `{"l":[{"a":1}]}`},
		{"what was changed keeps its timer", `{"l":[]}`, batch(cmd("push", "l", `{"a":1}`, `"ttl":5`), cmd("set", "l[0].b", `2`, "")), batch(cmd("pull", "l", "", `"where":{"a":1}`), cmd("push", "l", `{"a":1}`, "")), `{"l":[{"a":1}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := newTable(t, Settings{}, c.state)
			tab.run(c.first)
			if c.then != "" {
				tab.run(c.then)
			}
			tab.now = tab.now.Add(10 * time.Second)
			tab.s = tab.e.Advance(tab.s, tab.now).Next
			if got := tab.state(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A pull looks through the timers of its list once, however many elements it takes out.
func TestPullOfElementsWithTimersIsNotCubic(t *testing.T) {
	took := func(n int) uint64 {
		tab := newTable(t, Settings{}, `{}`)
		for from := 0; from < n; from += command.MaxEntries {
			var list []string
			for i := range command.MaxEntries {
				list = append(list, cmd("push", "l", fmt.Sprintf(`{"a":1,"i":%d}`, from+i), `"ttl":50`))
			}
			b, err := command.Decode(batch(list...))
			if err != nil {
				t.Fatal(err)
			}
			tab.s = tab.e.Decide(tab.s, Input{Now: tab.now, Batch: b}).Next
		}
		b, err := command.Decode(cmd("pull", "l", "", `"where":{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Now: tab.now, Batch: b}
		if dec := tab.e.Decide(tab.s, in); !strings.HasPrefix(dec.Results[0].Message, "removed ") || dec.Next.Timers("state") != 0 {
			t.Fatalf("%+v, %d timers", dec.Results, dec.Next.Timers("state"))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tab.e.Decide(tab.s, in)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := took(200), took(800); many > 8*few {
		t.Errorf("%d bytes for 200 elements, %d for 800", few, many)
	}
}

// An add that drops elements for its limit, and then cannot add its own, leaves the list as it was.
func TestRejectedAddKeepsTheList_C12(t *testing.T) {
	key := strings.Repeat("k.", 20) + "l"
	state := strings.Repeat(`{"k":`, 20) + `{"l":[1,2]}` + strings.Repeat("}", 20)
	deep := strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)
	tab := newTable(t, Settings{}, state)
	if dec := tab.run(cmd("add", key, deep, `"limit":2`)); dec.Results[0].Status != Rejected {
		t.Errorf("%+v", dec.Results)
	}
	if got := tab.state(); got != state {
		t.Errorf("it became %s", got)
	}
}
