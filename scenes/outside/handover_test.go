package outside_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// pair is a provider of two endpoints. The first refuses every request, at no cost; the second
// answers it when it may.
type pair struct {
	gates [2]*gate.Gate
	asked [2]chan struct{}
	may   chan struct{}

	closes bool // the first one refuses by its quota, and its gate is closed from then on
}

func newPair() *pair {
	p := &pair{may: make(chan struct{})}
	for i, name := range []string{"near", "far"} {
		p.gates[i], p.asked[i] = gate.New(name, limit.Options{}), make(chan struct{}, 10)
	}
	return p
}

// at is the endpoint that a request has come to.
func at(q *protocol.ModelRequest) int {
	i, _ := q.Chosen.(int)
	return i
}

// Name implements llm.Provider.
func (*pair) Name() string { return "pair" }

// Close implements llm.Provider.
func (*pair) Close() error { return nil }

// Gate implements gate.Gated.
func (p *pair) Gate(q *protocol.ModelRequest) (*gate.Gate, int64) { return p.gates[at(q)], 10 }

// Route implements llm.Router.
func (p *pair) Route(q *protocol.ModelRequest) llm.Route {
	return llm.Route{Endpoint: p.gates[at(q)].Name()}
}

// Next implements llm.Router.
func (p *pair) Next(q *protocol.ModelRequest, _ *protocol.ModelAnswer, _ error) (llm.Route, bool) {
	if at(q) == 1 {
		return llm.Route{}, false
	}
	q.Chosen = 1
	return p.Route(q), true
}

// AppendChoice implements llm.Router.
func (*pair) AppendChoice(b []byte, q *protocol.ModelRequest) []byte { return append(b, byte(at(q))) }

// Now implements llm.Router.
func (*pair) Now(*protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{}, nil
}

// Complete implements llm.Provider.
func (p *pair) Complete(ctx context.Context, q *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	i := at(q)
	p.asked[i] <- struct{}{}
	o := &protocol.ModelOrigin{Endpoint: p.gates[i].Name()}
	if i == 0 && p.closes {
		return protocol.ModelAnswer{Origin: o}, &llm.Failure{Outcome: llm.OutcomeQuota, Message: "no more"}
	}
	if i == 0 {
		return protocol.ModelAnswer{Origin: o}, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no"}
	}
	select {
	case <-p.may:
		return protocol.ModelAnswer{Text: "far", Usage: protocol.Usage{Input: 3, Output: 4}, Origin: o}, nil
	case <-ctx.Done():
		return protocol.ModelAnswer{Origin: o}, llm.Stopped(ctx, "far")
	}
}

// under is the bound of a request that may come to both.
func under() *llm.Bound {
	return &llm.Bound{Input: 10, Output: 90, Priced: true, Parts: []llm.Part{{Endpoint: "near", Tokens: 100, First: true}, {Endpoint: "far", Tokens: 70}}}
}

// beginPair lets a request of agent a go out, and gives its answer when there is one.
func beginPair(ctx context.Context, r *outside.Runner, from outside.From) <-chan *effect.Answered {
	got := make(chan *effect.Answered, 1)
	from.Agent, from.Turn = "a", 1
	go func() { got <- ask(ctx, r, from, protocol.NewDraw(1)) }()
	return got
}

// killedAtSecond is what a kill leaves while the second endpoint is asked.
func killedAtSecond(t *testing.T, s *shelf, p *pair, r *outside.Runner) pebbledb.FS {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	got := beginPair(ctx, r, outside.From{Bound: under()})
	<-p.asked[1]
	left := crash(t, s.fs)
	end()
	<-got
	r.Wait()
	s.close(t)
	return left
}

func pairTable(t *testing.T, p *pair, s *shelf) *outside.Runner {
	r := table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(p, nil)})
	r.Log = s.log
	return r
}

