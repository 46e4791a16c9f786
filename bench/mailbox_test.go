package bench

import "testing"

// The measurement measures: every field is filled, and the promises that do not
// depend on the machine's mood hold.
func TestMailbox(t *testing.T) {
	backlog := 20_000
	if testing.Short() {
		backlog = 5000
	}
	m, err := RunMailbox(MailboxOptions{Agents: 200, Messages: 4000, Rounds: 2, Idle: 2000, Backlog: backlog})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Sends{"many": m.Many, "hot": m.Hot} {
		if s.Default.Median <= 0 || s.Bare.Median <= 0 || s.Chain.Median <= 0 || s.ChainRatio <= 0 || s.BareRatio <= 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Chain.Allocs > 1.2 {
			t.Errorf("%s: %.2f allocations for one message through the chain, want the cell", name, s.Chain.Allocs)
		}
	}
	if m.Messages != 4000 || m.Many.Actors != 200 || m.Hot.Actors != 1 {
		t.Errorf("%d messages to %d and %d actors", m.Messages, m.Many.Actors, m.Hot.Actors)
	}
	c := m.Critical
	if c.LowNs <= 0 || c.P50 <= 0 || c.P99 < c.P50 || c.Max < c.P99 {
		t.Errorf("critical: %+v", c)
	}
	if c.LowNs < 100 {
		t.Errorf("a low message took %.0f ns: a backlog of those is gone before it is probed", c.LowNs)
	}
	if c.LowShare < 0.9/64 || c.LowShare > 1.1/64 {
		t.Errorf("the low lane got %.4f of the turns, want one in 64", c.LowShare)
	}
}
