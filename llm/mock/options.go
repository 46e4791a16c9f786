package mock

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Options of a [Server]. The zero value answers at once and soundly, by the
// built-in script.
type Options struct {
	Model   llm.Instant      // gives the content; nil = the built-in script of package scripted
	Seed    uint64           // of all chance
	Latency scripted.Latency // zero = the script's own, if it has one
	Faults  Faults           // zero = none
	RPM     int              // requests a minute; 0 = no limit
	TPM     int              // tokens a minute, of questions and answers; 0 = no limit
	Cache   int              // tokens of a block of what is read from a cache; 0 = nothing is
	Key     string           // that requests must show; "" = none

	// Punctual: on Linux, answers come within some 0.1 ms of when they should, in place of up to 1 ms.
	Punctual bool
}

// Faults say how often which fault happens, and how.
type Faults struct {
	Rates    map[string]float64 // probability by name ([FaultNames]); together at most 1
	Attempts int                // only the first so many times of a question can fail; 0 = all

	RetryAfter time.Duration // that rate_limited asks for; 0 = 1s
	SlowFor    time.Duration // how long slow waits; 0 = 5s
	StallFor   time.Duration // how long stall is silent; 0 = 30s
	HoldFor    time.Duration // how long timeout keeps a connection; 0 = 60s
}

// Bounds of the options.
const (
	maxLimit    = 1_000_000_000 // requests or tokens a minute
	maxDuration = 24 * time.Hour
)

func (f Faults) withDefaults() Faults {
	f.RetryAfter = cmp.Or(f.RetryAfter, time.Second)
	f.SlowFor = cmp.Or(f.SlowFor, 5*time.Second)
	f.StallFor = cmp.Or(f.StallFor, 30*time.Second)
	f.HoldFor = cmp.Or(f.HoldFor, time.Minute)
	return f
}

// odd is a fault with its probability.
type odd struct {
	fault fault
	p     float64
}

// odds puts the probabilities into the order of the catalogue, which is the one
// in which a draw passes them.
func (f Faults) odds() ([]odd, error) {
	var list []odd
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(f.Rates)) {
		p := f.Rates[name]
		i := slices.IndexFunc(catalogue(), func(k kind) bool { return k.Name == name })
		switch {
		case i < 0:
			return nil, protocol.Errorf(protocol.KindInvalid, "faults: %q is none; there are %s", name, strings.Join(FaultNames(), ", "))
		case math.IsNaN(p) || p < 0 || p > 1:
			return nil, protocol.Errorf(protocol.KindInvalid, "faults: %s=%v: want a probability from 0 to 1", name, p)
		}
		list, sum = append(list, odd{fault(i), p}), sum+p
	}
	if sum > 1+1e-9 {
		return nil, protocol.Errorf(protocol.KindInvalid, "faults: the probabilities add up to %v; want at most 1", sum)
	}
	slices.SortFunc(list, func(a, b odd) int { return cmp.Compare(a.fault, b.fault) })
	for name, d := range map[string]time.Duration{"retry_after": f.RetryAfter, "slow_for": f.SlowFor, "stall_for": f.StallFor, "hold_for": f.HoldFor} {
		if d < 0 || d > maxDuration {
			return nil, protocol.Errorf(protocol.KindInvalid, "faults: %s=%s: want a time from 0 to 24h", name, d)
		}
	}
	if f.Attempts < 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "faults: attempts=%d: want a number from 0 on", f.Attempts)
	}
	return list, nil
}

// check holds the options that need no other place to their limits.
func (o *Options) check() error {
	for name, n := range map[string]int{"rpm": o.RPM, "tpm": o.TPM, "cache": o.Cache} {
		if n < 0 || n > maxLimit {
			return protocol.Errorf(protocol.KindInvalid, "%s %d: want a number from 0 to %d", name, n, maxLimit)
		}
	}
	l := &o.Latency
	if problem, remedy := l.Check(); problem != "" {
		return protocol.Errorf(protocol.KindInvalid, "latency: %s", strings.TrimSuffix(problem+"; "+remedy, "; "))
	}
	if l.Sigma < 0 || l.Sigma > 5 {
		return protocol.Errorf(protocol.KindInvalid, "latency: sigma=%v: want a number from 0 to 5", l.Sigma)
	}
	if longest := max(l.Fixed, l.Max, l.Median, l.PerToken); time.Duration(longest) > maxDuration {
		return protocol.Errorf(protocol.KindInvalid, "latency: %s: want at most 24h", time.Duration(longest))
	}
	return nil
}

// ParseLatency reads "median=800ms,sigma=0.4,per_token=20ms": the fields of a
// script's latency. "" and "none" are none.
func ParseLatency(text string) (l scripted.Latency, err error) {
	if text == "none" {
		return l, nil
	}
	fields := map[string]any{"fixed": &l.Fixed, "min": &l.Min, "max": &l.Max, "median": &l.Median, "sigma": &l.Sigma, "per_token": &l.PerToken}
	err = pairs(text, func(name, value string) error {
		into, known := fields[name]
		if !known {
			return fmt.Errorf("%q is no part of a latency; there are fixed, max, median, min, per_token, sigma", name)
		}
		return set(into, name, value)
	})
	if err != nil {
		return l, protocol.Errorf(protocol.KindInvalid, "latency: %w", err)
	}
	return l, (&Options{Latency: l}).check()
}

// ParseFaults reads "rate_limited=0.2,retry_after=1s,timeout=0.05": probabilities
// by name, and the fields of [Faults]. "" is none.
func ParseFaults(text string) (f Faults, err error) {
	fields := map[string]any{"attempts": &f.Attempts, "retry_after": (*protocol.Duration)(&f.RetryAfter), "slow_for": (*protocol.Duration)(&f.SlowFor),
		"stall_for": (*protocol.Duration)(&f.StallFor), "hold_for": (*protocol.Duration)(&f.HoldFor)}
	f.Rates = map[string]float64{}
	err = pairs(text, func(name, value string) error {
		if into, ok := fields[name]; ok {
			return set(into, name, value)
		}
		p, err := strconv.ParseFloat(value, 64)
		if err != nil && slices.Contains(FaultNames(), name) {
			return fmt.Errorf("%s=%s: want a probability from 0 to 1", name, value)
		}
		f.Rates[name] = p // odds tells of a name that is none
		return nil
	})
	if err != nil {
		return f, protocol.Errorf(protocol.KindInvalid, "faults: %w", err)
	}
	_, err = f.odds()
	return f, err
}

// set reads the value of a field by its type.
func set(into any, name, value string) (err error) {
	want := ""
	switch x := into.(type) {
	case encoding.TextUnmarshaler:
		want, err = "a time, for example 800ms", x.UnmarshalText([]byte(value))
	case *float64:
		want = "a number"
		*x, err = strconv.ParseFloat(value, 64)
	case *int:
		want = "a whole number"
		*x, err = strconv.Atoi(value)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: want %s", name, value, want)
	}
	return nil
}

// pairs reads "name=value,name=value"; a name may stand once.
func pairs(text string, take func(name, value string) error) error {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			return nil
		}
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" || value == "" {
			return fmt.Errorf("%q: want name=value pairs with commas between them", part)
		}
		if seen[name] {
			return fmt.Errorf("%s stands there twice", name)
		}
		seen[name] = true
		if err := take(name, value); err != nil {
			return err
		}
	}
	return nil
}
