package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Budget is a budget as files have it. A limit of 0 is none.
type Budget struct {
	Tokens      int64   `json:"tokens,omitempty"`
	Dollars     float64 `json:"dollars,omitempty"`
	Calls       int64   `json:"calls,omitempty"`
	Window      string  `json:"window,omitempty"`
	OnExhausted string  `json:"on_exhausted,omitempty"`
}

// Windows of a budget.
const (
	WindowRun = "run" // from the beginning to the end
	WindowDay = "day" // each calendar day of the scene's clock, in UTC
)

// What happens when a budget is exhausted.
const (
	Refuse  = "refuse"  // the request fails
	Degrade = "degrade" // another model answers
	Pause   = "pause"   // the request fails, and the scene pauses after the wave
	End     = "end"     // the request fails, and the scene ends after the wave
)

// Largest limits of a budget.
const (
	MaxTokens  = 1e15
	MaxDollars = 1e9
	MaxCalls   = 1e12
)

// Action is a parsed OnExhausted.
type Action struct {
	Do    string // Refuse, Degrade, Pause or End
	Model string // of Degrade
}

// ParseAction reads OnExhausted; "" = otherwise.
func ParseAction(text, otherwise string) (Action, error) {
	if text == "" {
		return Action{Do: otherwise}, nil
	}
	do, model, named := strings.Cut(text, ":")
	switch do {
	case Refuse, Pause, End:
		if !named {
			return Action{Do: do}, nil
		}
	case Degrade:
		if model != "" {
			return Action{do, model}, nil
		}
	}
	return Action{}, protocol.Errorf(protocol.KindInvalid, "on_exhausted %q: want %s, %s:MODEL, %s or %s", text, Refuse, Degrade, Pause, End)
}

func (a Action) String() string {
	if a.Model != "" {
		return a.Do + ":" + a.Model
	}
	return a.Do
}

// Limits is a budget ready for use.
type Limits struct {
	Amount // 0 = no limit in this unit
	Daily  bool
	On     Action
	Wall   Amount // that the endpoint keeps each day of the wall clock; nothing here is refused because of it
}

// Limits checks a budget. otherwise is what happens at its end if it does not say. nil
// gives nil.
func (b *Budget) Limits(otherwise string) (*Limits, error) {
	if b == nil {
		return nil, nil
	}
	bad := func(format string, args ...any) (*Limits, error) {
		return nil, protocol.Errorf(protocol.KindInvalid, "budget: "+format, args...)
	}
	l := &Limits{Amount: Amount{Tokens: b.Tokens, Calls: b.Calls, Nano: int64(math.Round(b.Dollars * Dollar))}, Daily: b.Window == WindowDay}
	switch {
	case b.Tokens < 0 || b.Tokens > MaxTokens:
		return bad("tokens %d: want 1 to %d", b.Tokens, int64(MaxTokens))
	case b.Calls < 0 || b.Calls > MaxCalls:
		return bad("calls %d: want 1 to %d", b.Calls, int64(MaxCalls))
	case math.IsNaN(b.Dollars) || b.Dollars < 0 || b.Dollars > MaxDollars || b.Dollars > 0 && l.Nano == 0:
		return bad("dollars %v: want 0.000000001 to %d", b.Dollars, int64(MaxDollars))
	case l.Amount == Amount{}:
		return bad("it has no limit; add tokens, dollars or calls, each above 0")
	case b.Window != "" && b.Window != WindowRun && b.Window != WindowDay:
		return bad("window %q: want %s or %s", b.Window, WindowRun, WindowDay)
	}
	on, err := ParseAction(b.OnExhausted, otherwise)
	if err != nil {
		return bad("%w", err)
	}
	l.On = on
	return l, nil
}

// Share is one of n equal parts of a budget; what does not divide is not spent.
func (b *Budget) Share(n int) *Budget {
	if b == nil || n <= 1 {
		return b
	}
	s := *b
	s.Tokens, s.Calls, s.Dollars = b.Tokens/int64(n), b.Calls/int64(n), math.Floor(b.Dollars*Dollar/float64(n))/Dollar
	return &s
}

// Shares are the budgets of endpoints, as one of n scenes has them: equal shares of those of a run.
func Shares(of map[string]*Budget, n int) map[string]*Budget {
	shares := map[string]*Budget{}
	for name, b := range of {
		if shares[name] = b; b.Window != WindowDay {
			shares[name] = b.Share(n)
		}
	}
	return shares
}

// Parse reads a budget as a command line has it: "tokens=100000,dollars=0.5".
func Parse(text string) (*Budget, error) {
	b := &Budget{}
	seen := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		var err error
		switch {
		case value == "":
			return nil, protocol.Errorf(protocol.KindInvalid, "budget: %q: want NAME=VALUE, for example tokens=100000", field)
		case seen[name]:
			return nil, protocol.Errorf(protocol.KindInvalid, "budget: %s is there twice", name)
		}
		seen[name] = true
		switch name {
		case "tokens":
			b.Tokens, err = strconv.ParseInt(value, 10, 64)
		case "calls":
			b.Calls, err = strconv.ParseInt(value, 10, 64)
		case "dollars":
			b.Dollars, err = strconv.ParseFloat(strings.TrimPrefix(value, "$"), 64)
		case "window":
			b.Window = value
		case "on_exhausted":
			b.OnExhausted = value
		default:
			return nil, protocol.Errorf(protocol.KindInvalid, "budget: there is no %q; want tokens, dollars, calls, window, on_exhausted", name)
		}
		if err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "budget: %s: %q is no number", name, value)
		}
		if name == "tokens" && b.Tokens == 0 || name == "calls" && b.Calls == 0 || name == "dollars" && b.Dollars == 0 {
			return nil, protocol.Errorf(protocol.KindInvalid, "budget: %s is 0; want more (--model scripted asks no endpoint)", name)
		}
	}
	_, err := b.Limits(Refuse)
	return b, err
}

// String is the form that Parse reads.
func (b *Budget) String() string {
	var parts []string
	add := func(name string, there bool, value any) {
		if there {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	add("tokens", b.Tokens != 0, b.Tokens)
	add("dollars", b.Dollars != 0, strconv.FormatFloat(b.Dollars, 'f', -1, 64))
	add("calls", b.Calls != 0, b.Calls)
	add("window", b.Window != "", b.Window)
	add("on_exhausted", b.OnExhausted != "", b.OnExhausted)
	return strings.Join(parts, ",")
}
