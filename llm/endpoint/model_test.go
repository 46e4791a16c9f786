package endpoint

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// plain is a Protocol whose questions are nothing.
type plain struct{}

func (plain) Path() string { return "/x" }

func (plain) Ask(*protocol.ModelRequest) ([]byte, Reader, error) { return []byte("{}"), &lines{}, nil }

// Promise 5: a provider that is closed ends what is out, whole or within a stream, and
// lets nothing more out; another provider of the endpoint goes on.
func TestCloseEndsRequests(t *testing.T) {
	within(t, shortly(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, "data: a\n\n")
		wait(r, 15*time.Second)
		say(w, "data: END\n\n")
	}, func(t *testing.T, e *Endpoint) {
		closes, stays := NewModel(e, "m", true, plain{}), NewModel(e, "m", true, plain{})
		errs := map[*Model]chan error{closes: make(chan error, 2), stays: make(chan error, 2)}
		for m, got := range errs {
			for range 2 {
				go func() {
					_, err := m.Complete(context.Background(), &protocol.ModelRequest{}, nil)
					got <- err
				}()
			}
		}
		synctest.Wait()
		began := time.Now()
		for range 2 {
			if err := closes.Close(); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			if err := <-errs[closes]; llm.OutcomeOf(err) != llm.OutcomeClosed || time.Since(began) > 0 {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
		}
		if _, err := closes.Complete(context.Background(), &protocol.ModelRequest{}, nil); llm.OutcomeOf(err) != llm.OutcomeClosed {
			t.Errorf("afterwards: %v", err)
		}
		for range 2 {
			if err := <-errs[stays]; err != nil {
				t.Errorf("the other: %v", err)
			}
		}
	})
}
