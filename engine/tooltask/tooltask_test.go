package tooltask

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

func open(id, agent string, after time.Duration) Request {
	return Request{After: after, Most: 3, Task: Task{ID: id, Agent: agent, Turn: 2, Number: 1, Kind: "tool", Tool: "paint", Params: protocol.Encode(map[string]any{"q": "owl"}), URIs: EncodeURIs(map[string]string{"pic": "fam://x"}, nil), Once: true}}
}

func cancel(id, agent string) Request {
	return Request{Cancel: true, Task: Task{ID: id, Agent: agent}}
}

func kinds(facts []protocol.Fact) string {
	var words []string
	for _, f := range facts {
		word := strings.TrimPrefix(f.FactKind(), "tool.task_")
		if x, ok := f.(*Ended); ok {
			word += " " + x.ID + " " + x.Status
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// equal compares states, but for the memory that they have.
func equal(a, b State) bool {
	a.free, b.free = nil, nil
	return reflect.DeepEqual(a, b)
}

// Promises 1 to 3, by hand: a task ends at its moment and once; bounds refuse.
func TestTasks(t *testing.T) {
	s, r := State{}, Rules{Tick: time.Second}
	at := func(n int) protocol.Time { return protocol.Time(n) * protocol.Time(time.Second) }
	answers := map[string]Told{"a": {Answer: &Answer{Output: protocol.Encode("x")}}, "b": {Answer: &Answer{Error: "no", ErrorKind: protocol.KindTimeout}}, "nobody": {Answer: &Answer{}}}
	for _, c := range []struct {
		now      int
		requests []Request
		told     map[string]Told
		want     string
		next     int
	}{
		{10, []Request{open("a", "ada", 5*time.Second), open("b", "ada", 0), open("c", "bo", 0)}, map[string]Told{"c": {After: 9 * time.Second, Timed: true}}, "opened, sent, opened, sent, opened, sent", 11},
		{11, []Request{open("d", "ada", time.Minute), open("e", "ada", 0)}, answers, "ended b timeout, opened, sent, opened, sent", 12},
		{11, []Request{open("f", "ada", 0), cancel("a", "bo"), cancel("e", "ada"), cancel("e", "ada")}, answers, "ended f error, refused, cancelled, refused", 15},
		{15, nil, answers, "ended a ok", 19},
		{19, []Request{cancel("c", "bo")}, map[string]Told{"c": {Answer: &Answer{}}}, "ended c ok, refused", 71},
		{71, nil, nil, "ended d error", 0}, // whoever drives it did not wait
	} {
		folded := s
		facts := s.Decide(r, at(c.now), c.requests, c.told)
		if got := kinds(facts); got != c.want || s.Next() != at(c.next) {
			t.Errorf("at %d: %s, next %s; want %s, %s", c.now, got, s.Next(), c.want, at(c.next))
		}
		for _, f := range facts {
			folded.Apply(f.(Fact))
		}
		if !equal(folded, s) {
			t.Errorf("at %d: folded %+v, decided %+v", c.now, folded, s)
		}
	}
	s, r.Realtime = State{}, true
	s.Decide(r, at(1), []Request{open("a", "ada", 5*time.Second), open("b", "ada", 0)}, nil)
	if got := kinds(s.Decide(r, at(2), nil, map[string]Told{"b": answers["a"]})); got != "ended b ok" || s.Next() != 0 || len(s.Missing(at(9), func(string) bool { return false })) != 0 {
		t.Errorf("realtime: %s", got)
	}
}

// Promise 3: the scene's bound.
func TestMaxOpen(t *testing.T) {
	s, requests := State{}, make([]Request, MaxOpen+1)
	for i := range requests {
		requests[i] = open(fmt.Sprint(i), fmt.Sprint("agent", i), 0)
	}
	facts := s.Decide(Rules{}, 1, requests, nil)
	if x, ok := facts[len(facts)-1].(*Ended); !ok || x.ErrorKind != protocol.KindLimit || s.Len() != MaxOpen {
		t.Errorf("%d are open; %+v", s.Len(), facts[len(facts)-1])
	}
}

// Promise 2, and snapshots: whatever is asked and told, each task ends once, a fold has the same state, and so has
// a restored one.
func TestAnyRequests(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		s, folded, now := State{}, State{}, protocol.Time(1)
		ended := map[string]int{}
		r := Rules{Realtime: rapid.Bool().Draw(t, "realtime"), Tick: 2}
		n := 0
		for range rapid.IntRange(1, 8).Draw(t, "waves") {
			now += protocol.Time(rapid.IntRange(1, 4).Draw(t, "later"))
			var requests []Request
			told := map[string]Told{}
			for range rapid.IntRange(0, 4).Draw(t, "requests") {
				who := rapid.SampledFrom([]string{"ada", "bo"}).Draw(t, "who")
				if rapid.Bool().Draw(t, "cancel") {
					requests = append(requests, cancel(fmt.Sprint(rapid.IntRange(0, n+1).Draw(t, "which")), who))
					continue
				}
				requests = append(requests, open(fmt.Sprint(n), who, time.Duration(rapid.IntRange(0, 9).Draw(t, "after"))))
				n++
			}
			for i := range n {
				if rapid.Bool().Draw(t, "told") {
					told[fmt.Sprint(i)] = Told{Answer: &Answer{Output: protocol.Encode(int64(i)), Artifacts: []tool.Artifact{{ID: "sha256-a"}}}}
				}
			}
			travel(t, requests)
			for _, f := range s.Decide(r, now, requests, told) {
				folded.Apply(readBack(t, codec, f))
				switch x := f.(type) {
				case *Ended:
					ended[x.ID]++
				case *Cancelled:
					ended[x.ID]++
				}
			}
			a, _ := s.Snapshot(codec)
			b, _ := folded.Snapshot(codec)
			restored, err := Restore(codec, a)
			if c, _ := restored.Snapshot(codec); err != nil || !bytes.Equal(a, b) || !bytes.Equal(a, c) {
				t.Fatalf("the states differ: %v", err)
			}
			folded = restored
		}
		for id, n := range ended {
			if n != 1 || s.Task(id) != nil {
				t.Fatalf("task %s ended %d times", id, n)
			}
		}
	})
}

// Copies of a state that both grow do not see each other's tasks.
func TestCopies(t *testing.T) {
	s := State{}
	for i := range 5 {
		s.Decide(Rules{}, 1, []Request{open(fmt.Sprint(i), fmt.Sprint("ada", i), time.Hour)}, nil)
	}
	a, b := s, s
	a.Decide(Rules{}, 2, []Request{open("a", "ada", time.Hour), open("a2", "ada", time.Hour)}, nil)
	b.Decide(Rules{}, 2, []Request{open("b", "bo", time.Hour)}, nil)
	s.Decide(Rules{}, 2, []Request{cancel("1", "ada1"), open("s", "bo", time.Hour)}, nil)
	for _, c := range []struct {
		State
		want string
	}{{a, "0 1 2 3 4 a a2"}, {b, "0 1 2 3 4 b"}, {s, "0 2 3 4 s"}} {
		var ids []string
		for _, x := range c.Open() {
			ids = append(ids, x.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s; want %s", got, c.want)
		}
	}
}

// max_tasks counts what the same wave opens and cancels.
func TestMostOfAWave(t *testing.T) {
	s := State{}
	one := func(id string) Request { q := open(id, "ada", time.Hour); q.Most = 2; return q }
	got := ""
	for _, f := range s.Decide(Rules{}, 1, []Request{one("a"), one("b"), one("c"), cancel("a", "ada"), one("d"), one("e")}, nil) {
		switch x := f.(type) {
		case *Opened:
			got += " +" + x.Task.ID
		case *Ended:
			got += " !" + x.ID
		case *Cancelled:
			got += " -" + x.ID
		}
	}
	if got != " +a +b !c -a +d !e" {
		t.Error(got)
	}
}

// travel encodes requests and reads them again, as on their way to the service.
func travel(t *rapid.T, requests []Request) {
	for i := range requests {
		var err error
		if requests[i], err = ReadRequest(requests[i].AppendMsg(nil)); err != nil {
			t.Fatal(err)
		}
	}
}

// readBack is a fact as the journal gives it.
func readBack(t *rapid.T, codec *protocol.Codec, f protocol.Fact) Fact {
	raw, err := codec.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	back, err := codec.ReadFact(f.FactKind(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return back.(Fact)
}

// A task that was not carried out gives back what it counted, where tools have a budget.
func TestUncharged(t *testing.T) {
	costs := Rules{Tick: time.Second, CostOf: func(tool string) int64 { return int64(len(tool)) }}
	for _, c := range []struct {
		rules  Rules
		answer Answer
		want   string
	}{
		{costs, Answer{Error: "no", ErrorKind: protocol.KindDenied, Latency: time.Minute, Output: protocol.Encode("it")}, "ended a denied, uncharged"},
		{costs, Answer{Error: "no", ErrorKind: protocol.KindLimit, Carried: true}, "ended a error"},
		{costs, Answer{Error: "no", ErrorKind: protocol.KindInternal}, "ended a error"},
		{costs, Answer{}, "ended a ok"},
		{costs, Answer{ErrorKind: protocol.KindDenied}, "ended a ok"}, // it has no error
		{Rules{Tick: time.Second}, Answer{Error: "no", ErrorKind: protocol.KindDenied}, "ended a denied"},
	} {
		s := State{}
		s.Decide(c.rules, 0, []Request{open("a", "ada", 0)}, nil)
		facts := s.Decide(c.rules, protocol.Time(time.Hour), nil, map[string]Told{"a": {Answer: &c.answer}})
		if got := kinds(facts); got != c.want {
			t.Errorf("%+v: %s, want %s", c.answer, got, c.want)
		}
		if len(facts) == 2 && *facts[1].(*Uncharged) != (Uncharged{ID: "a", Agent: "ada", Tool: "paint", Cost: 5, Time: time.Minute, Bytes: 3}) {
			t.Errorf("%+v", facts[1])
		}
	}
}

// A history may say that calls left no room for a task, of which it does not know. That is believed under a budget only, and no task
// behind it has room that costs as much.
func TestNoRoom(t *testing.T) {
	task := func(id string, cost int64) Request {
		q := open(id, "ada", time.Minute)
		q.Cost, q.Most = cost, 0
		return q
	}
	left := func(calls, nano int64) Request { return Request{Left: &Left{Calls: calls, Nano: nano}} }
	for _, c := range []struct {
		requests []Request
		want     string
	}{
		{[]Request{task("b", 5), task("c", 5)}, "opened, sent, opened, sent"},
		{[]Request{left(9, 0), task("b", 5), task("c", 1)}, "ended b error, ended c error"},
		{[]Request{left(9, 90), task("b", 0), task("c", 0)}, "ended b error, ended c error"},
		{[]Request{left(9, 90), task("b", 5), task("c", 5), task("d", 4)}, "ended b error, ended c error, opened, sent"},
		{[]Request{left(9, 90), task("a", 40), task("b", 5), task("d", 1)}, "opened, sent, ended b error, opened, sent"},
		{[]Request{left(9, 90), task("b", 1), task("c", 1)}, "ended b error, ended c error"},
		{[]Request{left(9, 3), task("b", 5), task("c", 3)}, "ended b error, opened, sent"},
		{[]Request{left(9, 3), task("b", 5), task("c", 4)}, "ended b error, ended c error"},
		{[]Request{left(9, 5), task("b", 5), task("c", 5)}, "ended b error, ended c error"},
	} {
		s := State{}
		if got := kinds(s.Decide(Rules{Tick: time.Second}, 0, c.requests, map[string]Told{"b": {NoRoom: true}})); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// The fact of an end has the bytes of its fields in order, as earlier versions wrote it, and Hooks only if there are some.
func TestBytesOfEnded(t *testing.T) {
	type plain struct {
		ID, Agent, Tool, Status string
		Output                  protocol.Raw
		Artifacts               []tool.Artifact
		Latency                 time.Duration
		ErrorKind               protocol.ErrorKind
		Error                   string
		At                      protocol.Time
	}
	codec := protocol.NewCodec(Facts())
	for _, f := range []Ended{
		{}, {ID: "a", Agent: "b", Tool: "c", Status: "ok", Output: protocol.Encode("x"), Artifacts: []tool.Artifact{{ID: "sha256-a", Size: 300, Type: "t", Name: "n"}}, Latency: 1 << 40, ErrorKind: "k", Error: "e", At: -7},
		{Artifacts: []tool.Artifact{}, At: 1 << 50},
	} {
		want, err := codec.Marshal(&plain{f.ID, f.Agent, f.Tool, f.Status, f.Output, f.Artifacts, f.Latency, f.ErrorKind, f.Error, f.At})
		if got := f.AppendMsg(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%x, want %x: %v", got, want, err)
		}
		for _, f.Hooks = range []protocol.Raw{nil, protocol.Encode("changed")} {
			again, err := codec.ReadFact(FactEnded, f.AppendMsg(nil))
			if err != nil || !bytes.Equal(again.(*Ended).AppendMsg(nil), f.AppendMsg(nil)) || !bytes.Equal(again.(*Ended).Hooks, f.Hooks) { //nolint:forcetypeassert // the kind says it
				t.Errorf("%+v, want %+v: %v", again, f, err)
			}
		}
	}
}
