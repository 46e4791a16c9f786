package bus

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// naive is the channel without an index: every subscriber, every subscription.
type naive struct {
	ids      []string
	subs     [][]Subscription
	revisits int
}

func (n *naive) route(t *rapid.T, e *protocol.Envelope) (receivers []uint32, loops []string, failures int) {
	failed := map[string]bool{}
	for i, id := range n.ids {
		hears := slices.Contains(e.Targets, id)
		for _, sub := range n.subs[i] {
			if len(e.Targets) == 0 && naiveType(sub, e.Type) && naiveFilter(t, sub, e, id, failed) {
				hears = true
			}
		}
		if !hears {
			continue
		}
		if naiveHandled(e, id) > n.revisits {
			loops = append(loops, id)
			continue
		}
		receivers = append(receivers, uint32(i))
	}
	slices.Sort(loops)
	return receivers, loops, len(failed)
}

func naiveType(sub Subscription, eventType string) bool {
	if sub.Underscored {
		eventType = strings.ReplaceAll(eventType, ".", "_")
	}
	pattern := sub.Type
	prefix, wild := strings.CutSuffix(pattern, "*")
	return pattern == eventType || wild && strings.HasPrefix(eventType, prefix)
}

// naiveFilter notes failures per receiver, wildcard or exact, and filter: one
// agent with one filter on two types of subscription fails twice.
func naiveFilter(t *rapid.T, sub Subscription, e *protocol.Envelope, id string, failed map[string]bool) bool {
	if sub.FilterCondition == "" {
		return true
	}
	p, err := expr.Compile(sub.FilterCondition, "payload", "event", "self")
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := e.Body.Value()
	ok, err := p.EvalBool(expr.Map{"payload": payload, "event": protocol.EventValue(e), "self": map[string]any{"instance_id": id, "profile_id": "p"}})
	if err != nil {
		failed[id+" "+sub.Type+" "+sub.FilterCondition] = true
	}
	return ok
}

func naiveHandled(e *protocol.Envelope, id string) (n int) {
	chain := append(slices.Clone(e.Chain), protocol.Link{Agent: e.Source, Type: e.Type})
	for i := 1; i < len(chain); i++ {
		if chain[i-1].Type == e.Type && chain[i].Agent == id {
			n++
		}
	}
	return n
}

// drawDefined draws a subscription that a definition may have.
func drawDefined(t *rapid.T) Subscription {
	if rapid.IntRange(0, 3).Draw(t, "underscored") > 0 {
		return drawSubscription(t)
	}
	return Subscription{Type: rapid.SampledFrom([]string{"a", "a_b", "a_b_c", "b_c"}).Draw(t, "key"), Underscored: true}
}

func drawSubscription(t *rapid.T) Subscription {
	return Subscription{
		Type: rapid.SampledFrom([]string{"a", "a.b", "a.b.c", "b", "*", "a.*", "a.b.*", "b.*"}).Draw(t, "type"),
		FilterCondition: rapid.SampledFrom([]string{"", "", "payload.n > 1", "payload.to === self.instance_id", "self.instance_id === payload.to && payload.n > 0",
			"payload.x.y === self.instance_id", "payload.x.y > 1", "self.instance_id.length > 2", "event.type === 'a.b'", "payload.to?.who === self.instance_id || payload.n > 2",
			"payload.x?.y === self.instance_id && payload.x.z.q", "payload.to !== self.instance_id"}).Draw(t, "filter"),
	}
}

func drawDraft(t *rapid.T, ids []string) *protocol.Draft {
	d := &protocol.Draft{EventHeader: protocol.EventHeader{Source: rapid.SampledFrom(ids).Draw(t, "source"), Type: rapid.SampledFrom([]string{"a", "a.b", "a.b.c", "b", "b.c", "a_b", "a_b.c"}).Draw(t, "type")}}
	payload := map[string]any{}
	if rapid.Bool().Draw(t, "n?") {
		payload["n"] = rapid.Int64Range(0, 3).Draw(t, "n")
	}
	if rapid.Bool().Draw(t, "to?") {
		payload["to"] = rapid.SampledFrom(ids).Draw(t, "to")
	}
	if rapid.Bool().Draw(t, "x?") {
		payload["x"] = map[string]any{"y": rapid.SampledFrom(ids).Draw(t, "y")}
	}
	d.Body = protocol.Encode(payload)
	for range rapid.IntRange(0, 8).Draw(t, "links") {
		d.Chain = append(d.Chain, protocol.Link{Agent: rapid.SampledFrom(ids[:2]).Draw(t, "agent"), Type: rapid.SampledFrom([]string{"a", "a.b"}).Draw(t, "caused by")})
	}
	if rapid.IntRange(0, 4).Draw(t, "directed") == 0 {
		d.Targets = rapid.SliceOfN(rapid.SampledFrom(ids), 1, 3).Draw(t, "targets")
	}
	return d
}

