package outside

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// What answers take is bounded, also if they are short.
func TestKeptAnswersAreBounded(t *testing.T) {
	var s shares
	for i := range mostShared/besideShared + 1000 {
		c := &call{same: same{question: Question(fmt.Sprint(i))}}
		s.enter(c, limit.Normal)
		s.answered(c, protocol.Raw{0})
	}
	if n := len(s.answers); n != len(s.order) || n > mostShared/besideShared || len(s.open) > 0 || s.bytes > mostShared {
		t.Errorf("%d answers, %d in order, %d bytes, %d questions without an answer", n, len(s.order), s.bytes, len(s.open))
	}
}

// asksNobody has one answer for all, and asks nobody.
type asksNobody struct{ at *gate.Gate }

func (asksNobody) Name() string                                      { return "nobody" }
func (asksNobody) Close() error                                      { return nil }
func (asksNobody) Alike(*protocol.ModelRequest) string               { return "all" }
func (asksNobody) Shared(*protocol.ModelAnswer)                      {}
func (p asksNobody) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return p.at, 1 }
func (asksNobody) Complete(context.Context, *protocol.ModelRequest, llm.Sink) (x protocol.ModelAnswer, err error) {
	return x, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "it was asked"}
}

// An answer that comes when a call is about to wait at its gate is the answer to that, too.
func TestAnAnswerJustBeforeTheGate(t *testing.T) {
	p := asksNobody{gate.New("cloud", limit.Options{Concurrency: 1, Fixed: true, Kept: -1})}
	r, err := New([]Entry{{Kind: effect.KindModel, Executor: Model(p, nil)}}, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *effect.Answered, 1)
	c := &call{runner: r, to: r.kinds[effect.KindModel], ask: effect.Ask{Kind: effect.KindModel}, ctx: t.Context(), then: func(x *effect.Answered) { got <- x }}
	r.done.Add(1)
	r.under.Add(1)
	c.gate, c.Owner, c.waiting = p.at, c, time.Now()
	p.at.Enter(&limit.Call{Owner: &call{runner: r, to: c.to, gate: p.at, phase: ended}}, 0, time.Hour) // it has the slot
	if c.follow(limit.Normal) {
		t.Fatal("it waits for nobody")
	}
	r.shares.answered(&call{same: c.same}, (&effect.Answered{Kind: effect.KindModel, Model: protocol.ModelAnswer{Text: "yes"}}).AppendMsg(nil))
	c.await(false)
	if x := <-got; x.Err != nil || x.Model.Text != "yes" {
		t.Errorf("%+v", x)
	}
}

// The turn takes an answer that is there or to come, and the failure of a call that must not be repeated. A request to a model has
// none of that kind.
func TestWhatATurnMayTake(t *testing.T) {
	for _, c := range []struct {
		p    place
		want bool
	}{
		{place{answer: 1}, true}, {place{flight: &Flight{}}, true}, {place{}, true}, {place{repeat: true}, false}, {place{key: placeKey{kind: effect.KindModel}}, false},
	} {
		if c.p.kept() != c.want {
			t.Errorf("%+v: %t", &c.p, !c.want)
		}
	}
}
