package order_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/order"
	"tavernsim/engine/world"
	"tavernsim/internal/doctest"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

const page = "formats/orders.md"

func parse(t *testing.T, name, text string) ([]order.Entry, error) {
	t.Helper()
	report := &source.Report{}
	doc := source.Parse(name, []byte(text), source.Limits{}, report)
	if doc == nil {
		return nil, report.Err()
	}
	return order.Parse(doc, report), report.Err()
}

// The example of the page is a file of orders. Promise 3: printed as lines it is read as the
// same orders, and as a fact the same again.
func TestExampleOfThePage(t *testing.T) {
	for _, text := range doctest.Examples(t, page, "orders") {
		list, err := parse(t, "orders.yaml", text)
		if err != nil || len(list) != 4 {
			t.Fatal(list, err)
		}
		var lines []byte
		for i, e := range list {
			again, err := order.EntryOf("s", 7, 10*time.Minute, e.Fact(), "")
			if err != nil || string(protocol.Encode(again.Do)) != string(protocol.Encode(e.Do)) || again.ID != e.ID || again.Reason != e.Reason {
				t.Errorf("order %d: %+v, %v", i, again, err)
			}
			line, err := json.Marshal(again)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		printed, err := parse(t, "orders.json", string(order.Lines(lines)))
		if err != nil || len(printed) != len(list) {
			t.Fatal(printed, err)
		}
		for i := range list {
			if f, g := list[i].Fact(), printed[i].Fact(); string(f.Do) != string(g.Do) || f.ID != g.ID {
				t.Errorf("order %d: %s, printed %s", i, f.Do, g.Do)
			}
		}
	}
}

// Promise 1: equal changes make equal requests.
func TestPlan(t *testing.T) {
	text := doctest.Examples(t, page, "orders")[0]
	list, err := parse(t, "orders.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 5 {
		var b []byte
		ends := false
		for _, e := range list {
			p, err := order.Read(e.ID, e.Reason, protocol.Encode(e.Do))
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.World {
				b = p.World[i].AppendMsg(b)
			}
			for i := range p.Events {
				b = p.Events[i].AppendMsg(b)
			}
			ends = p.End
		}
		if !ends || first != nil && string(b) != string(first) {
			t.Fatal("another plan")
		}
		first = b
	}
}

// Promise 2: a fault names the change and the field, and in a file the line.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"orders: []\nmore: 1\n":                                                                                                  "unknown field",
		"orders:\n  - {id: a}\n":                                                                                                 "do",
		"orders:\n  - {do: []}\n":                                                                                                "want a list of 1 to 256 changes",
		"orders:\n  - {do: [{wander: {profile: x}}]}\n":                                                                          "do[0].wander: there is no such change; want one of event, say, world, goal, reflect, private_state, rest, wake, transition, answer, cancel, take_over, release, review, turn, move, spawn, remove, travel, end, ask, run, set",
		"orders:\n  - {do: [{take: {agent: x, wait: long}}]}\n":                                                                  "do[0].take: wait \"long\": want hold or run",
		"orders:\n  - {do: [{take_over: {agent: x, on_timeout: leave}}]}\n":                                                      "do[0].take_over: on_timeout \"leave\": want pass or play",
		"orders:\n  - {do: [{take_over: {agent: x, timeout_seconds: 0}}]}\n":                                                     "do[0].take_over: timeout_seconds 0: want more than 0, at most 2592000",
		"orders:\n  - {do: [{take_over: {}}]}\n":                                                                                 "do[0].take_over: received no agent",
		"orders:\n  - {do: [{ask: {panel: x}}]}\n":                                                                               "do[0].ask: received no action",
		"orders:\n  - {do: [{ask: {action: text, result: a/b}}]}\n":                                                              "do[0].ask: result \"a/b\": a variable that takes an answer has no / in its name",
		"orders:\n  - {do: [{run: {workflow: x, input: {}}}]}\n":                                                                 "do[0].run: received the unknown parameter input",
		"orders:\n  - {do: [{run: {workflow: x, result: '-'}}]}\n":                                                               "do[0].run: result \"-\": a variable that takes an answer",
		"orders:\n  - {do: [{release: {agent: x, by: y}}]}\n":                                                                    "do[0].release: received the unknown parameter by",
		"orders:\n  - {do: [{take_over: {agent: x}}, {release: {agent: x}}]}\n":                                                  "do[1].release: the order takes over or releases x already",
		"orders:\n  - {do: [{spawn: {}}]}\n":                                                                                     "do[0].spawn: want one of agent and profile",
		"orders:\n  - {do: [{spawn: {agent: a, profile: b}}]}\n":                                                                 "do[0].spawn: want one of agent and profile",
		"orders:\n  - {do: [{spawn: {agent: a, count: 2}}]}\n":                                                                   "do[0].spawn: count 2: agent names one",
		"orders:\n  - {do: [{spawn: {profile: a, count: 1001}}]}\n":                                                              "do[0].spawn: count 1001: want 1 to 1000",
		"orders:\n  - {do: [{remove: {agent: x}}]}\n":                                                                            "do[0].remove: received the unknown parameter agent",
		"orders:\n  - {do: [{rest: {}}]}\n":                                                                                      "do[0].rest: received no agents",
		"orders:\n  - {do: [{rest: {agents: 5}}]}\n":                                                                             "do[0].rest: agents: got \"5\", want text or a list of texts",
		"orders:\n  - {do: [{wake: {agents: []}}]}\n":                                                                            "do[0].wake: agents: want at least one",
		"orders:\n  - {do: [{wake: {agents: ['place:']}}]}\n":                                                                    "do[0].wake: the selector \"place:\": want an instance id, role:ROLE, profile:PROFILE, place:PLACE or *",
		"orders:\n  - {do: [{rest: {agents: 'role:'}}]}\n":                                                                       "the selector \"role:\": want an instance id",
		"orders:\n  - {do: [{private_state: {agent: x, path: a, value: 1}}]}\n":                                                  "do[0].private_state: received no reason",
		"orders:\n  - {do: [{private_state: {agent: x, op: put, reason: y}}]}\n":                                                 "do[0].private_state: op \"put\": want one of set, add, push, delete, merge",
		"orders:\n  - {do: [{private_state: {agent: x, path: 'a..b', value: 1, reason: y}}]}\n":                                  "do[0].private_state: ",
		"orders:\n  - {do: [{end: {}}, {reflect: {}}]}\n":                                                                        "do[1].reflect: want one of agent and to",
		"orders:\n  - {do: [{cancel: {interaction: a, status: answered}}]}\n":                                                    "do[0].cancel: status \"answered\": want",
		"orders:\n  - {do: [{event: {type: a, to: []}}]}\n":                                                                      "do[0].event: to: the list is empty, and names nobody",
		"orders:\n  - {do: [{goal: {to: [], id: g}}]}\n":                                                                         "do[0].goal: to: the list is empty, and names nobody",
		"orders:\n  - {do: [{world: {path: a, op: put}}]}\n":                                                                     "do[0].world",
		"orders:\n  - {do: [{event: {type: a, to: {b: 1}}}]}\n":                                                                  "do[0].event",
		"orders:\n  - {do: [{event: {type: a, ttl_seconds: -1}}]}\n":                                                             "ttl_seconds -1: want 0 to",
		"orders:\n  - {do: [{event: {type: a, priority: loud}}]}\n":                                                              "priority",
		"orders:\n  - {do: [event]}\n":                                                                                           "want an object with one field",
		"orders:\n  - {do: [{event: 5}]}\n":                                                                                      "want an object with its fields",
		"orders:\n  - {id: a, do: [{end: {}}]}\n  - {id: a, do: [{end: {}}]}\n":                                                  "orders.yaml:3",
		"orders:\n  - {id: " + strings.Repeat("a", 257) + ", do: [{end: {}}]}\n":                                                 "257 bytes, want at most 256",
		"orders:\n  - {reason: " + strings.Repeat("a", 2049) + ", do: [{end: {}}]}\n":                                            "2049 bytes, want at most 2048",
		"orders:\n  - {wave: 0.5, do: [{end: {}}]}\n":                                                                            "wave",
		"orders:\n  - {at: yesterday, do: [{end: {}}]}\n":                                                                        "at",
		"orders:\n  - {do: [{review: {kb: a, suggestion: 1}}]}\n":                                                                "do[0].review: received no accept",
		"orders:\n  - {do: [{review: {kb: a, suggestion: 0, accept: true}}]}\n":                                                  "do[0].review: suggestion 0: want its number, from 1",
		"orders:\n  - {do: [{review: {kb: a, suggestion: 1, accept: true}}, {review: {kb: a, suggestion: 1, accept: false}}]}\n": "do[1].review: the order reviews suggestion 1 to a already",
		"orders:\n  - {do: [{event: {type: a, payload: " + strings.Repeat("b", 1<<18) + "}}]}":                                   "an order has at most 262144",
	} {
		if list, err := parse(t, "orders.yaml", text); err == nil || !strings.Contains(err.Error(), want) || list != nil {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// A change without a value is one of an order that an older program took: it is null. So is one of delete with a value,
// which stays. Who takes a new order refuses both.
func TestAnOrderWithoutAValue(t *testing.T) {
	for text, want := range map[string]string{
		"private_state: {agent: x, path: a, reason: y}":                       "do[1].private_state: set needs a value; null is one",
		"private_state: {agent: x, reason: y}":                                "do[1].private_state: merge needs a value",
		"world: {path: a}":                                                    "do[1].world: set needs a value; null is one",
		"world: {path: a, op: push}":                                          "do[1].world: push needs a value; null is one",
		"world: {path: a, op: delete, value: 1}":                              "do[1].world: delete takes no value",
		"private_state: {agent: x, path: a, op: delete, value: 1, reason: y}": "do[1].private_state: delete takes no value",
	} {
		list, err := parse(t, "orders.yaml", "orders:\n  - {do: [{world: {path: b, value: null}}, {"+text+"}]}\n")
		if err != nil {
			t.Fatal(err)
		}
		p, err := order.Read(list[0].ID, list[0].Reason, protocol.Encode(list[0].Do))
		if err != nil || p.Lacks == nil || p.Lacks.Error() != want {
			t.Errorf("%s: %v, %v, want %q", text, p, err, want)
			continue
		}
		if last := p.World[len(p.World)-1].Change; last.Op == world.OpDelete && !bytes.Equal(last.Value, protocol.Encode(int64(1))) {
			t.Errorf("%s: the world is asked with %q", text, last.Value)
		}
	}
}

// The page lists every kind of change and every field.
func TestPageListsTheChanges(t *testing.T) {
	rows := strings.Split(doctest.Page(t, page), "\n")
	for _, kind := range []string{"event", "world", "goal", "reflect", "private_state", "rest", "wake", "answer", "cancel", "take_over", "release", "review", "end", "ask", "run"} {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| `"+kind+"` |") })
		if i < 0 {
			t.Errorf("the page lacks the change %s", kind)
			continue
		}
		_, err := order.Read("x", "", protocol.Encode([]any{map[string]any{kind: map[string]any{"nonsense": int64(1)}}}))
		if err == nil {
			t.Errorf("%s takes anything", kind)
			continue
		}
		_, names, _ := strings.Cut(err.Error(), "expected one of ")
		names, _, _ = strings.Cut(names, ";")
		for name := range strings.SplitSeq(names, ", ") {
			if name != "comment" && !strings.Contains(rows[i], "`"+name+"`") {
				t.Errorf("the row of %s lacks %s", kind, name)
			}
		}
	}
}

// The value of a change may be null, and what is not known yet may be a value or an op that
// needs none.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		later  map[string]bool
		wrong  bool
	}{
		{map[string]any{"path": "a", "value": nil}, nil, false},
		{map[string]any{"path": "a", "op": "delete"}, nil, false},
		{map[string]any{"path": "a"}, map[string]bool{"value": true}, false},
		{map[string]any{"path": "a"}, map[string]bool{"op": true}, false},
		{map[string]any{"path": "a"}, map[string]bool{"path": true}, true},
		{map[string]any{"path": "a", "op": "delete", "value": nil}, nil, false},
		{map[string]any{"path": "a", "op": "delete", "value": int64(1)}, nil, true},
		{map[string]any{"path": "a", "op": "delete", "value": nil}, map[string]bool{"value": true}, true},
		{map[string]any{"path": "a", "value": int64(1)}, map[string]bool{"op": true}, false},
		{map[string]any{"path": "a"}, map[string]bool{"op": true, "value": true}, false},
	} {
		lacks, err := order.Check("world", c.fields, c.later)
		if (lacks != nil) != c.wrong || err != nil {
			t.Errorf("%v, later %v: %v, %v", c.fields, c.later, lacks, err)
		}
	}
}
