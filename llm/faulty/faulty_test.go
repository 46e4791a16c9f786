package faulty

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Promise 1: the fault depends on chance, file and attempt, and on nothing else.
func TestDrawIsRepeated(t *testing.T) {
	f := &Faults{Timeout: 0.3, Length: 0.3}
	name := func(q protocol.ModelRequest, file string) string {
		if x := f.Draw(file, &q); x != nil {
			return x.name
		}
		return ""
	}
	others := map[string]int{}
	for i := range 300 {
		q := protocol.ModelRequest{Draw: protocol.NewDraw(uint64(i))}
		p := q
		p.Agent, p.Messages = "bo", []protocol.ModelMessage{{Text: "x"}}
		if name(q, "a") != name(p, "a") {
			t.Fatal("the fault depends on more than chance, file and attempt")
		}
		p.Attempt = 2
		if name(q, "a") != name(p, "a") {
			others["attempt"]++
		}
		if name(q, "a") != name(q, "b") {
			others["file"]++
		}
	}
	if others["attempt"] < 100 || others["file"] < 100 {
		t.Errorf("attempts and files share their chance: %v", others)
	}
}

// Promises 2 and 3: a failure comes in place of the request; a fault of the answer keeps
// its tokens, and changes nothing that others have.
func TestEachFault(t *testing.T) {
	for i, x := range new(Faults).list() {
		f := &Faults{RetryAfter: protocol.Duration(3 * time.Second)}
		reflect.ValueOf(f).Elem().Field(i).SetFloat(1)
		drawn := f.Draw("bad", &protocol.ModelRequest{})
		if drawn == nil || drawn.name != x.name || f.Sum() != 1 || f.Check() != "" {
			t.Fatalf("%s is not drawn", x.name)
		}
		err := drawn.Fails("bad", &protocol.ModelRequest{Timeout: time.Minute})
		if (err != nil) != (x.spoil == nil) || llm.OutcomeOf(err) != orOK(x.fails) {
			t.Errorf("%s: %v", x.name, err)
		}
		if failure, ok := errors.AsType[*llm.Failure](err); ok && (x.name == "rate_limited") != (failure.RetryAfter == 3*time.Second) || ok && (x.name == "timeout") != (failure.Latency == time.Minute) {
			t.Errorf("%s: %+v", x.name, failure)
		}
		calls := []protocol.Call{{ID: "1", Tool: "SayTool", Params: map[string]any{"text": "hello"}}}
		a := protocol.ModelAnswer{Text: "good day", Calls: calls, Finish: protocol.FinishToolCalls, Usage: protocol.Usage{Output: 5}, Origin: &protocol.ModelOrigin{}}
		before := a
		drawn.Spoil(&a)
		if reflect.DeepEqual(a, before) != (x.spoil == nil) || a.Usage.Output != 5 || calls[0].Broken != "" || before.Origin.Refused != "" {
			t.Errorf("%s: %+v", x.name, a)
		}
		if x.name == "cut_arguments" && a.Calls[0].Broken != `{"text":` {
			t.Errorf("cut to %q", a.Calls[0].Broken)
		}
	}
	if (&Faults{Timeout: 0.6, Quota: 0.6}).Check() == "" || new(Faults).Check() == "" {
		t.Error("too much, or nothing, is no fault of the file")
	}
}

func orOK(o llm.Outcome) llm.Outcome {
	if o == "" {
		return llm.OutcomeOK
	}
	return o
}
