package statecmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

func mustMarshal(tb testing.TB, f protocol.Fact) protocol.Raw {
	tb.Helper()
	raw, err := protocol.NewCodec().Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// table is an engine, its state and a clock. Every step is held to what every
// decision owes. Promises 1, 2, 5 and 6: a result for every entry, no change by entries
// that were rejected or skipped, facts that fold to the same bytes, the same answer to
// the same input.
type table struct {
	tb  testing.TB
	e   *Engine
	s   State
	now protocol.Time
}

var begin = protocol.TimeOf(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))

// p is a prefix short enough for tests.
const p = "s."

func newTable(tb testing.TB, set Settings, state string) *table {
	tb.Helper()
	if set.Mounts == nil {
		set.Mounts = []Mount{{Prefix: p, Document: "state", Bin: "s.bin"}}
	}
	e, err := New(set)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := readState(state)
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := world.FromValue(v, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return &table{tb, e, NewState(map[string]*world.Document{"state": doc}), begin}
}

func (t *table) run(commands string) Decision {
	t.tb.Helper()
	batch, err := command.Decode(commands)
	if err != nil {
		t.tb.Fatalf("%v in %s", err, commands)
	}
	return t.decide(Input{Now: t.now, Batch: batch, BatchID: "b", TurnID: "t"})
}

func (t *table) decide(in Input) Decision {
	t.tb.Helper()
	before := mustSnapshot(t.tb, t.s)
	dec := t.e.Decide(t.s, in)
	again := t.e.Decide(t.s, in)
	if !bytes.Equal(before, mustSnapshot(t.tb, t.s)) {
		t.tb.Fatal("deciding changed the state it was given")
	}
	if !bytes.Equal(mustSnapshot(t.tb, dec.Next), mustSnapshot(t.tb, again.Next)) || mustJSON(t.tb, dec.Results, dec.Warnings, dec.Audit) != mustJSON(t.tb, again.Results, again.Warnings, again.Audit) {
		t.tb.Fatalf("deciding twice differs:\n%v\n%v", dec.Results, again.Results)
	}
	for i, f := range dec.Facts {
		if !bytes.Equal(mustMarshal(t.tb, f), mustMarshal(t.tb, again.Facts[i])) {
			t.tb.Fatalf("deciding twice gives other facts:\n%+v\n%+v", f, again.Facts[i])
		}
	}
	t.check(dec)
	if len(dec.Results) != len(in.Batch.Entries)+len(in.Batch.Inspect) {
		t.tb.Fatalf("%d entries, %d results", len(in.Batch.Entries), len(dec.Results))
	}
	due := t.s.NextExpiry() // what is due by now goes with any batch
	if (due == 0 || due > in.Now) && !slices.ContainsFunc(dec.Results, func(r Result) bool { return r.Status == Applied }) && !alike(t.s, dec.Next) {
		t.tb.Fatalf("no entry was applied, and the state changed: %+v", dec.Results)
	}
	t.answered(in, dec)
	t.s = dec.Next
	return dec
}

// alike compares documents, timers and idempotency records; the count of operations
// may differ.
func alike(a, b State) bool {
	for i := range a.docs {
		name := a.docs[i].name
		if !bytes.Equal(a.find(name).doc.AppendSnapshot(nil), b.find(name).doc.AppendSnapshot(nil)) || a.Timers(name) != b.Timers(name) || a.Keys(name) != b.Keys(name) {
			return false
		}
	}
	return a.NextExpiry() == b.NextExpiry()
}

// answered holds what the fact alone says of the outcome to what was decided,
// also after the batch has travelled as bytes.
func (t *table) answered(in Input, dec Decision) {
	t.tb.Helper()
	back, err := command.ReadBatch(in.Batch.AppendMsg(nil))
	if err != nil {
		t.tb.Fatal(err)
	}
	in.Batch, in.Request = back, "r"
	travelled := t.e.Decide(t.s, in)
	if mustJSON(t.tb, travelled.Results, travelled.Warnings, append([]Record{}, travelled.Audit...), travelled.Debug) != mustJSON(t.tb, dec.Results, dec.Warnings, append([]Record{}, dec.Audit...), dec.Debug) {
		t.tb.Fatalf("a batch that travelled has another outcome:\n%+v\n%+v", travelled, dec)
	}
	fact, err := ReadCommitted(mustMarshal(t.tb, travelled.Facts[len(travelled.Facts)-1]))
	if err != nil {
		t.tb.Fatal(err)
	}
	results, warnings := fact.Outcome()
	if mustJSON(t.tb, results, warnings) != mustJSON(t.tb, dec.Results, dec.Warnings) {
		t.tb.Fatalf("the fact says\n%+v %+v\nthe outcome was\n%+v %+v", results, warnings, dec.Results, dec.Warnings)
	}
	if fact.Request != "r" || mustJSON(t.tb, fact.Debug) != mustJSON(t.tb, append([]Inspected{}, dec.Debug...)) && len(dec.Debug) > 0 {
		t.tb.Fatalf("the fact lost something: %+v", fact)
	}
}

// check folds the facts through their bytes and compares.
func (t *table) check(dec Decision) {
	t.tb.Helper()
	folded := t.s
	for _, f := range dec.Facts {
		back, err := ReadCommitted(mustMarshal(t.tb, f))
		if err != nil {
			t.tb.Fatal(err)
		}
		if folded, err = t.e.Apply(folded, back); err != nil {
			t.tb.Fatal(err)
		}
	}
	want := mustSnapshot(t.tb, dec.Next)
	if !bytes.Equal(want, mustSnapshot(t.tb, folded)) {
		t.tb.Fatalf("replay differs:\n%s\n%s", dec.Next.Document("state").AppendJSON(nil), folded.Document("state").AppendJSON(nil))
	}
	loaded, err := ReadSnapshot(want)
	if err != nil {
		t.tb.Fatal(err)
	}
	if !bytes.Equal(want, mustSnapshot(t.tb, loaded)) {
		t.tb.Fatal("a snapshot read and written differs")
	}
	quiet := true
	for _, r := range dec.Results {
		quiet = quiet && !r.Changed
		if r.Status == "" || r.Code == "" {
			t.tb.Fatalf("a result without status or code: %+v", r)
		}
		if r.Changed && r.Status != Applied {
			t.tb.Fatalf("%+v changed and was not applied", r)
		}
	}
	if quiet && len(dec.Facts) < 2 && dec.Next.Document("state").Version() != t.s.Document("state").Version() && dec.Results != nil && len(dec.Results) > 0 {
		t.tb.Fatal("the document changed although no entry did")
	}
}

func (t *table) advance(d time.Duration) Decision {
	t.tb.Helper()
	t.now = t.now.Add(d)
	dec := t.e.Advance(t.s, t.now)
	t.check(dec)
	t.s = dec.Next
	return dec
}

func mustSnapshot(tb testing.TB, s State) []byte {
	tb.Helper()
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func mustJSON(tb testing.TB, v ...any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func (t *table) state() string { return string(t.s.Document("state").AppendJSON(nil)) }

// readState reads strict JSON as a value.
func readState(text string) (any, error) {
	t, err := lenient.Read(text, lenient.Options{Strict: true})
	if err != nil {
		return nil, err
	}
	return lenient.Plain(t.Value)
}

// outcome writes results as "status/code" words, a "*" for a change.
func outcomes(rs []Result) string {
	var out []string
	for _, r := range rs {
		s := string(r.Status) + "/" + string(r.Code)
		if r.Changed {
			s += "*"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func warnings(ws []command.Warning) string {
	var out []string
	for _, w := range ws {
		out = append(out, string(w.Code))
	}
	return strings.Join(out, " ")
}

// rule is one case of a table test: a state, commands on it, and what comes out.
type rule struct {
	name  string
	state string
	do    string // a batch
	want  string // outcomes
	after string // the state afterwards; "" is the state before, "~" is not compared
	warn  string // codes
	say   string // part of the first message
}

func (r rule) test(t *testing.T, set Settings) {
	t.Helper()
	if r.state == "" {
		r.state = "{}"
	}
	tab := newTable(t, set, r.state)
	was := tab.state()
	dec := tab.run(r.do)
	if got := outcomes(dec.Results); got != r.want {
		t.Errorf("outcomes %q; want %q\n%+v", got, r.want, dec.Results)
	}
	after := r.after
	if after == "" {
		after = was
	}
	if after != "~" && tab.state() != canonical(t, after) {
		t.Errorf("state %s\nwant  %s", tab.state(), after)
	}
	if got := warnings(dec.Warnings); got != r.warn {
		t.Errorf("warnings %q; want %q: %v", got, r.warn, dec.Warnings)
	}
	if r.say != "" && (len(dec.Results) == 0 || !strings.Contains(dec.Results[0].Message, r.say)) {
		t.Errorf("message %q; want %q in it", dec.Results[0].Message, r.say)
	}
}

func canonical(tb testing.TB, text string) string {
	tb.Helper()
	v, err := readState(text)
	if err != nil {
		tb.Fatal(err)
	}
	return string(world.AppendJSON(nil, v))
}

// cmd writes one entry: options as JSON members.
func cmd(action, key, value, options string) string {
	s := fmt.Sprintf(`{"action":%q,"key":%q`, action, p+key)
	if value != "" {
		s += `,"value":` + value
	}
	if options != "" {
		s += `,"options":{` + options + `}`
	}
	s += "}"
	if !json.Valid([]byte(s)) {
		panic("no JSON: " + s)
	}
	return s
}

func batch(entries ...string) string { return "[" + strings.Join(entries, ",") + "]" }
