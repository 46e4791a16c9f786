package bus

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/bus/throttle"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// both are a channel that decides and one that only folds stored facts.
type both struct {
	t      *rapid.T
	cfg    Config
	list   []Subscriber
	codec  *protocol.Codec
	s      *State
	folded *State
}

func newBoth(t *rapid.T, cfg Config, list []Subscriber) *both {
	s, err := New(cfg, List(list))
	if err != nil {
		t.Fatal(err)
	}
	folded, _ := New(cfg, List(list))
	return &both{t: t, cfg: cfg, list: list, codec: protocol.NewCodec(Facts()), s: s, folded: folded}
}

func (b *both) take(f protocol.Fact) protocol.Fact {
	raw, err := b.codec.Marshal(f)
	if err != nil {
		b.t.Fatal(err)
	}
	read, err := b.codec.ReadFact(f.FactKind(), raw)
	if err != nil {
		b.t.Fatal(err)
	}
	b.s.Apply(f)
	b.folded.Apply(read)
	return f
}

// check compares the two, and puts the one that decides back from a snapshot.
func (b *both) check(restart bool) {
	live, err := b.s.Snapshot(b.codec)
	if err != nil {
		b.t.Fatal(err)
	}
	if folded, _ := b.folded.Snapshot(b.codec); !bytes.Equal(live, folded) {
		b.t.Fatalf("the fold differs\n%x\n%x", live, folded)
	}
	if !restart {
		return
	}
	again, err := Restore(b.cfg, List(b.list), b.codec, live)
	if err != nil {
		b.t.Fatal(err)
	}
	if raw, _ := again.Snapshot(b.codec); !bytes.Equal(raw, live) {
		b.t.Fatalf("a restored channel differs\n%x\n%x", raw, live)
	}
	b.s = again
}

func (b *both) releases(now protocol.Time, heard func(*Routed)) {
	for f := b.release(now); f != nil; f = b.release(now) {
		heard(b.take(f).(*Routed))
	}
}

// release asks twice: nothing may have changed (promise 1).
func (b *both) release(now protocol.Time) protocol.Fact {
	before, _ := b.s.Snapshot(b.codec)
	f, again := b.s.Release(now, nil), b.s.Release(now, nil)
	if after, _ := b.s.Snapshot(b.codec); !bytes.Equal(before, after) {
		b.t.Fatalf("Release changed the state\n%x\n%x", before, after)
	}
	if f == nil && again == nil {
		return nil
	}
	one, _ := b.codec.Marshal(f)
	if two, _ := b.codec.Marshal(again); !bytes.Equal(one, two) {
		b.t.Fatalf("two releases: %x, %x", one, two)
	}
	return f
}

// waits is the naive debounce: every agent and every subscription by itself.
type waits struct {
	subs    [][]Subscription // in the order in which groups are asked
	pending []map[Subscription]*pending
}

type pending struct {
	first, due protocol.Time
	events     []heldEvent
}

type heldEvent struct {
	id      string
	expires protocol.Time // 0 = never
}

func (w *waits) publish(now protocol.Time, eventType string, e heldEvent, hear func(agent int, what string)) {
	for i, subs := range w.subs {
		var first *Subscription
		at := false
		for k := range subs {
			if !naiveType(subs[k], eventType) {
				continue
			}
			if subs[k].Quiet == 0 {
				at = true
			} else if first == nil {
				first = &subs[k]
			}
		}
		switch {
		case at:
			hear(i, e.id)
		case first != nil:
			p := w.pending[i][*first]
			if p == nil {
				p = &pending{first: now}
				w.pending[i][*first] = p
			}
			p.events = append(p.events, e)
			p.due = min(now.Add(first.Quiet), p.first.Add(first.Most))
		}
	}
}

func (w *waits) release(now protocol.Time, hear func(agent int, what string)) {
	for i := range w.pending {
		for sub, p := range w.pending[i] {
			if p.due > now {
				continue
			}
			delete(w.pending[i], sub)
			if sub.Debounce != DebounceMerge {
				p.events = p.events[len(p.events)-1:] // the others are forgotten
			}
			var alive []string
			for _, e := range p.events {
				if e.expires == 0 || e.expires > now {
					alive = append(alive, e.id)
				}
			}
			switch {
			case len(alive) == 0: // a mark: TestWhatIsLostWhileHeld
			case sub.Debounce == DebounceMerge:
				hear(i, fmt.Sprint(alive))
			default:
				hear(i, alive[0])
			}
		}
	}
}

