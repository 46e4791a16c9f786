package bus

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

const start = protocol.Time(946684800_000000000)

func agents(subs map[string][]string) (list []Subscriber) {
	for _, id := range protocol.SortedKeys(subs) {
		sub := Subscriber{InstanceID: id, ProfileID: "npc"}
		for _, text := range subs[id] {
			name, filter, _ := strings.Cut(text, " if ")
			sub.Subscriptions = append(sub.Subscriptions, Subscription{Type: name, FilterCondition: filter})
		}
		list = append(list, sub)
	}
	return list
}

func channel(t testing.TB, cfg Config, subs map[string][]string) *State {
	t.Helper()
	s, err := New(cfg, List(agents(subs)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func draft(source, eventType string, payload any) *protocol.Draft {
	return &protocol.Draft{EventHeader: protocol.EventHeader{Source: source, Type: eventType}, Body: protocol.Encode(payload)}
}

// publish decides and applies one draft.
func publish(t testing.TB, s *State, d *protocol.Draft) (protocol.Fact, []FilterFailure) {
	t.Helper()
	v := s.Decide(start, d, nil)
	if len(v.Facts) != 1 {
		t.Fatalf("%d facts for one draft", len(v.Facts))
	}
	s.Apply(v.Facts[0])
	return v.Facts[0], v.Failures
}

// heard says who gets the event, or why nobody.
func heard(s *State, f protocol.Fact) string {
	switch f := f.(type) {
	case *Refused:
		return "refused: " + string(f.Reason)
	case *Routed:
		var out []string
		for o := range f.Receivers.All() {
			out = append(out, s.subscribers.Name(o))
		}
		for _, m := range f.Marks {
			out = append(out, fmt.Sprintf("%s(%s %s)", m.Agent, m.Reason, m.Action))
		}
		return strings.Join(out, " ")
	}
	return "no fact of the channel"
}

func TestSection3_5_WhoHears(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{
		"all":     {"*"},
		"deep":    {"world.time.*"},
		"exact":   {"world.time.hour_changed"},
		"filter":  {"player.speak if payload.message.includes('help')"},
		"npc_1":   {"trade.offer if payload.target_npc_id === self.instance_id"},
		"npc_2":   {"trade.offer if payload.target_npc_id === self.instance_id", "trade.*"},
		"profile": {"trade.offer if self.profile_id === 'npc' && event.source_agent_instance_id !== 'npc_2'"},
		"twice":   {"world.*", "world.time.hour_changed", "*", "world.time.* if true"},
		"urgent":  {"player.speak if event.metadata.priority === 'critical'"},
	})
	for _, c := range []struct {
		d    *protocol.Draft
		want string
	}{
		{draft("x", "world.time.hour_changed", nil), "all deep exact twice"},
		{draft("x", "world.time", nil), "all twice"},
		{draft("x", "world", nil), "all twice"},
		{draft("x", "worldly.time", nil), "all twice"},
		{draft("x", "player.speak", map[string]any{"message": "please help"}), "all filter twice"},
		{draft("x", "player.speak", map[string]any{"message": "hello"}), "all twice"},
		{draft("x", "trade.offer", map[string]any{"target_npc_id": "npc_1"}), "all npc_1 npc_2 profile twice"},
		{draft("npc_2", "trade.offer", map[string]any{"target_npc_id": "npc_2"}), "all npc_2 twice"},
		{&protocol.Draft{EventHeader: protocol.EventHeader{Type: "player.speak", Priority: protocol.Critical}, Body: protocol.Encode(map[string]any{"message": "x"})}, "all twice urgent"},
		{draft("npc_1", "npc_1.says", nil), "all twice"},
	} {
		f, failures := publish(t, s, c.d)
		if got := heard(s, f); got != c.want || len(failures) > 0 {
			t.Errorf("%s %s: %q, want %q (%v)", c.d.Type, c.d.Source, got, c.want, failures)
		}
	}
}

func TestSection3_5_PublisherHearsItself(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"said"}, "b": {"said if event.source_agent_instance_id !== self.instance_id"}})
	for source, want := range map[string]string{"a": "a b", "b": "a"} {
		f, _ := publish(t, s, draft(source, "said", nil))
		if heard(s, f) != want {
			t.Errorf("%s says: %q, want %q", source, heard(s, f), want)
		}
	}
}

