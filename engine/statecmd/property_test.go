package statecmd

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// everyAction is a batch that touches all there is: documents, timers,
// idempotency keys, the bin, counters.
func everyAction() []string {
	return []string{
		cmd("set", "a.x", "2", `"ifVersion":1,"idempotencyKey":"1"`),
		cmd("update", "a", `{"y":1,"o":{"q":1}}`, `"mergeStrategy":"deep"`),
		cmd("patch", "a", `{"z":1}`, `"ttl":50`),
		cmd("ensure", "fresh", `{}`, `"ttl":50`),
		cmd("add", "n", "5", ""),
		cmd("add", "m", `{"id":"k"}`, `"uniqueBy":"id"`),
		cmd("push", "l", "9", `"limit":2,"position":"head","ttl":50`),
		cmd("pull", "l2", "", `"where":{"equals":1},"softDelete":true`),
		cmd("delete", "gone", "", `"softDelete":true,"ttl":50`),
		cmd("delete", "timed", "", ""),
	}
}

const everyState = `{"a":{"__version":1,"x":1,"o":{"p":1}},"n":1,"l":[1,2,3],"l2":[1,2,1],"gone":{"x":1},"timed":1}`

// Promise 3. TestTransaction_failsAtEveryStep injects a rejected entry at every place of a
// transaction, in every step of the pipeline: all of the state stays.
func TestTransaction_failsAtEveryStep(t *testing.T) {
	bad := map[string]string{
		"1 entry":       `5`,
		"2 action":      cmd("upsert", "q", "1", ""),
		"3 key":         `{"action":"set","key":"nope.x","value":1}`,
		"4 options":     cmd("push", "q", "1", `"limit":0`),
		"7 version":     cmd("set", "a.x", "1", `"ifVersion":77`),
		"8 change":      cmd("push", "n", "1", ""),
		"8 second half": cmd("delete", "n", "", `"softDelete":true,"recycleBinKey":"s.n.x"`),
		"9 size":        cmd("set", "big", `"`+strings.Repeat("x", 200<<10)+`"`, ""),
		"9 schema":      cmd("set", "forbidden", "1", ""),
		"10 expect":     cmd("set", "q", "1", `"expect":{"equals":2}`),
	}
	guard := &Guard{Validate: func(_ world.Path, doc any) error {
		if _, has := doc.(map[string]any)["forbidden"]; has {
			return fmt.Errorf("forbidden")
		}
		return nil
	}}
	set := Settings{MaxDocument: 100 << 10, Mounts: []Mount{{Prefix: p, Document: "state", Bin: "s.bin", Guard: guard}}}
	good := everyAction()
	for name, entry := range bad {
		for at := 0; at <= len(good); at++ {
			tab := newTable(t, set, everyState)
			tab.run(batch(cmd("set", "timed", "1", `"ttl":500`), cmd("set", "timed", "2", `"ttl":500,"idempotencyKey":"0"`)))
			before := tab.s
			entries := append(append(append([]string{}, good[:at]...), entry), good[at:]...)
			dec := tab.run(`{"commands":` + batch(entries...) + `,"options":{"transaction":true}}`)
			for i, r := range dec.Results {
				want := StatusUndone
				if i == at {
					want = Rejected
				}
				if r.Status != want || r.Changed {
					t.Fatalf("%s at %d: result %d is %+v", name, at, i, r)
				}
			}
			if !alike(before, tab.s) {
				t.Fatalf("%s at %d left something: %s", name, at, tab.state())
			}
		}
	}
	// Without the bad entry all of it goes through, with and without transaction.
	var states []string
	for _, tx := range []string{"true", "false"} {
		tab := newTable(t, set, everyState)
		dec := tab.run(`{"commands":` + batch(good...) + `,"options":{"transaction":` + tx + `}}`)
		if got := outcomes(dec.Results); got != strings.TrimSpace(strings.Repeat("applied/ok* ", len(good))) {
			t.Fatalf("%s\n%+v", got, dec.Results)
		}
		states = append(states, tab.state())
	}
	if states[0] != states[1] {
		t.Errorf("a transaction ends elsewhere:\n%s\n%s", states[0], states[1])
	}
}