func drawQuiet(t *rapid.T) Subscription {
	sub := Subscription{Type: rapid.SampledFrom([]string{"a", "b", "a.x", "*"}).Draw(t, "type")}
	switch rapid.IntRange(0, 5).Draw(t, "debounce") {
	case 0:
	case 1, 2:
		sub.Debounce, sub.Quiet = DebounceLatest, 2*time.Second
	case 3:
		sub.Debounce, sub.Quiet, sub.Most = DebounceMerge, 2*time.Second, 3*time.Second
	default:
		sub.Debounce, sub.Quiet = DebounceMerge, 3*time.Second
	}
	sub, _ = sub.Normal()
	return sub
}

// order sorts subscriptions as the index asks them: exact types first.
func order(a, b Subscription) int {
	if wild := strings.Compare(map[bool]string{true: "1", false: "0"}[a.Type == "*"], map[bool]string{true: "1", false: "0"}[b.Type == "*"]); wild != 0 {
		return wild
	}
	return (&group{sub: a}).compare(&b)
}

// heardAs is what a routed fact lets its receivers hear.
func heardAs(t *rapid.T, f *Routed) string {
	if f.Released == 0 {
		return f.ID
	}
	v, err := f.Body.Value()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return f.ID
	}
	var ids []string
	for _, e := range m["events"].([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	return fmt.Sprint(ids)
}

// TestDebounceAgainstNaive: promise 6. What every agent hears, and when, against holding
// each subscription of each agent by itself; a fold and a restored snapshot are
// the same at every step.
func TestDebounceAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Subscriber
		twin := &waits{}
		for i := range rapid.IntRange(1, 6).Draw(t, "agents") {
			subs := rapid.SliceOfNDistinct(rapid.Custom(drawQuiet), 0, 3, func(s Subscription) Subscription { return s }).Draw(t, "subscriptions")
			list = append(list, Subscriber{InstanceID: fmt.Sprint("i", i), Subscriptions: subs})
			sorted := slices.Clone(subs)
			slices.SortFunc(sorted, order)
			twin.subs, twin.pending = append(twin.subs, sorted), append(twin.pending, map[Subscription]*pending{})
		}
		b := newBoth(t, Config{}, list)
		now := start
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "half seconds")) * time.Second / 2)
			got, want := map[string]int{}, map[string]int{}
			note := func(f *Routed) {
				for o := range f.Receivers.All() {
					got[fmt.Sprint(o, " ", heardAs(t, f))]++
				}
			}
			hear := func(agent int, what string) { want[fmt.Sprint(agent, " ", what)]++ }
			b.releases(now, note)
			twin.release(now, hear)
			eventType := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "event")
			d := &protocol.Draft{EventHeader: protocol.EventHeader{Type: eventType, Source: "x"}, TTL: time.Duration(rapid.IntRange(0, 3).Draw(t, "ttl")) * time.Second}
			f := b.take(b.s.Decide(now, d, nil).Facts[0]).(*Routed)
			note(f)
			twin.publish(now, eventType, heldEvent{f.ID, f.Expires}, hear)
			if !maps.Equal(got, want) {
				t.Fatalf("at %v: %v, want %v", now, got, want)
			}
			b.check(rapid.IntRange(0, 3).Draw(t, "restart") == 0)
		}
	})
}