func TestSection3_5_Enrichment(t *testing.T) {
	s := channel(t, Config{Scene: "tavern", NamespacePrefix: "t:", DefaultTTL: time.Minute}, map[string][]string{"a": {"x"}})
	f, _ := publish(t, s, draft("b", "x", "hi"))
	e := f.(*Routed).Event("tavern")
	if e.ID != "t:e1" || e.TraceID != "t:e1" || e.Time != start || e.Expires != start.Add(time.Minute) || e.Scene != "tavern" || e.Kind != protocol.KindEvent {
		t.Errorf("%+v", e.Envelope)
	}
	d := draft("a", "y", nil)
	d.CausedBy(e.Envelope)
	d.TTL = -1
	f, _ = publish(t, s, d)
	r := f.(*Routed)
	if r.ID != "t:e2" || r.TraceID != "t:e1" || r.Expires != 0 || !slices.Equal(r.Chain, []protocol.Link{{Agent: "b", Type: "x"}}) {
		t.Errorf("%+v", r)
	}
	if len(e.Chain) != 0 {
		t.Error("a reaction changed its cause")
	}
	if v1, v2 := e.Value(), r.Event("").Value(); fmt.Sprint(v1["id"], v2["id"]) != "t:e1t:e2" {
		t.Errorf("%v %v", v1, v2)
	}
}

func TestArchitecture9_Directed(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"x"}, "b": nil, "c": {"x if false"}})
	for targets, want := range map[string]string{
		"b":       "b",
		"c,b,c":   "b c",
		"ghost":   "refused: no_such_target",
		"ghost,a": "a ghost(no_such_target drop)",
	} {
		d := draft("a", "x", nil)
		d.Targets = strings.Split(targets, ",")
		f, _ := publish(t, s, d)
		if got := heard(s, f); got != want {
			t.Errorf("to %s: %q, want %q", targets, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := channel(t, Config{MaxBodyBytes: 64, MaxTargets: 2, MaxDepth: 3, Validate: func(eventType string, payload any) error {
		if eventType == "typed" && payload != "ok" {
			return errors.New("/: want ok")
		}
		return nil
	}}, map[string][]string{"a": {"*"}})
	chain := func(n int) []protocol.Link { return make([]protocol.Link, n) }
	for name, c := range map[string]struct {
		d      protocol.Draft
		reason Reason
		detail string
	}{
		"no type":        {protocol.Draft{}, ReasonInvalid, "the event type is empty"},
		"empty segment":  {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a..b"}}, ReasonInvalid, "the event type has an empty segment"},
		"ends in a dot":  {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a."}}, ReasonInvalid, "the event type has an empty segment"},
		"star":           {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a.*"}}, ReasonInvalid, `the event type holds a star; only a subscription may, as ".*" at its end`},
		"space":          {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a b"}}, ReasonInvalid, "the event type holds a space or a control character"},
		"long type":      {protocol.Draft{EventHeader: protocol.EventHeader{Type: strings.Repeat("a", 257)}}, ReasonInvalid, "the event type is longer than 256 bytes"},
		"priority":       {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Priority: 9}}, ReasonInvalid, "priority 9 does not exist"},
		"broken body":    {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a"}, Body: protocol.Raw{0xdd, 0xff, 0xff, 0xff, 0xff}}, ReasonInvalid, ""},
		"depth":          {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Chain: chain(4)}}, ReasonDepth, "4 causes; the limit is 3"},
		"ttl":            {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Time: start - 5e9}, TTL: 5 * time.Second}, ReasonTTL, "expired at 2000-01-01T00:00:00Z"},
		"size":           {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a"}, Body: protocol.Encode(strings.Repeat("x", 80))}, ReasonSize, "payload of 82 bytes; the limit is 64"},
		"targets":        {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Targets: []string{"a", "b", "c"}}}, ReasonSize, "3 targets; the limit is 2"},
		"schema":         {protocol.Draft{EventHeader: protocol.EventHeader{Type: "typed"}, Body: protocol.Encode("no")}, ReasonSchema, "/: want ok"},
		"no such target": {protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Targets: []string{"z"}}}, ReasonNoSuchTarget, `no agent "z" (1 receiver refused)`},
	} {
		c.d.Source, c.d.TraceID = "p", "trace"
		before := s.Refusals[c.reason]
		f, _ := publish(t, s, &c.d)
		r, ok := f.(*Refused)
		if !ok || r.Reason != c.reason || c.detail != "" && r.Detail != c.detail {
			t.Errorf("%s: %+v", name, f)
			continue
		}
		if !slices.Equal(r.Chain, c.d.Chain) || r.TraceID != "trace" || r.Source != "p" || r.Seq != s.Seq || s.Refusals[c.reason] != before+1 {
			t.Errorf("%s: the refusal lost something: %+v", name, r)
		}
	}
	for name, d := range map[string]protocol.Draft{
		"depth at the limit": {EventHeader: protocol.EventHeader{Type: "a", Chain: chain(3)}},
		"valid":              {EventHeader: protocol.EventHeader{Type: "typed"}, Body: protocol.Encode("ok")},
		"not yet expired":    {EventHeader: protocol.EventHeader{Type: "a", Time: start - 4e9}, TTL: 5 * time.Second},
		"from the future":    {EventHeader: protocol.EventHeader{Type: "a", Time: start + 9e9}, TTL: 5 * time.Second},
	} {
		f, _ := publish(t, s, &d)
		r, ok := f.(*Routed)
		if !ok || heard(s, f) != "a" {
			t.Errorf("%s: %+v", name, f)
		} else if name == "from the future" && r.Expires != start.Add(5*time.Second) {
			t.Errorf("%s: expires %v", name, r.Expires)
		}
	}
}

