package bus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Promise 7. What does not fit is heard at once, or refused when a throttle rule delays it.
func TestHeldIsBounded(t *testing.T) {
	subs := []Subscription{{Type: "a", Quiet: time.Second}, {Type: "b"}}
	s, err := New(Config{MaxHeld: 3, Throttle: []throttle.Rule{{Type: "b", Max: 1, Window: time.Second, Action: throttle.Delay}}}, List(
		[]Subscriber{{InstanceID: "x", Subscriptions: subs}, {InstanceID: "y", Subscriptions: subs}}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a 0 held 2", "a 0 held 2", "b 2 held 0", "b throttled", "a 0 held 2"} {
		f, _ := publish(t, s, draft("z", want[:1], nil))
		got := ""
		switch f := f.(type) {
		case *Routed:
			got = fmt.Sprintf("%s %d held %d", f.Type, f.Receivers.Len(), f.Waiting())
		case *Refused:
			got = f.Type + " " + string(f.Reason)
		}
		if got != want {
			t.Errorf("event %d: %s, want %s", i, got, want)
		}
	}
	if s.Holding() != 2 {
		t.Errorf("%d deliveries are held", s.Holding())
	}
	s.holds.bytes += MaxHeldBytes - 3*heldOverhead
	if f, _ := publish(t, s, draft("z", "a", strings.Repeat("x", 1000))); f.(*Routed).Waiting() != 0 {
		t.Errorf("beyond MaxHeldBytes: %+v", f)
	}
	s.holds.bytes -= MaxHeldBytes - 3*heldOverhead
	s.cfg.MaxHeld = 1
	f := s.Release(start.Add(time.Second), nil).(*Routed)
	s.Apply(f)
	if f.Merged != 3 || s.Holding() != 0 {
		t.Errorf("%+v; %d are held", f, s.Holding())
	}
	if f, _ := publish(t, s, draft("z", "a", nil)); f.(*Routed).Receivers.Len() != 2 {
		t.Errorf("beyond max_held: %+v", f)
	}
}

// A merged event lists the newest, within the size of a payload.
func TestMergedIsBounded(t *testing.T) {
	s, err := New(Config{MaxBodyBytes: 4000}, List([]Subscriber{{InstanceID: "x", Subscriptions: []Subscription{{Type: "*", Quiet: time.Second, Debounce: DebounceMerge}}}}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * MaxMerged {
		publish(t, s, draft("z", fmt.Sprint("a", i), i))
	}
	if n := len(s.holds.queue[0].events); n != MaxMerged {
		t.Errorf("%d events are kept", n)
	}
	f := s.Release(start.Add(time.Second), nil).(*Routed)
	v, err := f.Body.Value()
	if err != nil || len(f.Body) > 4000 {
		t.Fatalf("%d bytes, %v", len(f.Body), err)
	}
	m := v.(map[string]any)
	list := m["events"].([]any)
	if m["merged"] != int64(3*MaxMerged) || f.Merged != 3*MaxMerged || len(list) < 5 || list[len(list)-1].(map[string]any)["type"] != f.Type {
		t.Errorf("%v", m)
	}
}

// Who unsubscribes still hears what was held.
func TestUnsubscribedWhileHeld(t *testing.T) {
	sub := Subscription{Type: "a", Quiet: time.Second}
	s, err := New(Config{}, List([]Subscriber{{InstanceID: "x", Subscriptions: []Subscription{sub}}}))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, s, draft("z", "a", nil))
	v := s.Decide(start, &Change{Agent: "x", Remove: []Subscription{{Type: "a"}}}, nil)
	s.Apply(v.Facts[0])
	again, err := Restore(s.cfg, List([]Subscriber{{InstanceID: "x", Subscriptions: []Subscription{sub}}}), protocol.NewCodec(), must(s.Snapshot(protocol.NewCodec())))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{s, again} {
		if f := s.Release(start.Add(time.Second), nil).(*Routed); f.Receivers.Len() != 1 {
			t.Errorf("%+v", f)
		}
		if f, _ := publish(t, s, draft("z", "a", nil)); f.(*Routed).Waiting() != 0 {
			t.Errorf("%+v", f)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is no event is refused with a reason for who asked.
func TestRefusedRequests(t *testing.T) {
	s := channel(t, Config{Owner: "$scene", MaxChanges: 2}, map[string][]string{"$scene": nil, "a": {"x"}})
	rule := throttle.Rule{Type: "x", Window: time.Second}
	subs := func(types ...string) (list []Subscription) {
		for _, name := range types {
			list = append(list, Subscription{Type: name})
		}
		return list
	}
	for _, c := range []struct {
		req  Request
		want string
	}{
		{&Force{By: "a", Rule: rule}, "throttle x: denied: only the scene itself may throttle events"},
		{&Force{By: "$scene", Rule: throttle.Rule{Type: "x"}}, "throttle x: invalid: window_seconds: want more than 0 and at most 30 days"},
		{&Force{By: "$scene", Rule: throttle.Rule{Type: "x..y", Window: 1}}, "throttle x..y: invalid: type: has an empty segment"},
		{&Force{By: "$scene", Rule: rule, Remove: true}, `throttle x: not_found: no rule for "x" per type was set while the scene runs`},
		{&Change{Agent: "a", Add: subs("a..b")}, `subscribe a..b: invalid: bus: subscription to "a..b": type: it has an empty segment`},
		{&Change{Agent: "a", Add: subs("p", "q", "r")}, "subscribe p: limit: bus: subscribe a: 3 changes in force; the limit is 2"},
		{&Change{Agent: "a", Remove: []Subscription{{Type: "x", Path: "p"}}}, `unsubscribe x: invalid: bus: subscription to "x": path: goes with type world.state.updated only`},
		{&Change{Agent: "ghost", Add: subs("x")}, `subscribe x: not_found: bus: subscribe: no agent "ghost"`},
	} {
		raw := c.req.(interface{ AppendMsg([]byte) []byte }).AppendMsg(nil)
		req, err := ReadRequest(raw)
		if err != nil {
			t.Fatal(err)
		}
		f := s.Decide(start, req, nil).Facts[0].(*NotDone)
		if got := fmt.Sprintf("%s %s: %s: %s", f.What, f.Subject, f.Code, f.Message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if v := s.Decide(start, &Change{Agent: "a", Remove: subs("unheard")}, nil); len(v.Facts) != 0 {
		t.Errorf("%+v", v.Facts)
	}
	for i := range throttle.MaxRules {
		r := rule
		r.Type = fmt.Sprint("t", i)
		s.Apply(s.Decide(start, &Force{By: "$scene", Rule: r}, nil).Facts[0])
	}
	if f, full := s.Decide(start, &Force{By: "$scene", Rule: rule}, nil).Facts[0].(*NotDone); !full || f.Code != protocol.KindLimit {
		t.Errorf("%+v", f)
	}
}

// Filters that nobody has any more are forgotten, and new ones are bounded.
func TestFiltersComeAndGo(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"x if payload > 0"}, "b": nil})
	for i := range 50 {
		sub := []Subscription{{Type: "x", FilterCondition: fmt.Sprint("payload > ", i)}}
		for _, c := range []Change{{Agent: "b", Add: sub}, {Agent: "b", Remove: sub}} {
			f, err := s.Change(c)
			if err != nil {
				t.Fatal(err)
			}
			s.Apply(f)
		}
	}
	if len(s.filters) != 1 || len(s.index.exact["x"]) != 1 {
		t.Errorf("%d filters, %d groups", len(s.filters), len(s.index.exact["x"]))
	}
	s.defined = -MaxFilters
	if _, err := s.Change(Change{Agent: "b", Add: []Subscription{{Type: "x", FilterCondition: "payload > 99"}}}); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("%v", err)
	}
}

// TestMiddlewareVerdicts: one verdict per receiver, and what becomes of it.
func TestMiddlewareVerdicts(t *testing.T) {
	until := start.Add(time.Second)
	s := channel(t, Config{Middleware: delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
		switch m.Receiver {
		case "drop":
			return v.Drop(strings.Repeat("long ", 50))
		case "high":
			return v.In(delivery.High, "")
		case "later", "later2":
			return v.Delay(until)
		case "mark":
			return v.Marked("seen")
		case "merge":
			return v.Delay(until).Merge("k")
		case "past":
			return v.Delay(m.Now)
		}
		return v
	})}}, map[string][]string{"drop": {"x"}, "high": {"x"}, "later": {"x"}, "later2": {"x"}, "mark": {"x"}, "merge": {"x"}, "past": {"x"}})
	f, _ := publish(t, s, draft("z", "x", 1))
	r := f.(*Routed)
	if got := heard(s, f); got != "high mark past drop(middleware:"+strings.Repeat("long ", 50)[:maxReasonBytes]+" drop) high(middleware high) mark(middleware:seen warn)" {
		t.Errorf("%s", got)
	}
	if r.PriorityFor("high") != protocol.High || r.PriorityFor("mark") != protocol.Normal || len(r.Held) != 2 || r.Waiting() != 3 {
		t.Errorf("%+v", r)
	}
	publish(t, s, draft("z", "x", 2))
	var got []string
	for f := s.Release(until, nil); f != nil; f = s.Release(until, nil) {
		s.Apply(f)
		v, _ := f.(*Routed).Body.Value()
		got = append(got, fmt.Sprintf("%s=%v", heard(s, f), v))
	}
	if text := strings.Join(got, ", "); text != "later later2=1, merge=2, later later2=2" {
		t.Errorf("%s", text)
	}
}