// Promise 6: what expired while it was held, or has no room, is a mark for each who
// waited; who loops is marked when it hears it.
func TestWhatIsLostWhileHeld(t *testing.T) {
	quiet := func(d DebounceMode) []Subscription {
		return []Subscription{{Type: "a", Quiet: 10 * time.Second, Debounce: d}}
	}
	pair := []protocol.Link{{Agent: "z", Type: "a"}, {Agent: "x", Type: "a"}, {Agent: "z", Type: "a"}}
	for name, c := range map[string]struct {
		d    protocol.Draft
		room *throttle.Room
		want string
	}{
		"heard":    {protocol.Draft{}, nil, "2 []"},
		"expired":  {protocol.Draft{TTL: 2 * time.Second}, nil, "0 [x ttl drop y ttl drop]"},
		"no room":  {protocol.Draft{}, &throttle.Room{Events: 1, Deliveries: 1}, "0 [x flood drop y flood drop]"},
		"the room": {protocol.Draft{}, &throttle.Room{Events: 1, Deliveries: 2}, "2 []"},
		"loops":    {protocol.Draft{EventHeader: protocol.EventHeader{Chain: pair}}, nil, "2 [x loop warn]"},
	} {
		for _, debounce := range []DebounceMode{DebounceLatest, DebounceMerge} {
			s, err := New(Config{MaxRevisits: -1, LoopAction: LoopWarn}, List([]Subscriber{{InstanceID: "x", Subscriptions: quiet(debounce)}, {InstanceID: "y", Subscriptions: quiet(debounce)}}))
			if err != nil {
				t.Fatal(err)
			}
			c.d.Type, c.d.Source = "a", "z"
			publish(t, s, &c.d)
			room := c.room
			if room != nil {
				own := *room
				room = &own
			}
			f := s.Release(start.Add(10*time.Second), room).(*Routed)
			var marks []string
			for _, m := range f.Marks {
				marks = append(marks, fmt.Sprint(m.Agent, " ", m.Reason, " ", m.Action))
			}
			if got := fmt.Sprint(f.Receivers.Len(), " ", marks); got != c.want {
				t.Errorf("%s, %s: %s, want %s", name, debounce, got, c.want)
			}
			if s.Apply(f); s.Holding() != 0 {
				t.Errorf("%s, %s: %d are still held", name, debounce, s.Holding())
			}
		}
	}
}

// TestThrottleInTheChannel: rules, holds and forced rules fold and restore; what
// is let through at once is what a table says that is told the same events.
func TestThrottleInTheChannel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := []throttle.Rule{
			{Type: "a", Max: rapid.Int64Range(0, 3).Draw(t, "max"), Window: 3 * time.Second, Action: throttle.Drop},
			{Type: "*", Per: throttle.PerSource, Max: 2, Window: 2 * time.Second, Action: throttle.Delay},
			{Type: "b", Max: 1, Window: 4 * time.Second, Action: throttle.Deprioritize},
		}
		list := []Subscriber{{InstanceID: "x", Subscriptions: []Subscription{{Type: "*"}}}, {InstanceID: "y"}, {InstanceID: "$scene"}}
		b := newBoth(t, Config{Throttle: rules, Owner: "$scene"}, list)
		twin := throttle.New(rules, 3)
		now := start
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "later")) * time.Millisecond)
			b.releases(now, func(f *Routed) {
				if f.Time != now || f.Receivers.Len() != 1 {
					t.Fatalf("%+v", f)
				}
			})
			if rapid.IntRange(0, 7).Draw(t, "force") == 0 {
				rule := throttle.Rule{Type: "c", Max: 1, Window: time.Second, Until: now.Add(2 * time.Second)}
				b.take(b.s.Decide(now, &Force{By: "$scene", Rule: rule}, nil).Facts[0])
				twin.Set(rule, now)
			}
			d := &protocol.Draft{EventHeader: protocol.EventHeader{Type: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "event"), Source: rapid.SampledFrom([]string{"x", "y", "$scene"}).Draw(t, "source")}}
			want := throttle.Verdict{}
			if d.Source != "$scene" {
				if want = twin.Judge(d.Type, d.Source, now); want.Action != throttle.Drop {
					twin.Take(d.Type, d.Source, now)
				}
			}
			switch f := b.take(b.s.Decide(now, d, nil).Facts[0]).(type) {
			case *Refused:
				if f.Reason != ReasonThrottled || want.Action != throttle.Drop {
					t.Fatalf("%+v, want %+v", f, want)
				}
			case *Routed:
				held := want.Action == throttle.Delay
				if want.Action == throttle.Drop || held != (f.Waiting() == 1) || held == (f.Receivers.Len() == 1) || held && f.Held[0].Until != want.Until ||
					(f.Priority == protocol.Low) != (want.Action == throttle.Deprioritize) {
					t.Fatalf("%+v, want %+v", f, want)
				}
			}
			b.check(rapid.IntRange(0, 3).Draw(t, "restart") == 0)
		}
	})
}

