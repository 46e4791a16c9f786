package rundir

import (
	"testing"

	"tavernsim/engine/budget"
)

// A budget is exceeded if more counts than it has. Only time and output of tools may, as nobody knows them before; and a budget a day of
// an endpoint is not the run's.
func TestExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		b    Budget
		want bool
	}{
		"tokens":             {Budget{Ledger: budget.OfRun, Limit: Spent{Tokens: 5}, Used: Spent{Tokens: 6}}, true},
		"all tokens":         {Budget{Ledger: budget.OfRun, Limit: Spent{Tokens: 5}, Used: Spent{Tokens: 5, Calls: 9}}, false},
		"a day's":            {Budget{Ledger: budget.OfEndpoint + "far", Window: WindowWallDay, Limit: Spent{Calls: 1}, Used: Spent{Calls: 2}}, false},
		"calls of tools":     {Budget{Ledger: budget.OfTools, Limit: Spent{Calls: 5, Micro: 1}, Used: Spent{Calls: 6}}, true},
		"money of tools":     {Budget{Ledger: budget.OfTools, Limit: Spent{Nano: 5}, Used: Spent{Nano: 6}}, true},
		"all calls of tools": {Budget{Ledger: budget.OfTools, Limit: Spent{Calls: 5, Nano: 5}, Used: Spent{Calls: 5, Nano: 5}}, false},
		"time of tools":      {Budget{Ledger: budget.OfTools, Limit: Spent{Calls: 5, Micro: 1}, Used: Spent{Calls: 5, Micro: 2}}, false},
		"output of tools":    {Budget{Ledger: budget.OfTools, Limit: Spent{Bytes: 1}, Used: Spent{Calls: 5, Bytes: 2}}, false},
	} {
		if got := c.b.Exceeded(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
