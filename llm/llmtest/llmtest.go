// Package llmtest contains the suite that every provider must pass: the numbered
// promises of package llm, each a subtest.
//
// [Run] takes a function that makes a fresh provider which answers every request
// of the suite. Requests differ in their content; see [Options].
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Options tell the suite what the provider under test can be made to do. A nil
// function skips its tests.
type Options struct {
	// New makes a provider. The suite closes it.
	New func(t *testing.T) llm.Provider
	// Plain is a request that is answered with text. Required.
	Plain func() *protocol.ModelRequest
	// Calls is a request that is answered with native calls.
	Calls func() *protocol.ModelRequest
	// Slow is a request whose answer takes at least ten seconds.
	Slow func() *protocol.ModelRequest
}

// Run runs the suite.
func Run(t *testing.T, o Options) {
	for name, test := range map[string]func(*testing.T, Options, llm.Provider){
		"1 answers":              answers,
		"1 cancelled before":     cancelledBefore,
		"1 cancelled while":      cancelledWhile,
		"1 deadline":             deadline,
		"2 request is only read": readOnly,
		"2 concurrent":           concurrent,
		"3 chunks are the text":  chunks,
		"3 chunks are the calls": callChunks,
		"3 sink error":           sinkError,
		"5 calls have ids":       callIDs,
		"6 request timeout":      requestTimeout,
		"close twice":            closeTwice,
		"close ends calls":       closeEndsCalls,
		"instant":                instant,
	} {
		t.Run(name, func(t *testing.T) {
			p := o.New(t)
			defer func() {
				if err := p.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			test(t, o, p)
		})
	}
}

func complete(t *testing.T, p llm.Provider, req *protocol.ModelRequest, sink llm.Sink) protocol.ModelAnswer {
	t.Helper()
	a, err := p.Complete(context.Background(), req, sink)
	if err != nil {
		t.Fatalf("complete: %v", err)
	}
	return a
}

func answers(t *testing.T, o Options, p llm.Provider) {
	a := complete(t, p, o.Plain(), nil)
	if a.Text == "" || a.Finish != llmFinish(a) || a.Model == "" || a.Usage.Input <= 0 || a.Usage.Output <= 0 {
		t.Errorf("answer %+v; want text, model, finish and usage", a)
	}
	if p.Name() == "" {
		t.Error("the provider has no name")
	}
}

func llmFinish(a protocol.ModelAnswer) protocol.FinishReason {
	switch a.Finish {
	case protocol.FinishStop, protocol.FinishLength, protocol.FinishToolCalls, protocol.FinishFiltered:
		return a.Finish
	}
	return "a known reason"
}

func wantFailure(t *testing.T, err error, want llm.Outcome) {
	t.Helper()
	var f *llm.Failure
	if !errors.As(err, &f) || f.Outcome != want || protocol.KindOf(err) != want.Kind() {
		t.Errorf("error %v (%s, kind %s); want outcome %s", err, llm.OutcomeOf(err), protocol.KindOf(err), want)
	}
}

func cancelledBefore(t *testing.T, o Options, p llm.Provider) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Complete(ctx, o.Plain(), nil)
	wantFailure(t, err, llm.OutcomeCancelled)
}

func cancelledWhile(t *testing.T, o Options, p llm.Provider) {
	if o.Slow == nil {
		t.Skip("no slow request")
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	start := time.Now()
	_, err := p.Complete(ctx, o.Slow(), nil)
	wantFailure(t, err, llm.OutcomeCancelled)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("returned %s after the start", d)
	}
}

func deadline(t *testing.T, o Options, p llm.Provider) {
	if o.Slow == nil {
		t.Skip("no slow request")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Complete(ctx, o.Slow(), nil)
	wantFailure(t, err, llm.OutcomeTimeout)
}

func requestTimeout(t *testing.T, o Options, p llm.Provider) {
	if o.Slow == nil {
		t.Skip("no slow request")
	}
	req := o.Slow()
	req.Timeout = 20 * time.Millisecond
	start := time.Now()
	_, err := p.Complete(context.Background(), req, nil)
	wantFailure(t, err, llm.OutcomeTimeout)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("returned %s after the start", d)
	}
}