// Promise 2: all that was published is in the refusal, but for the moment at which
// its time to live began, and how far it reached.
func TestRefusalIsPublishedAgain(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": nil})
	d := &protocol.Draft{EventHeader: protocol.EventHeader{Type: "x", Source: "p", Targets: []string{"late"}, Priority: protocol.High, TraceID: "t9", Chain: []protocol.Link{{Agent: "q", Type: "y"}}, RequiresAck: true, Cause: "e0", Turn: 7, TaskID: "task", ExpectsReply: true}, TTL: time.Hour, Body: protocol.Encode("b")}
	f, _ := publish(t, s, d)
	again, want := f.(*Refused).Draft(), *d
	if want.ID = "p/7.e1"; !reflect.DeepEqual(again, &want) {
		t.Errorf("to be published again: %+v, want %+v", again, &want)
	}
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Time" && name != "Ephemeral" && name != "Reach" {
			t.Errorf("%s is not tested", name)
		}
	}
	s2 := channel(t, Config{}, map[string][]string{"late": nil})
	f, _ = publish(t, s2, again)
	r, ok := f.(*Routed)
	if !ok || heard(s2, f) != "late" || r.Priority != protocol.High || !r.RequiresAck || string(r.Body) != string(d.Body) {
		t.Errorf("%+v", f)
	}
}

// Promise 5.
func TestArchitecture9_FilterThatFails(t *testing.T) {
	s := channel(t, Config{FilterSteps: 50}, map[string][]string{
		"a": {"x if payload.deep.field === 1"},
		"b": {"x if payload.deep.field === 1"},
		"c": {"x if payload.list.some(v => v === self.instance_id)"},
		"d": {"x"},
		"e": {"x if payload.deep.who === self.instance_id"},
		"f": {"x if payload.list.some(v => v === 'f')"},
	})
	f, failures := publish(t, s, draft("p", "x", map[string]any{"list": make([]any, 100)}))
	if heard(s, f) != "d" || f.(*Routed).FilterErrors != 5 || s.Failures != 5 {
		t.Errorf("%q, %d failures", heard(s, f), f.(*Routed).FilterErrors)
	}
	want := []string{
		`payload.deep.field === 1 2 expr: line 1, column 14: cannot read "field" of undefined; write ?. before it`,
		`payload.deep.who === self.instance_id 1 expr: line 1, column 14: cannot read "who" of undefined; write ?. before it`,
		`payload.list.some(v => v === 'f') 1 expr: line 1, column 1: more than 50 steps; make the lists or texts smaller`,
		`payload.list.some(v => v === self.instance_id) 1 expr: line 1, column 1: more than 50 steps; make the lists or texts smaller`,
	}
	for i, f := range failures {
		if got := fmt.Sprintf("%s %d %s", f.Filter, f.Count, f.Error); f.EventID != "e1" || i >= len(want) || got != want[i] {
			t.Errorf("failure %d: %s %s", i, f.EventID, got)
		}
	}
	if len(failures) != len(want) {
		t.Errorf("%d failures", len(failures))
	}
}

// Promise 4: how many evaluations an event costs, and how many runs of receivers,
// among a thousand who subscribe with the same text and others who do not.
func TestWhatAnEventCosts(t *testing.T) {
	const n = 1000
	for text, want := range map[string]int{
		"":                                0,
		"payload.n > 1":                   1,
		"payload.n > 5":                   1,
		"payload.to === self.instance_id": 1,
		"payload.to === self.instance_id && payload.n > 1": 2,
		"payload.n > 1 && payload.to === self.instance_id": n,
	} {
		var list []Subscriber
		for i := range 2 * n {
			sub := Subscription{Type: "x", FilterCondition: text}
			if i >= n {
				sub = Subscription{Type: fmt.Sprint("y", i), FilterCondition: text}
			}
			list = append(list, Subscriber{InstanceID: fmt.Sprint("i", i), Subscriptions: []Subscription{sub}})
		}
		s, err := New(Config{}, List(list))
		if err != nil {
			t.Fatal(err)
		}
		v := s.Decide(start, draft("p", "x", map[string]any{"n": int64(3), "to": "i7"}), nil)
		if rs := v.Facts[0].(*Routed).Receivers; v.Asked != want || len(rs) > 1 {
			t.Errorf("%q: %d evaluations, want %d; receivers %v", text, v.Asked, want, rs)
		}
	}
}

