package protocol

import (
	"math"
	"time"
)

// Time is a moment of a scene's clock, virtual or real: nanoseconds since the
// Unix epoch, UTC. The zero value means "no time".
type Time int64

// TimeOf converts a wall-clock time.
func TimeOf(t time.Time) Time { return Time(t.UnixNano()) }

// Std converts to the standard library's type, in UTC.
func (t Time) Std() time.Time { return time.Unix(0, int64(t)).UTC() }

// LastTime is the last moment at which anything happens in a scene:
// 2262-01-01T00:00:00Z. Later ones do not fit into a Time.
const LastTime Time = 9_214_646_400_000_000_000

// Add returns t+d, at the ends of what a Time can tell the end.
func (t Time) Add(d time.Duration) Time {
	switch sum := t + Time(d); {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String is RFC 3339 with the fraction it needs; "-" for no time.
func (t Time) String() string {
	if t == 0 {
		return "-"
	}
	return t.Std().Format(time.RFC3339Nano)
}

// Duration is a time span written as text in Go's form: "90s", "1h30m".
type Duration time.Duration

// UnmarshalText reads Go's duration form.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText writes Go's duration form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Std converts to the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Priority orders events, turns and lanes. The zero value is normal.
type Priority int8

const (
	Low      Priority = -1
	Normal   Priority = 0
	High     Priority = 1
	Critical Priority = 2
)

// Priorities lists every priority, most urgent first.
func Priorities() []Priority { return []Priority{Critical, High, Normal, Low} }

func (p Priority) String() string {
	switch p {
	case Low:
		return "low"
	case High:
		return "high"
	case Critical:
		return "critical"
	default:
		return "normal"
	}
}

// ParsePriority reads a priority's name; "" is normal.
func ParsePriority(s string) (Priority, error) {
	switch s {
	case "low":
		return Low, nil
	case "", "normal":
		return Normal, nil
	case "high":
		return High, nil
	case "critical":
		return Critical, nil
	}
	return Normal, Errorf(KindInvalid, "priority %q: want low, normal, high or critical", s)
}
