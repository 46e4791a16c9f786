package profile

import "time"

// Idle says how the pause between two turns of the floor frequency grows while the agent does
// nothing (§2.3.3).
type Idle struct {
	Turns      int     `json:"turns,omitempty"`       // in a row that did nothing, before the pause grows; default 1
	Factor     float64 `json:"factor,omitempty"`      // of the pause, with each of them; default 2
	MaxSeconds float64 `json:"max_seconds,omitempty"` // longest pause; default 3,600
}

// Ceilings are what an agent does and takes at most (§3.2). 0 = no ceiling.
type Ceilings struct {
	MaxDeliberationHz float64 `json:"max_deliberation_hz,omitempty"` // of scene time
	TokensPerHour     int64   `json:"tokens_per_hour,omitempty"`     // of an agent, in each hour of scene time
	DollarsPerDay     float64 `json:"dollars_per_day,omitempty"`     // of an agent, on each day of scene time
	Share             float64 `json:"share,omitempty"`               // of the slots of an endpoint, of all agents of the profile together
}

// Bounds and defaults of them.
const (
	MaxIdleTurns   = 1_000_000
	MaxIdleFactor  = 1_000
	MaxIdleSeconds = 100 * 365 * 24 * 3600

	DefaultIdleTurns   = 1
	DefaultIdleFactor  = 2
	DefaultIdleSeconds = 3600
)

// Thousandths are the share of the slots; 0 = there is no ceiling.
func (c *Ceilings) Thousandths() int64 {
	if c.Share <= 0 {
		return 0
	}
	return max(int64(c.Share*1000+0.5), 1)
}

// Least is the time between two turns that the ceiling leaves; 0 = there is none.
func (c *Ceilings) Least() time.Duration {
	if c == nil || c.MaxDeliberationHz <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / c.MaxDeliberationHz)
}
