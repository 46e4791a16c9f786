package profile

import (
	"math"

	"tavernsim/engine/goal"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Motivation says how the agents of a profile weigh their goals (§2.1.3).
type Motivation struct {
	Drives      []Drive           `json:"drives,omitempty"`
	MaxActive   int               `json:"max_active,omitempty"`   // default 3
	Patience    protocol.Duration `json:"patience,omitempty"`     // 0 = ranks do not decay
	ForgetBelow float64           `json:"forget_below,omitempty"` // 0 = no goal is abandoned
}

// Drive is a need that grows until it is met.
type Drive struct {
	ID           string   `json:"id"`
	Path         string   `json:"path"` // of the private state
	GrowsPerHour float64  `json:"grows_per_hour"`
	Serves       []string `json:"serves,omitempty"`   // ids of goals
	WakesAt      *float64 `json:"wakes_at,omitempty"` // nil = 1
}

// MaxGrowth bounds how fast a drive grows: from nothing to all in less than four seconds.
const MaxGrowth = 1000

// Rules are the rules that goals follow; those of nil are the defaults.
func (m *Motivation) Rules() (*goal.Rules, error) {
	if m == nil {
		m = &Motivation{}
	}
	r := &goal.Rules{MaxActive: or(m.MaxActive, goal.DefaultMaxActive), Patience: m.Patience.Std(), ForgetBelow: goal.Millionths(m.ForgetBelow)}
	for i := range m.Drives {
		d := &m.Drives[i]
		path, err := world.ParsePath(d.Path)
		if err != nil {
			return nil, err
		}
		wakes := 1.0
		if d.WakesAt != nil {
			wakes = *d.WakesAt
		}
		r.Drives = append(r.Drives, goal.Drive{ID: d.ID, Path: path, PerHour: int64(math.Round(d.GrowsPerHour * goal.One)), Serves: d.Serves, WakesAt: goal.Millionths(wakes)})
	}
	return r, nil
}