// A mark per receiver must not make the receivers' priorities quadratic.
func TestManyMarks(t *testing.T) {
	f := &Routed{EventHeader: protocol.EventHeader{Priority: protocol.Normal}}
	for i := range 100 {
		f.Marks = append(f.Marks, Mark{Agent: fmt.Sprint("a", i), Action: LoopAction([]string{"high", "low", "drop", "deprioritize"}[i%4])})
	}
	for i, want := range []protocol.Priority{protocol.High, protocol.Low, protocol.Normal, protocol.Low} {
		if got := f.PriorityFor(fmt.Sprint("a", i)); got != want {
			t.Errorf("a%d: %v, want %v", i, got, want)
		}
	}
	if f.PriorityFor("other") != protocol.Normal || f.priorities == nil {
		t.Error("no index")
	}
}

// FuzzFilter: whatever is written as a filter is refused or costs a bounded
// number of steps; it never fails the channel.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{"payload.message.includes('help')", "payload.tags.map(t => payload.tags.map(u => t + u))", "self.instance_id === payload.to && payload.n > 3",
		"payload.to === self.instance_id", "event.metadata.priority", "/(a+)+$/.test(payload.message)", "payload[payload]", "((((("} {
		f.Add(text, "please help", 3)
	}
	f.Fuzz(func(t *testing.T, text, message string, n int) {
		s, err := New(Config{FilterSteps: 1000}, List([]Subscriber{{InstanceID: "a"}, {InstanceID: "b"}}))
		if err != nil {
			t.Fatal(err)
		}
		for _, agent := range []string{"a", "b"} {
			for _, fact := range s.Decide(start, &Change{Agent: agent, Add: []Subscription{{Type: "x", FilterCondition: text}}}, nil).Facts {
				s.Apply(fact)
			}
		}
		payload := map[string]any{"message": strings.ToValidUTF8(message, ""), "n": int64(n), "to": "b", "tags": []any{"x", "y", nil, int64(n)}}
		fact := s.Decide(start, draft("a", "x", payload), nil).Facts[0]
		raw, err := protocol.NewCodec().Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.NewCodec(Facts()).ReadFact(fact.FactKind(), raw); err != nil {
			t.Fatal(err)
		}
		s.Apply(fact)
	})
}

