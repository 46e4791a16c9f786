package outside_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// oracleOf is an endpoint of which requests with the same text are alike. Its answers take a second and are numbered.
type oracleOf struct {
	gate *gate.Gate
	fail func(n int, q *protocol.ModelRequest) *llm.Failure // of the nth request, from 1; may be nil
	lost int                                                // request whose failure may have cost something
	cut  int                                                // request whose answer is filtered

	mu     sync.Mutex
	sent   []string // agents
	shared int
}

func (*oracleOf) Name() string { return "oracle" }
func (*oracleOf) Close() error { return nil }

func (o *oracleOf) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return o.gate, 1 }

func (*oracleOf) Alike(q *protocol.ModelRequest) string { return q.Messages[0].Text }

func (o *oracleOf) Shared(*protocol.ModelAnswer) {
	o.mu.Lock()
	o.shared++
	o.mu.Unlock()
}

func (o *oracleOf) Complete(ctx context.Context, q *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	o.mu.Lock()
	o.sent = append(o.sent, q.Agent)
	n := len(o.sent)
	o.mu.Unlock()
	if err := llm.Wait(ctx, "oracle", time.Second); err != nil {
		return protocol.ModelAnswer{}, err
	}
	if o.fail != nil {
		if f := o.fail(n, q); f != nil {
			x := protocol.ModelAnswer{}
			if n == o.lost {
				x.Origin = &protocol.ModelOrigin{Endpoint: "cloud", Budget: &protocol.ModelBudget{Lost: 1}}
			}
			return x, f
		}
	}
	x := protocol.ModelAnswer{Text: fmt.Sprint("answer ", n), Finish: protocol.FinishStop, Origin: &protocol.ModelOrigin{Endpoint: "cloud"}}
	if n == o.cut {
		x.Finish = protocol.FinishFiltered
	}
	return x, nil
}

// asker lets agents ask the same; one that fails asks no more.
type asker struct {
	*shelf
	runner *outside.Runner
	wg     sync.WaitGroup
	mu     sync.Mutex
	got    map[string]string
}

func (a *asker) ask(ctx context.Context, agent string, class limit.Class) {
	a.askAt(ctx, outside.From{Agent: agent, Class: class}, "What now?", 0)
}

func (a *asker) askAt(ctx context.Context, from outside.From, text string, wait time.Duration) {
	agent := from.Agent
	q := &effect.Ask{Kind: effect.KindModel, Number: 1, Wait: wait, Model: protocol.ModelRequest{Agent: agent, Messages: []protocol.ModelMessage{{Text: text}}}}
	from.Scene, from.Turn, from.Virtual = "s", 1, true
	a.wg.Add(1)
	a.runner.Go(ctx, from, q, func(x *effect.Answered) {
		defer a.wg.Done()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.got[agent] = x.Model.Text; x.Err != nil {
			a.got[agent] = string(protocol.KindOf(x.Err))
		}
	})
}

func alikeAt(t *testing.T, o *oracleOf, opt limit.Options) *asker {
	t.Helper()
	o.gate = gate.New("cloud", opt)
	return askerOf(t, o)
}

func askerOf(t *testing.T, p llm.Provider) *asker {
	t.Helper()
	a := &asker{runner: table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(p, nil)}), got: map[string]string{}}
	a.shelf = open(t, persistencetest.MemDisk(), outside.Options{})
	a.runner.Log = a.log
	return a
}

func (a *asker) all(n int) {
	for i := range n {
		a.ask(context.Background(), fmt.Sprint(i), limit.Normal)
	}
}

// have counts the agents by what they got.
func (a *asker) have() (n map[string]int) {
	a.wg.Wait()
	n = map[string]int{}
	for _, text := range a.got {
		n[text]++
	}
	return n
}

// Promise 8: one of those who ask the same is sent, those who ask later get the answer at once.
func TestOneAsksForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{}
		a := alikeAt(t, o, limit.Options{Requests: 60})
		defer a.close(t)
		begun := time.Now()
		a.all(500)
		if n := a.have(); n["answer 1"] != 500 {
			t.Error(n)
		}
		a.ask(t.Context(), "later", limit.Normal)
		if n := a.have(); n["answer 1"] != 501 || a.count("shared") != 500 || a.count("answered") != 501 || len(o.sent) != 1 || o.shared != 500 || time.Since(begun) != time.Second {
			t.Errorf("%v; sent by %v, shared %d times, after %s", n, o.sent, o.shared, time.Since(begun))
		}
		for agent, want := range map[string]time.Duration{"0": time.Second, "499": time.Second, "later": 0} {
			if took := a.log.Ended(agent, 1, 1).Took; took != want {
				t.Errorf("the answer to %s took %s, want %s", agent, took, want)
			}
		}
	})
}