// TestPathsAgainstNaive: who hears of which changes, against asking every
// pattern of every agent.
func TestPathsAgainstNaive(t *testing.T) {
	texts := []string{"a", "a.*", "a.b", "*.b", "**.c", "a.b.c", "list[2]", "list.2", "a.**"}
	rapid.Check(t, func(t *rapid.T) {
		var list []Subscriber
		for i := range rapid.IntRange(1, 6).Draw(t, "agents") {
			sub := Subscriber{InstanceID: fmt.Sprint("i", i)}
			for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 0, 3, rapid.ID[string]).Draw(t, "paths") {
				sub.Subscriptions = append(sub.Subscriptions, Subscription{Type: TypeWorldUpdated, Path: text})
			}
			list = append(list, sub)
		}
		b := newBoth(t, Config{Owner: "$scene"}, list)
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			w := &WorldUpdated{Before: 1, After: 2}
			for _, path := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a.b", "a.b.c", "x", "x.b", "list", "list[2].c", "list[-1]"}), 1, 4).Draw(t, "changes") {
				w.Changes = append(w.Changes, WorldChange{Path: path, Op: "set", By: "i0"})
			}
			got := map[string]int{}
			before := ""
			for _, fact := range b.s.Decide(start, w, nil).Facts {
				if seq, want := fact.(*Routed).Seq, b.s.Seq+1; seq != want {
					t.Fatalf("the event has number %d, want %d", seq, want)
				}
				f := b.take(fact).(*Routed)
				v, _ := f.Body.Value()
				payload := v.(map[string]any)
				if text := payload["path"].(string); text < before {
					t.Fatalf("%s after %s", text, before)
				} else {
					before = text
				}
				for o := range f.Receivers.All() {
					got[fmt.Sprintf("%v %v %v %v", o, payload["path"], payload["paths"], payload["changes"])]++
				}
			}
			if want := naivePaths(t, list, w); !maps.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
			b.check(true)
		}
	})
}

func naivePaths(t *rapid.T, list []Subscriber, w *WorldUpdated) map[string]int {
	want := map[string]int{}
	for o, sub := range list {
		for _, s := range sub.Subscriptions {
			p, err := world.ParsePattern(s.Path)
			if err != nil {
				t.Fatal(err)
			}
			touched := []any{}
			for _, c := range w.Changes {
				if path, _ := world.ParsePath(c.Path); p.Touches(path) {
					touched = append(touched, c.Path)
				}
			}
			if len(touched) > 0 {
				want[fmt.Sprintf("%v %v %v %v", o, p, touched, len(touched))]++
			}
		}
	}
	return want
}

// One event whose receivers wait for different moments is held for as many as there is room for,
// in deliveries and in bytes; the others hear it at once.
func TestPartsOfAnEventShareTheRoom(t *testing.T) {
	list := population(200, func(i int) []Subscription {
		return []Subscription{{Type: "t", Quiet: time.Second + time.Duration(i)*time.Millisecond, Most: time.Hour}}
	})
	for name, c := range map[string]struct {
		limit, body int
		held        int
	}{"deliveries": {10, 1, 10}, "bytes": {1000, 1<<20 - 100, 63}} {
		s, err := New(Config{MaxHeld: c.limit}, List(list))
		if err != nil {
			t.Fatal(err)
		}
		publish(t, s, &protocol.Draft{EventHeader: protocol.EventHeader{Type: "t", Source: "z"}, Body: protocol.Encode(strings.Repeat("x", c.body))})
		if s.Holding() != c.held || s.holds.bytes > MaxHeldBytes {
			t.Errorf("%s: %d deliveries and %d bytes are held, want %d deliveries", name, s.Holding(), s.holds.bytes, c.held)
		}
	}
}

// What a merged event lists can be read, also if a payload leaves no room for the list.
func TestMergedPayloadsAreNotTooDeep(t *testing.T) {
	for _, levels := range []int{protocol.MaxNested, protocol.MaxDepth} {
		v := any(int64(1))
		for range levels {
			v = []any{v}
		}
		e := &Routed{Body: protocol.Encode(v)}
		body, err := merged([]*Routed{e}, 1, 1<<20).Value()
		if err != nil {
			t.Errorf("%d levels: %v", levels, err)
			continue
		}
		payload := body.(map[string]any)["events"].([]any)[0].(map[string]any)["payload"]
		if _, isText := payload.(string); isText != (levels > protocol.MaxNested) {
			t.Errorf("%d levels: %v", levels, payload)
		}
	}
}