func TestFiltersCompileOncePerText(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"x if payload.n > 1", "y if payload.n > 1"}, "b": {"x if payload.n > 1", "x if payload.n > 2"}})
	if len(s.filters) != 2 || s.index.exact["x"][0].filter != s.index.exact["y"][0].filter || s.index.exact["x"][0].members.Len() != 2 {
		t.Errorf("%d filters", len(s.filters))
	}
}

// TestNewReportsEveryFaultOnce: a fault of a profile is not told per instance.
func TestNewReportsEveryFaultOnce(t *testing.T) {
	bad := []Subscription{{Type: "a..b"}, {Type: "x", FilterCondition: "paylod.a"}, {Type: "a.*.b"}}
	_, err := New(Config{LoopAction: "explode", MaxDepth: -1, DefaultTTL: -1}, List(
		[]Subscriber{{InstanceID: "a", Subscriptions: bad}, {InstanceID: "b", Subscriptions: bad}, {InstanceID: "b"}, {}}))

	want := `bus: event_bus_config: loop_action "explode": want drop, deprioritize or warn
bus: event_bus_config: default_event_ttl_seconds: want 0 to 100 years, got -1ns
bus: event_bus_config: max_depth: want a positive number, got -1
bus: subscription to "a..b": type: it has an empty segment
bus: subscription to "x": filter_condition: expr: line 1, column 1: unknown name "paylod"; did you mean "payload"?
bus: subscription to "a.*.b": type: it holds a star; only a subscription may, as ".*" at its end
bus: subscriber 2: instance id "b" is empty or taken
bus: subscriber 3: instance id "" is empty or taken`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestSection3_5_SubscribeAtRunTime(t *testing.T) {
	s := channel(t, Config{MaxChanges: 3}, map[string][]string{"a": {"x"}, "b": {"x", "y if payload > 1"}})
	change := func(agent string, add, remove []Subscription) error {
		f, err := s.Change(Change{Agent: agent, Add: add, Remove: remove})
		if f != nil {
			s.Apply(f)
		}
		return err
	}
	check := func(eventType, want string) {
		t.Helper()
		f, _ := publish(t, s, draft("p", eventType, int64(5)))
		if got := heard(s, f); got != want {
			t.Errorf("%s: %q, want %q", eventType, got, want)
		}
	}
	one := func(name, filter string) []Subscription { return []Subscription{{Type: name, FilterCondition: filter}} }
	if err := change("a", one("y", "payload > 1"), one("x", "")); err != nil {
		t.Fatal(err)
	}
	check("x", "b")
	check("y", "a b")
	if err := change("a", one("w.*", ""), nil); err != nil {
		t.Fatal(err)
	}
	check("w.q", "a")
	if err := change("a", one("v", ""), nil); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("beyond max_changes: %v", err)
	}
	if err := change("a", nil, one("w.*", "")); err != nil {
		t.Errorf("taking back: %v", err)
	}
	check("w.q", "")
	if err := change("ghost", one("x", ""), nil); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("no such agent: %v", err)
	}
	if err := change("a", one("x", "payload >"), nil); protocol.KindOf(err) != protocol.KindInvalid {
		t.Errorf("a filter that does not compile: %v", err)
	}
	if f, err := s.Change(Change{Agent: "b", Add: one("x", ""), Remove: one("z", "")}); f != nil || err != nil {
		t.Errorf("nothing to change: %v, %v", f, err)
	}
}

// A storm that fills the moment does not refuse the alarm about it; alarms are
// bounded too.
func TestCriticalEventsHaveRoomInAStorm(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"*"}, "b": {"*"}})
	draft := func(p protocol.Priority) *protocol.Draft {
		return &protocol.Draft{EventHeader: protocol.EventHeader{Type: "say", Source: "a", Priority: p}}
	}
	storm := []*protocol.Draft{draft(0), draft(0), draft(protocol.High), draft(protocol.Critical), draft(protocol.Critical), draft(0)}
	for name, room := range map[string]throttle.Room{"events": {Events: 2, Deliveries: 100}, "deliveries": {Events: 100, Deliveries: 5}} {
		room.Urgent = &throttle.Room{Events: 1, Deliveries: 2}
		got := ""
		for _, d := range storm {
			if r, refused := s.Decide(start, d, &room).Facts[0].(*Refused); refused {
				got += " " + string(r.Reason)
			} else {
				got += " routed"
			}
		}
		if want := " routed routed flood routed flood flood"; got != want {
			t.Errorf("%s: got%s, want%s", name, got, want)
		}
	}
}