// Promise 2. TestEntry_failsAlone: an entry that fails in steps 8 to 10 leaves no trace.
func TestEntry_failsAlone(t *testing.T) {
	calls, failAt := 0, 0
	guard := &Guard{Validate: func(world.Path, any) error {
		if calls++; calls == failAt {
			return fmt.Errorf("injected")
		}
		return nil
	}}
	set := Settings{Mounts: []Mount{{Prefix: p, Document: "state", Bin: "s.bin", Guard: guard}}}
	e, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	for at := range everyAction() {
		var with, without State
		for _, inject := range []bool{true, false} {
			tab := newTable(t, Settings{}, everyState)
			entries := everyAction()
			if calls, failAt = 0, 0; inject {
				failAt = at + 1
			} else {
				entries = append(entries[:at:at], entries[at+1:]...)
			}
			b, _ := command.Decode(batch(entries...))
			dec := e.Decide(tab.s, Input{Now: begin, Batch: b})
			if inject && (dec.Results[at].Status != Rejected || dec.Results[at].Code != command.SchemaViolation) {
				t.Fatalf("entry %d: %+v", at, dec.Results[at])
			}
			if inject {
				with = dec.Next
			} else {
				without = dec.Next
			}
		}
		strip := func(s State) string { // opIds differ by the entry that failed
			v := s.Document("state").Value()
			out := map[string]any{}
			for k, x := range v {
				if k != "bin" {
					out[k] = x
				}
			}
			return fmt.Sprint(string(world.AppendJSON(nil, out)), s.Document("state").Len(world.P("bin")), s.Timers("state"), s.Keys("state"))
		}
		if strip(with) != strip(without) {
			t.Errorf("entry %d failed and left something:\n%s\n%s", at, strip(with), strip(without))
		}
	}
}

// TestWriters_noLostUpdate: 1,000 writers read, think and write with ifVersion on
// 100 counters, in a random but fixed order. The sums are exact and every conflict is loud. They make 50,000 attempts,
// and a million with SIMD_TEST_LONG=1.
func TestWriters_noLostUpdate(t *testing.T) {
	attempts := 50_000
	if os.Getenv("SIMD_TEST_LONG") != "" {
		attempts = 1_000_000
	}
	const writers, counters = 1000, 100
	e, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		counter        int
		value, version int64
	}
	var s State
	chance := rand.New(rand.NewSource(1))
	minds := make([]seen, writers)
	won, lost := int64(0), int64(0)
	reads := make([]world.Path, counters)
	versions := make([]world.Path, counters)
	keys := make([]string, counters)
	for i := range counters {
		reads[i] = world.P("c", fmt.Sprint(i), "n")
		versions[i] = world.P("c", fmt.Sprint(i), world.CounterKey)
		keys[i] = DefaultPrefix + fmt.Sprintf("c.%d.n", i)
		b, _ := command.Decode(fmt.Sprintf(`{"action":"set","key":"character.saveData.c.%d","value":{"n":0},"options":{"ifVersion":0}}`, i))
		s = e.Decide(s, Input{Now: begin, Batch: b}).Next
	}
	look := func(w int) {
		i := chance.Intn(counters)
		d := s.Document("state")
		n, _ := d.Get(reads[i])
		v, _ := d.Get(versions[i])
		minds[w] = seen{i, n.(int64), v.(int64)}
	}
	for w := range writers {
		look(w)
	}
	var in command.Batch
	for range attempts {
		w := chance.Intn(writers)
		m := minds[w]
		in.Entries = append(in.Entries, command.Entry{Index: len(in.Entries), Action: command.Set, HasKey: true, Key: keys[m.counter],
			Value: m.value + 1, HasValue: true, Options: &command.Options{HasIfVersion: true, IfVersion: m.version}})
		if len(in.Entries) == 20 || chance.Intn(10) == 0 { // batches of different length: some writers see the same snapshot
			dec := e.Decide(s, Input{Now: begin, Batch: in})
			for _, r := range dec.Results {
				switch r.Code {
				case command.OK:
					won++
				case command.VersionConflict:
					lost++
				default:
					t.Fatalf("%+v", r)
				}
			}
			s, in.Entries = dec.Next, nil
		}
		look(w)
	}
	sum := int64(0)
	for i := range counters {
		n, _ := s.Document("state").Get(reads[i])
		v, _ := s.Document("state").Get(versions[i])
		if v != n.(int64)+1 {
			t.Errorf("counter %d is %d at version %d", i, n, v)
		}
		sum += n.(int64)
	}
	if sum != won || lost == 0 || won == 0 {
		t.Errorf("%d writes were acknowledged, the counters hold %d; %d conflicts", won, sum, lost)
	}
	t.Logf("%d applied, %d conflicts", won, lost)
}