// A failure is its request's alone: then each asks for itself, until one has an answer. Requests that have not left by
// then get that.
func TestAFailureIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{fail: func(n int, _ *protocol.ModelRequest) *llm.Failure {
			switch n {
			case 1:
				return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no"}
			case 2:
				return &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "busy", RetryAfter: time.Hour / 2}
			}
			return nil
		}}
		a := alikeAt(t, o, limit.Options{Concurrency: 4, Fixed: true, Kept: -1})
		defer a.close(t)
		a.all(500)
		begun := time.Now()
		// Four leave when the first has failed; one of them is refused and pauses, and the ends of the others may let out three more.
		if n := a.have(); n["invalid"] != 1 || len(o.sent) > 8 || o.shared+len(o.sent) != 501 || time.Since(begun) > time.Minute {
			t.Errorf("%v; %d were sent, %d got an answer of theirs, in %s", n, len(o.sent), o.shared, time.Since(begun))
		}
	})
}

// An answer that is filtered is its request's alone, too. A failure that may have cost something stays one, though another one
// has an answer: its fact says what it cost.
func TestWhatIsNotShared(t *testing.T) {
	for name, c := range map[string]struct {
		o    *oracleOf
		sent int
		want map[string]int
	}{
		"filtered": {&oracleOf{cut: 1}, 2, map[string]int{"answer 1": 1, "answer 2": 2}},
		"costly": {&oracleOf{lost: 2, fail: func(n int, _ *protocol.ModelRequest) *llm.Failure {
			switch n {
			case 1:
				return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no"}
			case 2:
				<-time.After(time.Second) // another one is answered meanwhile
				return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no, and it counts"}
			}
			return nil
		}}, 3, map[string]int{"invalid": 2, "answer 3": 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			slots := 3
			if c.o.cut > 0 {
				slots = 1
			}
			a := alikeAt(t, c.o, limit.Options{Concurrency: slots, Fixed: true, Kept: -1})
			defer a.close(t)
			a.all(3)
			if n := a.have(); !maps.Equal(n, c.want) || len(c.o.sent) != c.sent {
				t.Errorf("%s: %v; %d were sent", name, n, len(c.o.sent))
			}
		})
	}
}

// If the one that asks is interrupted, another one asks in its place, whether it was sent or not.
func TestWhoAsksIsInterrupted(t *testing.T) {
	for _, sent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := &oracleOf{}
			a := alikeAt(t, o, limit.Options{Concurrency: 2, Fixed: true, Kept: -1})
			defer a.close(t)
			before := 0
			for ; !sent && before < 2; before++ { // all slots are taken
				q := protocol.ModelRequest{Messages: []protocol.ModelMessage{{Text: fmt.Sprint("Another ", before)}}}
				a.runner.Go(t.Context(), outside.From{Agent: "first", Turn: uint64(before), Virtual: true}, &effect.Ask{Kind: effect.KindModel, Number: 1, Model: q}, func(*effect.Answered) {})
			}
			ctx, cancel := context.WithCancel(t.Context())
			a.ask(ctx, "interrupted", limit.Normal)
			a.all(20)
			<-time.After(500 * time.Millisecond)
			cancel()
			n := a.have()
			if n["cancelled"] != 1 || n[fmt.Sprint("answer ", len(o.sent))] != 20 || len(o.sent) != max(2, before+1) {
				t.Errorf("sent %v: %v; by %v", sent, n, o.sent)
			}
			if waits := o.gate.Load(); waits.Out != 0 || waits.Waiting != [4]int{} {
				t.Errorf("sent %v: %+v", sent, waits)
			}
		})
	}
}

// One that is more urgent than who waits in the gate asks itself, and the others get its answer.
func TestTheMostUrgentAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{}
		a := alikeAt(t, o, limit.Options{Concurrency: 1, Fixed: true, Kept: -1})
		defer a.close(t)
		a.runner.Go(t.Context(), outside.From{Agent: "first", Virtual: true}, &effect.Ask{Kind: effect.KindModel, Number: 1, Model: protocol.ModelRequest{Messages: []protocol.ModelMessage{{Text: "Another"}}}}, func(*effect.Answered) {})
		for _, class := range []limit.Class{limit.Background, limit.Normal, limit.Urgent, limit.Normal} {
			a.ask(t.Context(), class.String(), class)
		}
		if n := a.have(); n["answer 2"] != 3 || !slices.Equal(o.sent[1:], []string{"urgent"}) {
			t.Errorf("%v; sent by %v", n, o.sent)
		}
		synctest.Wait()
		if waits := o.gate.Load(); waits.Out != 0 || waits.Waiting != [4]int{} {
			t.Errorf("%+v", waits)
		}
	})
}

