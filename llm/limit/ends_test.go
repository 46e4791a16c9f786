package limit_test

import (
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
)

// A call that is sent once alone is sent again if the endpoint refused it or nothing of it left. What an attempt leaves behind is counted once.
func TestWhatIsSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		once bool
		end  limit.End
		want bool
	}{
		"it failed":          {false, limit.End{Outcome: llm.OutcomeServerError}, true},
		"once":               {true, limit.End{Outcome: llm.OutcomeServerError}, false},
		"once, and unsent":   {true, limit.End{Outcome: llm.OutcomeServerError, Unsent: true}, true},
		"once, and refused":  {true, limit.End{Outcome: llm.OutcomeRateLimited}, true},
		"it cannot help":     {false, limit.End{Outcome: llm.OutcomeBadRequest, Unsent: true}, false},
		"it was answered":    {false, limit.End{Outcome: llm.OutcomeOK}, false},
		"too late for a try": {false, limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: time.Hour}, false},
	} {
		m := limit.New("e", limit.Options{Concurrency: 1, Retries: 3, Fixed: true, Kept: -1})
		x := &limit.Call{Class: limit.Normal, Once: c.once, Deadline: time.Hour}
		if m.Arrive(0, x); m.Load().Out != 1 {
			t.Fatal("it does not leave")
		}
		if got := m.End(1, x, c.end); got != c.want || x.Waits() != c.want {
			t.Errorf("%s: it waits for another attempt: %t", name, got)
		}
		if m.End(2, x, c.end) || m.Load().Out != 0 {
			t.Errorf("%s: it ends twice, %+v", name, m.Load())
		}
	}
}

// The rates are those of the options, or lower ones that the endpoint told; without options those that it told.
func TestRates(t *testing.T) {
	for _, c := range []struct{ limit, told, want int64 }{{0, 0, 0}, {100, 0, 100}, {100, 50, 50}, {100, 200, 100}, {0, 200, 200}} {
		m := limit.New("e", limit.Options{Requests: c.limit, Tokens: c.limit})
		if c.told > 0 {
			left := limit.Left{Known: true, Limit: c.told, Remaining: c.told, Reset: time.Minute}
			m.Hint(1, 0, limit.Hints{Requests: left, Tokens: left})
		}
		if requests, tokens := m.Rates(); requests != c.want || tokens != c.want {
			t.Errorf("%+v: %d requests, %d tokens", c, requests, tokens)
		}
	}
}
