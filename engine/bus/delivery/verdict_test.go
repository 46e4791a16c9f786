package delivery

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

func link(agent, eventType string) protocol.Link { return protocol.Link{Agent: agent, Type: eventType} }

func event(change func(*protocol.Envelope)) *protocol.Envelope {
	e := &protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e1", Source: "b", Type: "say", Time: 100}, Kind: protocol.KindEvent}
	if change != nil {
		change(e)
	}
	return e
}

// chain makes an event whose causes are a's and b's "say", in turn.
func conversation(n int) *protocol.Envelope {
	return event(func(e *protocol.Envelope) {
		for i := range n {
			e.Chain = append(e.Chain, link([]string{"a", "b"}[i%2], "say"))
		}
		e.Source = []string{"a", "b"}[n%2]
	})
}

func TestLoop(t *testing.T) {
	// Message k of a conversation has k causes; a began it. The receiver of
	// message k is who did not send it.
	to := func(k int) string { return []string{"b", "a"}[k%2] }
	for _, c := range []struct {
		name string
		rule Loop
		k    int
		want string
	}{
		{"the first", Loop{}, 0, "deliver normal"},
		{"b for the third time", Loop{}, 4, "deliver normal"},
		{"b for the fourth time", Loop{}, 6, "drop normal loop"},
		{"a for the fourth time", Loop{}, 7, "drop normal loop"},
		{"none, and a for the first time", Loop{MaxRevisits: -1}, 1, "deliver normal"},
		{"none, and b for the second time", Loop{MaxRevisits: -1}, 2, "drop normal loop"},
		{"deprioritize", Loop{Action: LoopDeprioritize}, 6, "deliver low loop"},
		{"warn", Loop{Action: LoopWarn}, 6, "deliver normal loop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Message{Envelope: conversation(c.k), Receiver: to(c.k)}
			if got := show(Chain{c.rule}.Decide(m)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLoopKnowsTypesAndReceivers(t *testing.T) {
	rule := Chain{Loop{MaxRevisits: -1}}
	m := Message{Envelope: conversation(2), Receiver: "b"}
	if got := show(rule.Decide(m)); got != "drop normal loop" {
		t.Fatalf("the case itself: %s", got)
	}
	for name, other := range map[string]Message{
		"another type":     {Envelope: event(func(e *protocol.Envelope) { e.Chain, e.Type = conversation(2).Chain, "nod" }), Receiver: "b"},
		"another receiver": {Envelope: m.Envelope, Receiver: "c"},
		"no receiver":      {Envelope: m.Envelope},
		"no event":         {Envelope: &protocol.Envelope{EventHeader: protocol.EventHeader{Chain: m.Chain, Type: m.Type, Source: m.Source}, Kind: protocol.KindWake}, Receiver: "b"},
	} {
		if got := rule.Decide(other); got.Action != Deliver || got.Reason != "" {
			t.Errorf("%s: got %s", name, show(got))
		}
	}
}

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		max, causes int
		want        string
	}{
		{0, DefaultMaxDepth, "deliver normal"},
		{0, DefaultMaxDepth + 1, "drop normal depth"},
		{3, 3, "deliver normal"},
		{3, 4, "drop normal depth"},
		{-1, 0, "deliver normal"},
		{-1, 1, "drop normal depth"},
	} {
		m := Message{Envelope: event(func(e *protocol.Envelope) { e.Chain = make([]protocol.Link, c.causes) })}
		if got := show(Chain{Depth{Max: c.max}}.Decide(m)); got != c.want {
			t.Errorf("max %d, %d causes: got %s, want %s", c.max, c.causes, got, c.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		expires, now protocol.Time
		want         string
	}{
		{0, 0, "deliver normal"},
		{0, 1 << 60, "deliver normal"},
		{101, 0, "deliver normal"}, // the event's own time is 100
		{100, 0, "drop normal ttl"},
		{101, 100, "deliver normal"},
		{101, 101, "drop normal ttl"},
		{100, 7, "drop normal ttl"}, // a clock that lags behind the event revives nothing
	} {
		m := Message{Envelope: event(func(e *protocol.Envelope) { e.Expires = c.expires }), Now: c.now}
		if got := show(Chain{Expiry{}}.Decide(m)); got != c.want {
			t.Errorf("expires %d, now %d: got %s, want %s", c.expires, c.now, got, c.want)
		}
	}
}

func TestLanes(t *testing.T) {
	for p, want := range map[protocol.Priority]Lane{protocol.Critical: Critical, protocol.High: High, protocol.Normal: Normal, protocol.Low: Low, 100: Critical, -100: Low} {
		e := event(func(e *protocol.Envelope) { e.Priority = p })
		if got := LaneOf(e); got != want {
			t.Errorf("priority %d: lane %s, want %s", p, got, want)
		}
		if got := (Chain{InOrder{}}).Decide(Message{Envelope: e}).Lane; got != Normal {
			t.Errorf("priority %d in order: lane %s, want normal", p, got)
		}
		if got := (Chain{}).Decide(Message{Envelope: e}).Lane; got != want {
			t.Errorf("priority %d: the chain begins with the lane %s, want %s", p, got, want)
		}
	}
	told := &protocol.Envelope{Kind: protocol.KindObserve}
	if free, inOrder := (Chain{}).Decide(Message{Envelope: told}).Lane, (Chain{InOrder{}}).Decide(Message{Envelope: told}).Lane; free != Control || inOrder != Normal {
		t.Errorf("what an agent is told: lane %s, in order %s", free, inOrder)
	}
	for _, p := range protocol.Priorities() {
		if got := ForPriority(p).Priority(); got != p {
			t.Errorf("priority %s comes back as %s", p, got)
		}
	}
	if Control.Priority() != protocol.Critical || Last.Priority() != protocol.Low {
		t.Errorf("control is worth %s and last %s", Control.Priority(), Last.Priority())
	}
	for kind, want := range map[protocol.Kind]Lane{protocol.KindWake: Last, protocol.KindSnapshot: Last, protocol.KindTurn: Control, protocol.KindAnswer: Control} {
		m := Message{Envelope: &protocol.Envelope{EventHeader: protocol.EventHeader{Priority: protocol.Low}, Kind: kind}}
		if got := (Chain{InOrder{}}).Decide(m).Lane; got != want {
			t.Errorf("%s: lane %s, want %s", kind, got, want)
		}
	}
}

// Promises 2 and 3. A chain asks in order, carries the verdict on, and ends at the first drop; a drop has a reason.
func TestChain(t *testing.T) {
	var asked []string
	says := func(name string, f func(Verdict) Verdict) Middleware {
		return Func(func(_ Message, v Verdict) Verdict {
			asked = append(asked, name)
			return f(v)
		})
	}
	m := Message{Envelope: event(nil)}
	inner := Chain{says("low", func(v Verdict) Verdict { return v.In(Low, "chatter") })}
	c := Chain{inner, says("late", func(v Verdict) Verdict { return v.Delay(7).Delay(5) }),
		says("no", func(v Verdict) Verdict { return v.Drop("enough") }), says("never", func(v Verdict) Verdict { return v.In(High, "") })}
	if got := show(c.Decide(m)); got != "drop low enough until 7" || fmt.Sprint(asked) != "[low late no]" {
		t.Errorf("got %s after asking %v", got, asked)
	}
	for want, f := range map[string]func(Verdict) Verdict{
		"merge normal key weather": func(v Verdict) Verdict { return v.Merge("weather") },
		"deliver normal odd":       func(v Verdict) Verdict { return v.Marked("odd") },
		"drop normal unnamed":      func(v Verdict) Verdict { return v.Drop("") },
		"deliver low x":            func(v Verdict) Verdict { return v.In(99, "x") },
	} {
		if got := show(Chain{says("", f)}.Decide(m)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Promise 6. A panic names the middleware, also one of a chain in the chain, and behind the engine's own.
func TestPanicNamesTheMiddleware(t *testing.T) {
	broken := Func(func(Message, Verdict) Verdict { panic("no table") })
	pass := Func(func(_ Message, v Verdict) Verdict { return v })
	m := Message{Envelope: event(nil)}
	for want, c := range map[string]Chain{
		"middleware 2 of 3 (delivery.Func) panics: no table":                                                                                       {Depth{}, broken, pass},
		"in middleware 2 of 2: middleware 2 of 2 (delivery.Func) panics: no table":                                                                 {pass, Chain{pass, broken}},
		"middleware 1 of 1 (*delivery.earshot) panics: value method tavernsim/engine/bus/delivery.earshot.Judge called using nil *earshot pointer": {(*earshot)(nil)},
		"middleware 1 of 1 (delivery.Func) panics: runtime error: invalid memory address or nil pointer dereference":                               {Func(nil)},
		"middleware 2 of 2 (<nil>) panics: runtime error: invalid memory address or nil pointer dereference":                                       {pass, nil},
	} {
		plan := c.Plan()
		for way, decide := range map[string]func(Message) Verdict{"chain": c.Decide, "plan": plan.Decide} {
			func() {
				defer func() {
					if p, ok := recover().(*Panic); !ok || p.Error() != want {
						t.Errorf("%s: got %v, want %s", way, p, want)
					}
				}()
				decide(m)
			}()
		}
	}
}

func show(v Verdict) string {
	s := v.Action.String() + " " + v.Lane.String()
	if v.Reason != "" && v.Key() == "" {
		s += " " + v.Reason
	}
	if v.Until != 0 {
		s += fmt.Sprint(" until ", int64(v.Until))
	}
	if v.Key() != "" {
		s += " key " + v.Key()
	}
	return s
}

func full() Chain { return Chain{Loop{}, Depth{}, Expiry{}} }

// Promise 4. Each of them alone, whatever it says, and some together.
func TestBuiltInsAllocateNothing(t *testing.T) {
	messages := []Message{
		{Envelope: conversation(6), Receiver: "b"}, // loops
		{Envelope: conversation(3), Receiver: "c"},
		{Envelope: conversation(DefaultMaxDepth + 1), Receiver: "c"}, // is too deep
		{Envelope: event(func(e *protocol.Envelope) { e.Expires, e.Priority = 101, protocol.High }), Receiver: "c", Now: 100},
		{Envelope: event(func(e *protocol.Envelope) { e.Expires = 100 }), Receiver: "c"}, // has expired
		{Envelope: &protocol.Envelope{Kind: protocol.KindWake}, Receiver: "c"},
	}
	for _, c := range []Chain{{Loop{}}, {Loop{Action: LoopDeprioritize}}, {Loop{Action: LoopWarn}}, {Depth{}}, {Expiry{}}, {InOrder{}}, full()} {
		plan := c.Plan()
		for i, m := range messages {
			if n := testing.AllocsPerRun(100, func() { c.Decide(m); plan.Decide(m) }); n != 0 {
				t.Errorf("%+v of message %d: %v allocations", c, i, n)
			}
		}
	}
}

func BenchmarkChain(b *testing.B) {
	c := full()
	plan := c.Plan()
	for _, causes := range []int{0, 4} {
		m := Message{Envelope: conversation(causes), Receiver: "b"}
		for name, decide := range map[string]func(Message) Verdict{"chain": c.Decide, "plan": plan.Decide} {
			b.Run(fmt.Sprintf("way=%s/causes=%d", name, causes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					decide(m)
				}
			})
		}
	}
}

// A middleware of a user: whispers do not carry to another room.
func ExampleMiddleware() {
	c := Chain{Loop{}, earshot{rooms: map[string]string{"ana": "kitchen", "ben": "kitchen", "cy": "cellar"}}}
	whisper := &protocol.Envelope{EventHeader: protocol.EventHeader{Source: "ana", Type: "whisper"}, Kind: protocol.KindEvent}
	for _, who := range []string{"ben", "cy"} {
		v := c.Decide(Message{Envelope: whisper, Receiver: who})
		fmt.Printf("%s: %s %q\n", who, v.Action, v.Reason)
	}
	// Output:
	// ben: deliver ""
	// cy: drop "out_of_earshot"
}

// earshot is set once and only read: that keeps it pure.
type earshot struct{ rooms map[string]string }

// Judge implements Middleware.
func (e earshot) Judge(m Message, v Verdict) Verdict {
	if m.Type == "whisper" && e.rooms[m.Source] != e.rooms[m.Receiver] {
		return v.Drop("out_of_earshot")
	}
	return v
}