// A kill after the first endpoint failed, before the second one answered: what may have been charged
// is what the second one may have taken, once, and the request is made again from the first one on.
// Then its answer alone counts beside that.
func TestKilledInAHandOver(t *testing.T) {
	s, p := open(t, persistencetest.NewCrashDisk(), outside.Options{}), newPair()
	r := pairTable(t, p, s)
	left := killedAtSecond(t, s, p, r)

	s, p = open(t, left, outside.Options{}), newPair()
	want := []outside.Lost{{Agent: "a", Request: 1, Most: outside.Most{Endpoint: "far", Tokens: 70, Moved: true}}}
	if lost := s.log.Lost("a", 1); !slices.Equal(lost, want) {
		t.Errorf("%+v, want %+v", lost, want)
	}
	if x := want[0].Answered(); x.Number != 1 || llm.OutcomeOf(x.Err) != llm.OutcomeCancelled {
		t.Errorf("%+v", x)
	} else if took, _ := budget.Taken(&x.Model); took != (budget.Amount{Tokens: 70, Calls: 1}) {
		t.Error(took)
	}
	r = pairTable(t, p, s)
	close(p.may)
	x := <-beginPair(t.Context(), r, outside.From{Bound: under()})
	if took, _ := budget.Taken(&x.Model); x.Err != nil || x.Model.Text != "far" || took != (budget.Amount{Tokens: 7, Calls: 1}) {
		t.Errorf("%+v, %v", x, took)
	}
	if lost := s.log.Lost("a", 1); !slices.Equal(lost, want) || len(p.asked[0]) != 1 || len(p.asked[1]) != 1 {
		t.Errorf("%+v, asked %d and %d times", lost, len(p.asked[0]), len(p.asked[1]))
	}
	r.Wait()
	s.close(t)
}

// Where the gate of the first endpoint refuses the request, nobody was asked before: what a kill leaves
// is charged to the second one.
func TestKilledAfterARefusalAtTheGate(t *testing.T) {
	s, p := open(t, persistencetest.NewCrashDisk(), outside.Options{}), newPair()
	p.closes = true
	r := pairTable(t, p, s)
	x := ask(t.Context(), r, outside.From{Agent: "b", Turn: 1, Barred: []string{"far"}}, protocol.NewDraw(2))
	if protocol.KindOf(x.Err) != protocol.KindLimit {
		t.Errorf("%+v", x) // the gate of the first one is closed now
	}
	left := killedAtSecond(t, s, p, r)

	s = open(t, left, outside.Options{})
	defer s.close(t)
	want := []outside.Lost{{Agent: "a", Request: 1, Most: outside.Most{Endpoint: "far", Tokens: 70}}}
	if lost := s.log.Lost("a", 1); !slices.Equal(lost, want) || len(p.asked[0]) != 1 {
		t.Errorf("%+v, want %+v; the first one was asked %d times", lost, want, len(p.asked[0]))
	}
}

// A deliberation that ends there gets no answer, asks nobody else, and leaves the request as one that
// was out; both gates have their slots back.
func TestCancelledInAHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := open(t, persistencetest.NewCrashDisk(), outside.Options{}), newPair()
		defer s.close(t)
		r := pairTable(t, p, s)
		ctx, end := context.WithCancel(t.Context())
		got := beginPair(ctx, r, outside.From{Bound: under()})
		<-p.asked[1]
		end()
		if x := <-got; protocol.KindOf(x.Err) != protocol.KindCancelled {
			t.Errorf("%+v", x)
		}
		r.Wait()
		if lost := s.log.Lost("a", 1); len(lost) != 1 || lost[0].Endpoint != "far" || s.count("answered") != 0 || len(p.asked[0]) != 1 {
			t.Errorf("%+v, %d answered", lost, s.count("answered"))
		}
		synctest.Wait()
		for _, g := range p.gates {
			if l := g.Load(); l.Out != 0 {
				t.Errorf("%s: %+v", g.Name(), l)
			}
		}
	})
}

// A fallback whose endpoint has no room is passed over.
func TestBarredHandOver(t *testing.T) {
	s, p := open(t, persistencetest.NewCrashDisk(), outside.Options{}), newPair()
	defer s.close(t)
	r := pairTable(t, p, s)
	x := <-beginPair(t.Context(), r, outside.From{Bound: under(), Barred: []string{"far"}})
	if took, _ := budget.Taken(&x.Model); llm.OutcomeOf(x.Err) == llm.OutcomeOK || protocol.KindOf(x.Err) != protocol.KindLimit || took != (budget.Amount{}) || len(p.asked[1]) != 0 {
		t.Errorf("%+v, %v", x, took)
	}
	r.Wait()
	if lost := s.log.Lost("a", 1); len(lost) != 0 {
		t.Errorf("%+v", lost)
	}
}