// TestAgainstNaive: promises 1 to 5 on random channels, with changes of
// subscriptions and a restart from a snapshot in between. rapid prints how to
// repeat a failure.
func TestAgainstNaive(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		twin := &naive{revisits: rapid.IntRange(1, 2).Draw(t, "revisits")}
		cfg := Config{MaxRevisits: twin.revisits}
		var list []Subscriber
		for i := range rapid.IntRange(2, 8).Draw(t, "agents") {
			subs := rapid.SliceOfNDistinct(rapid.Custom(drawDefined), 0, 4, func(s Subscription) Subscription { return s }).Draw(t, "subscriptions")
			list = append(list, Subscriber{InstanceID: fmt.Sprint("i", i*7), ProfileID: "p", Subscriptions: subs})
			twin.ids, twin.subs = append(twin.ids, list[i].InstanceID), append(twin.subs, slices.Clone(subs))
		}
		s, err := New(cfg, List(list))
		if err != nil {
			t.Fatal(err)
		}
		folded, _ := New(cfg, List(list))
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				changeBoth(t, s, folded, twin)
			case 1:
				s = restart(t, s, cfg, list, codec)
			default:
				compare(t, s, folded, twin, codec)
			}
		}
		a, _ := s.Snapshot(codec)
		b, _ := folded.Snapshot(codec)
		if !bytes.Equal(a, b) {
			t.Fatalf("the fold differs\n%x\n%x", a, b)
		}
	})
}

func restart(t *rapid.T, s *State, cfg Config, list []Subscriber, codec *protocol.Codec) *State {
	raw, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(cfg, List(list), codec, raw)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func changeBoth(t *rapid.T, s, folded *State, twin *naive) {
	i := rapid.IntRange(0, len(twin.ids)-1).Draw(t, "who")
	c := Change{Agent: twin.ids[i], Add: []Subscription{drawSubscription(t)}, Remove: []Subscription{drawSubscription(t)}}
	f, err := s.Change(c)
	if err != nil {
		t.Fatal(err)
	}
	if f != nil {
		s.Apply(f)
		folded.Apply(f)
	}
	if !c.Add[0].agrees(&c.Remove[0]) && !slices.Contains(twin.subs[i], c.Add[0]) {
		twin.subs[i] = append(twin.subs[i], c.Add[0])
	}
	twin.subs[i] = slices.DeleteFunc(twin.subs[i], func(sub Subscription) bool { return sub.agrees(&c.Remove[0]) })
}

func compare(t *rapid.T, s, folded *State, twin *naive, codec *protocol.Codec) {
	d := drawDraft(t, twin.ids)
	before, _ := s.Snapshot(codec)
	facts := s.Decide(start, d, nil).Facts
	if len(facts) != 1 {
		t.Fatalf("%d facts for one event", len(facts))
	}
	f, again := facts[0], s.Decide(start, d, nil).Facts[0]
	if after, _ := s.Snapshot(codec); !bytes.Equal(before, after) {
		t.Fatal("Decide changed the state")
	}
	one, _ := codec.Marshal(f)
	two, _ := codec.Marshal(again)
	if !bytes.Equal(one, two) {
		t.Fatalf("two decisions: %x, %x", one, two)
	}
	compareOne(t, f, d, twin)
	read, err := codec.ReadFact(f.FactKind(), one)
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(f)
	folded.Apply(read)
}

func compareOne(t *rapid.T, f protocol.Fact, d *protocol.Draft, twin *naive) {
	e := (&State{}).enrich(d, 1, start)
	receivers, loops, failures := twin.route(t, e)
	if r, ok := f.(*Refused); ok {
		if len(receivers) > 0 || len(loops) == 0 || r.Reason != ReasonLoop {
			t.Fatalf("%+v is refused (%s), want %v", d, r.Reason, receivers)
		}
		return
	}
	r := f.(*Routed)
	var marked []string
	for _, m := range r.Marks {
		marked = append(marked, m.Agent)
	}
	slices.Sort(marked)
	if !slices.Equal(slices.Collect(r.Receivers.All()), receivers) || !slices.Equal(marked, loops) || int(r.FilterErrors) != failures {
		t.Fatalf("%+v\n got %v %v %d\nwant %v %v %d", d, r.Receivers, marked, r.FilterErrors, receivers, loops, failures)
	}
	if err := r.Receivers.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestRanges: a set of ordinals against a map.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rs Ranges
		twin := map[uint32]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			o, before := rapid.SampledFrom([]uint32{0, 1, 2, 3, 4, 5, 9, 1<<32 - 2, 1<<32 - 1}).Draw(t, "ordinal"), slices.Clone(rs)
			old := rs
			if twin[o] = rapid.Bool().Draw(t, "add"); twin[o] {
				rs = rs.With(o)
			} else {
				rs = rs.Without(o)
			}
			if !slices.Equal(old, before) {
				t.Fatal("a shared set was changed")
			}
			var want []uint32
			for _, o := range []uint32{0, 1, 2, 3, 4, 5, 9, 1<<32 - 2, 1<<32 - 1} {
				if twin[o] {
					want = append(want, o)
				}
				if rs.Contains(o) != twin[o] {
					t.Fatalf("%v contains %d: %v", rs, o, !twin[o])
				}
			}
			if !slices.Equal(slices.Collect(rs.All()), want) || rs.Len() != len(want) || rs.Check() != nil {
				t.Fatalf("%v, want %v", rs, want)
			}
		}
	})
}