// FuzzReadRequest: bytes that are no request are refused; what is read is
// decided about without a panic.
func FuzzReadRequest(f *testing.F) {
	f.Add((&protocol.Draft{EventHeader: protocol.EventHeader{Type: "x"}, Body: protocol.Encode("b")}).AppendMsg(nil))
	f.Add((&Change{Agent: "a", Add: []Subscription{{Type: "x", FilterCondition: "payload > 1", Quiet: 1}}, Remove: []Subscription{{Type: "y"}}}).AppendMsg(nil))
	f.Add((&Force{By: "$scene", Rule: throttle.Rule{Type: "x", Max: 1, Window: 5}}).AppendMsg(nil))
	f.Add((&WorldUpdated{Before: 1, After: 2, Changes: []WorldChange{{Path: "a.b", Op: "set", By: "a"}}}).AppendMsg(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := ReadRequest(b)
		if err != nil {
			return
		}
		s, err := New(Config{Owner: "$scene"}, List([]Subscriber{{InstanceID: "a", Subscriptions: []Subscription{{Type: TypeWorldUpdated, Path: "a.*"}, {Type: "*", Quiet: time.Second}}}, {InstanceID: "$scene"}}))
		if err != nil {
			t.Fatal(err)
		}
		codec := protocol.NewCodec(Facts())
		for _, fact := range s.Decide(start, req, nil).Facts {
			raw, err := codec.Marshal(fact)
			if err != nil {
				t.Fatal(err)
			}
			read, err := codec.ReadFact(fact.FactKind(), raw)
			if err != nil {
				t.Fatalf("%+v: %v", fact, err)
			}
			s.Apply(read)
		}
		if _, err := s.Snapshot(codec); err != nil {
			t.Fatal(err)
		}
	})
}