func readOnly(t *testing.T, o Options, p llm.Provider) {
	req := o.Plain()
	complete(t, p, req, nil)
	if want := o.Plain(); !reflect.DeepEqual(req, want) {
		t.Errorf("the request is now %+v; was %+v", req, want)
	}
}

func concurrent(t *testing.T, o Options, p llm.Provider) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := p.Complete(context.Background(), o.Plain(), nil); err != nil {
					t.Errorf("complete: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func chunks(t *testing.T, o Options, p llm.Provider) {
	var text, reasoning strings.Builder
	returned := false
	a := complete(t, p, o.Plain(), func(c llm.Chunk) error {
		if returned {
			t.Error("a chunk came after the answer")
		}
		text.WriteString(c.Text)
		reasoning.WriteString(c.Reasoning)
		return nil
	})
	returned = true
	if text.String() != a.Text || reasoning.String() != a.Reasoning {
		t.Errorf("chunks %q %q; answer %q %q", text.String(), reasoning.String(), a.Text, a.Reasoning)
	}
}

func callChunks(t *testing.T, o Options, p llm.Provider) {
	if o.Calls == nil {
		t.Skip("no request with calls")
	}
	var calls []protocol.Call
	a := complete(t, p, o.Calls(), func(c llm.Chunk) error {
		if c.Call != nil {
			calls = append(calls, *c.Call)
		}
		return nil
	})
	if fmt.Sprint(calls) != fmt.Sprint(a.Calls) {
		t.Errorf("chunks %v; answer %v", calls, a.Calls)
	}
}

func sinkError(t *testing.T, o Options, p llm.Provider) {
	full := errors.New("sink is full")
	if _, err := p.Complete(context.Background(), o.Plain(), func(llm.Chunk) error { return full }); !errors.Is(err, full) {
		t.Errorf("error %v; want the sink's", err)
	}
}

func callIDs(t *testing.T, o Options, p llm.Provider) {
	if o.Calls == nil {
		t.Skip("no request with calls")
	}
	a := complete(t, p, o.Calls(), nil)
	seen := map[string]bool{}
	for _, c := range a.Calls {
		if c.ID == "" || seen[c.ID] || c.Tool == "" || c.Origin != protocol.OriginNative {
			t.Errorf("call %+v; want a unique id, a tool and origin native", c)
		}
		seen[c.ID] = true
	}
	if len(a.Calls) == 0 || a.Finish != protocol.FinishToolCalls {
		t.Errorf("%d calls, finish %q", len(a.Calls), a.Finish)
	}
}

func closeEndsCalls(t *testing.T, o Options, p llm.Provider) {
	if o.Slow == nil {
		t.Skip("no slow request")
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = p.Close() }) // the suite sees its error when it closes again
	start := time.Now()
	_, err := p.Complete(context.Background(), o.Slow(), nil)
	wantFailure(t, err, llm.OutcomeClosed)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("returned %s after the start", d)
	}
}

func closeTwice(t *testing.T, o Options, p llm.Provider) {
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	_, err := p.Complete(context.Background(), o.Plain(), nil)
	wantFailure(t, err, llm.OutcomeClosed)
}

func instant(t *testing.T, o Options, p llm.Provider) {
	in, ok := p.(llm.Instant)
	if !ok {
		t.Skip("not an Instant")
	}
	requests := []func() *protocol.ModelRequest{o.Plain}
	if o.Calls != nil {
		requests = append(requests, o.Calls)
	}
	for _, req := range requests {
		first, err := in.Answer(req())
		if err != nil {
			t.Fatal(err)
		}
		again, _ := in.Answer(req())
		full := complete(t, p, req(), nil)
		if !reflect.DeepEqual(first, again) || first.Text != full.Text || fmt.Sprint(first.Calls) != fmt.Sprint(full.Calls) {
			t.Errorf("answers differ:\n%+v\n%+v\n%+v", first, again, full)
		}
	}
}
