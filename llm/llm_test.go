package llm

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tavernsim/protocol"
)

func TestOutcomes(t *testing.T) {
	cases := []struct {
		outcome Outcome
		kind    protocol.ErrorKind
		again   bool
	}{
		{OutcomeOK, protocol.KindInternal, false},
		{OutcomeRateLimited, protocol.KindTransient, true},
		{OutcomeQuota, protocol.KindLimit, false},
		{OutcomeAuth, protocol.KindDenied, false},
		{OutcomeTimeout, protocol.KindTimeout, true},
		{OutcomeServerError, protocol.KindTransient, true},
		{OutcomeTruncated, protocol.KindTransient, true},
		{OutcomeContext, protocol.KindContext, false},
		{OutcomeBadOutput, protocol.KindTransient, false},
		{OutcomeBadRequest, protocol.KindInvalid, false},
		{OutcomeUnavailable, protocol.KindTransient, false},
		{OutcomeBudget, protocol.KindLimit, false},
		{OutcomeCancelled, protocol.KindCancelled, false},
		{OutcomeClosed, protocol.KindUnknown, false},
	}
	if len(cases) != len(Outcomes()) {
		t.Errorf("%d cases for %d outcomes", len(cases), len(Outcomes()))
	}
	for i, c := range cases {
		if c.outcome != Outcomes()[i] || c.outcome.AskAgain() != c.again {
			t.Errorf("%s: asked again %v", c.outcome, c.outcome.AskAgain())
		}
		err := fmt.Errorf("agent: %w", &Failure{Outcome: c.outcome, Message: "x"})
		if OutcomeOf(err) != c.outcome || protocol.KindOf(err) != c.kind {
			t.Errorf("%s: outcome %s, kind %s", c.outcome, OutcomeOf(err), protocol.KindOf(err))
		}
	}
	for err, want := range map[error]Outcome{nil: OutcomeOK, context.Canceled: OutcomeCancelled, context.DeadlineExceeded: OutcomeTimeout, errors.New("x"): OutcomeServerError} {
		if got := OutcomeOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := Stopped(ctx, "p"); err != nil {
		t.Errorf("running: %v", err)
	}
	why := errors.New("scene ended")
	cancel(why)
	if err := Stopped(ctx, "p"); OutcomeOf(err) != OutcomeCancelled || !errors.Is(err, why) || err.Error() != "p: cancelled" {
		t.Errorf("cancelled: %v", err)
	}
	late, cancel2 := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel2()
	if err := Stopped(late, "p"); OutcomeOf(err) != OutcomeTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
}

type named struct {
	Provider
	name string
}

func (n named) Name() string {
	if n.Provider == nil {
		return n.name
	}
	return n.name + " " + n.Provider.Name()
}

type once struct{ named }

func (once) MayRepeat(req *protocol.ModelRequest) bool { return req.JSON }

type open struct{ named }

func (o open) Unwrap() Provider { return o.Provider }

func TestMayRepeat(t *testing.T) {
	once := once{named{name: "once"}}
	for _, c := range []struct {
		name string
		p    Provider
		json bool
		want bool
	}{
		{"says nothing", named{name: "model"}, false, true},
		{"says no", once, false, false},
		{"says yes to one kind of request", once, true, true},
		{"wrapped and shown", open{named{open{named{once, "limit"}}, "retry"}}, false, false},
		{"wrapped and hidden", named{once, "retry"}, false, true},
	} {
		if got := MayRepeat(c.p, &protocol.ModelRequest{JSON: c.json}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDeliver(t *testing.T) {
	a := &protocol.ModelAnswer{Text: "t", Reasoning: "r", Calls: []protocol.Call{{ID: "1"}, {ID: "2"}}}
	if err := Deliver(a, nil); err != nil {
		t.Error(err)
	}
	var got string
	sink := func(c Chunk) error {
		got += c.Reasoning + c.Text
		if c.Call != nil {
			got += c.Call.ID
		}
		return nil
	}
	if err := Deliver(a, sink); err != nil || got != "rt12" {
		t.Errorf("%q, %v", got, err)
	}
	full := errors.New("full")
	calls := 0
	for _, at := range []int{1, 2} {
		calls = 0
		err := Deliver(a, func(Chunk) error {
			if calls++; calls == at {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || calls != at {
			t.Errorf("%d: %v after %d chunks", at, err, calls)
		}
	}
	if err := Deliver(&protocol.ModelAnswer{}, func(Chunk) error { return full }); err != nil {
		t.Errorf("an empty answer has no chunk: %v", err)
	}
}