// TestDecide_concurrently: many goroutines decide on one kept state. Run with
// -race.
func TestDecide_concurrently(t *testing.T) {
	tab := newTable(t, Settings{}, everyState)
	tab.run(batch(cmd("set", "timed", "1", `"ttl":5,"idempotencyKey":"x"`)))
	b, _ := command.Decode(batch(everyAction()...))
	want := ""
	var group sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		group.Go(func() {
			dec := tab.e.Decide(tab.s, Input{Now: begin.Add(time.Minute), Batch: b})
			raw, _ := dec.Next.AppendSnapshot(nil)
			back, err := tab.e.Apply(tab.s, dec.Facts[0])
			if err != nil {
				t.Error(err)
			}
			_ = back
			got[i] = string(raw)
		})
	}
	group.Wait()
	for _, g := range got {
		if want == "" {
			want = g
		}
		if g != want {
			t.Fatal("the same batch on the same state ended differently")
		}
	}
}

// FuzzApply: no text makes the engine panic, break replay, or change the state
// by an entry that was rejected.
func FuzzApply(f *testing.F) {
	for _, s := range everyAction() {
		f.Add(s)
	}
	f.Add(batch(everyAction()...))
	f.Add(`{"commands":[{"action":"set","key":"s.l[-]","value":{"__version":1}}],"options":{"transaction":true,"reads":[{"key":"s.a","version":-1}]},"tavern_inspect":["s.a"]}`)
	f.Add(`{"set":{"s.a.b.c":1e300},"add":{"s.n":0.1,"s.l":[]},"pull":{"s.l":null},"delete":["s.a[0]","s"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := command.Decode(text)
		if err != nil {
			return
		}
		tab := newTable(t, Settings{}, everyState)
		dec := tab.decide(Input{Now: begin, Batch: b})
		changed := false
		for _, r := range dec.Results {
			changed = changed || r.Changed
		}
		if !changed && tab.state() != canonical(t, everyState) {
			t.Fatalf("no entry changed anything and the state did: %s", tab.state())
		}
		size := tab.s.Document("state").Size()
		if n := len(tab.s.Document("state").AppendMsg(nil)); n != size {
			t.Fatalf("size %d, encoded %d", size, n)
		}
		tab.advance(200 * 365 * 24 * time.Hour)
		if tab.s.Timers("state") != 0 {
			t.Fatal("a timer never fires")
		}
	})
}

// FuzzReadSnapshot: damaged bytes are an error.
func FuzzReadSnapshot(f *testing.F) {
	tab := newTable(f, Settings{}, everyState)
	tab.run(batch(everyAction()...))
	f.Add(mustSnapshot(f, tab.s))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadSnapshot(b)
		if err != nil {
			return
		}
		e, _ := New(Settings{Mounts: []Mount{{Prefix: p, Document: "state"}}})
		in, _ := command.Decode(batch(everyAction()...))
		e.Decide(s, Input{Now: begin, Batch: in})
		_, _ = ReadCommitted(protocol.Raw(b))
	})
}

// FuzzReadCommitted: damaged bytes are refused; what is read is written the same.
func FuzzReadCommitted(f *testing.F) {
	tab := newTable(f, Settings{}, `{"l":[1],"o":{"__version":1}}`)
	dec := tab.run(batch(cmd("set", "o.x", `{"y":1}`, `"ifVersion":1,"ttl":5,"idempotencyKey":"k"`), cmd("push", "l", "2", `"ttl":5`), cmd("set", "o.x", "1", `"ifVersion":1`), cmd("delete", "l[0]", "", `"softDelete":true`)))
	f.Add([]byte(mustMarshal(f, dec.Facts[0])))
	f.Add([]byte(mustMarshal(f, tab.run(`{"tavern_inspect":["s.l","x"],"set":{"s.a":null},"typo":1}`).Facts[0])))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ReadCommitted(raw)
		if err != nil {
			return
		}
		first := c.AppendMsg(nil)
		again, err := ReadCommitted(first)
		if err != nil || !bytes.Equal(again.AppendMsg(nil), first) {
			t.Fatalf("%v: %+v", err, c)
		}
		_, _ = tab.e.Apply(tab.s, c)
	})
}