// Calls wait only for one of their own class; of these the one of the earliest moment asks next.
func TestWhoAsksNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{}
		a := alikeAt(t, o, limit.Options{Concurrency: 1, Fixed: true, Kept: -1})
		defer a.close(t)
		a.askAt(t.Context(), outside.From{Agent: "first", Class: limit.Normal}, "Another", 0)
		ctx, cancel := context.WithCancel(t.Context())
		a.ask(ctx, "interrupted", limit.Normal)
		a.ask(t.Context(), "background", limit.Background)
		for _, at := range []protocol.Time{30, 20, 40} {
			a.askAt(t.Context(), outside.From{Agent: fmt.Sprint(at), At: at, Class: limit.Normal}, "What now?", 0)
		}
		a.askAt(t.Context(), outside.From{Agent: "other", At: 25, Class: limit.Normal}, "Other", 0)
		<-time.After(500 * time.Millisecond)
		cancel()
		if n := a.have(); n["answer 2"] != 4 || !slices.Equal(o.sent, []string{"first", fmt.Sprint(protocol.Time(20)), "other"}) {
			t.Errorf("%v; sent by %v", n, o.sent)
		}
	})
}

// Nobody waits for the pause of another one.
func TestWhoPausesLeadsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{}
		a := alikeAt(t, o, limit.Options{Concurrency: 8, Fixed: true, Kept: -1})
		defer a.close(t)
		begun := time.Now()
		a.askAt(t.Context(), outside.From{Agent: "pauses"}, "What now?", 30*time.Second)
		a.all(3)
		if n := a.have(); n["answer 1"] != 4 || time.Since(begun) != time.Second {
			t.Errorf("%v after %s", n, time.Since(begun))
		}
	})
}

// routed is an oracle behind a route: who finds no slot within 3 seconds, and who fails, goes on to a second model.
type routed struct {
	*oracleOf
	fallback bool
}

func (routed) Route(*protocol.ModelRequest) llm.Route {
	return llm.Route{Endpoint: "cloud", Patience: 3 * time.Second}
}

func (r routed) Next(q *protocol.ModelRequest, _ *protocol.ModelAnswer, _ error) (llm.Route, bool) {
	if !r.fallback || q.Chosen != nil {
		return llm.Route{}, false
	}
	q.Chosen = "second"
	return llm.Route{Endpoint: "second"}, true
}

func (r routed) Alike(q *protocol.ModelRequest) string {
	if q.Chosen == nil && r.fallback {
		return "" // the first model is faulty, say
	}
	return r.oracleOf.Alike(q)
}

func (routed) AppendChoice(b []byte, _ *protocol.ModelRequest) []byte { return b }

func (routed) Now(*protocol.ModelRequest) (x protocol.ModelAnswer, err error) { return x, nil }

// What a call waited for another one that was out is no wait for a slot.
func TestPatienceOfThoseWhoWaitForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{gate: gate.New("cloud", limit.Options{Concurrency: 4, Fixed: true, Kept: -1})}
		o.fail = func(n int, _ *protocol.ModelRequest) *llm.Failure {
			if n == 1 {
				<-time.After(5 * time.Second)
				return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no"}
			}
			return nil
		}
		a := askerOf(t, routed{o, false})
		defer a.close(t)
		a.all(8)
		if n := a.have(); n["invalid"] != 1 || n["transient"] != 0 || len(n) < 2 {
			t.Error(n)
		}
	})
}

// Calls that have failed at one model share the answer of the next one.
func TestFallbacksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracleOf{gate: gate.New("cloud", limit.Options{Concurrency: 64, Fixed: true, Kept: -1})}
		o.fail = func(n int, q *protocol.ModelRequest) *llm.Failure {
			if q.Chosen == nil {
				return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no"}
			}
			return nil
		}
		a := askerOf(t, routed{o, true})
		defer a.close(t)
		a.all(40)
		if n := a.have(); n["answer 41"] != 40 || len(o.sent) != 41 || o.shared != 39 {
			t.Errorf("%v; %d were sent, %d got an answer of theirs", n, len(o.sent), o.shared)
		}
	})
}
