package scripted

import (
	"math"
	"time"

	"tavernsim/engine/stub"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Uses of chance; each keys a stream of its own within its rule.
const (
	useMatch   = iota + 1 // draw in match.when
	useChance             // match.chance
	useWeight             // among several answers
	useDraw               // draw in the answer
	useText               // functions of the answer's templates
	useLatency            //
	useFailure            //
	useSpoil              // where a bad output breaks off
	useID                 // of calls
)

// functions draw from the answer's stream, in the order in which the templates
// run: text, reasoning, json, calls by place, parameters by name.
func functions() map[string]template.Func {
	return map[string]template.Func{
		"pick":      {Min: 1, Max: -1, Call: pick},
		"shuffle":   {Min: 1, Max: 1, Call: shuffle},
		"randInt":   {Min: 2, Max: 2, Call: randInt},
		"randFloat": {Min: 0, Max: 2, Call: randFloat},
		"chance":    {Min: 1, Max: 1, Call: chance},
		"gauss":     {Min: 2, Max: 2, Call: gauss},
	}
}

func stream(state any) *protocol.Draw { return &state.(*env).text }

// pick takes one of its arguments, or one element of a single list.
func pick(state any, args []any) (any, error) {
	if list, ok := args[0].([]any); ok && len(args) == 1 {
		if len(list) == 0 {
			return nil, protocol.Errorf(protocol.KindInvalid, "the list is empty")
		}
		args = list
	}
	return args[stream(state).IntN(len(args))], nil
}

func shuffle(state any, args []any) (any, error) {
	list, ok := args[0].([]any)
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is no list", template.Describe(args[0]))
	}
	out := append([]any(nil), list...)
	for i := len(out) - 1; i > 0; i-- {
		j := stream(state).IntN(i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// randInt draws a whole number, both ends included.
func randInt(state any, args []any) (any, error) {
	low, ok1 := args[0].(int64)
	high, ok2 := args[1].(int64)
	if !ok1 || !ok2 || high < low || high-low < 0 || high-low >= math.MaxInt32 {
		return nil, protocol.Errorf(protocol.KindInvalid, "want two whole numbers in order, less than 2^31 apart; got %s and %s", template.Describe(args[0]), template.Describe(args[1]))
	}
	return low + int64(stream(state).IntN(int(high-low)+1)), nil
}

// randFloat draws from [0,1), or between its two arguments.
func randFloat(state any, args []any) (any, error) {
	low, high := 0.0, 1.0
	switch len(args) {
	case 1:
		return nil, protocol.Errorf(protocol.KindInvalid, "want no argument or two")
	case 2:
		var ok1, ok2 bool
		low, ok1 = protocol.Number(args[0])
		high, ok2 = protocol.Number(args[1])
		if !ok1 || !ok2 || high < low {
			return nil, protocol.Errorf(protocol.KindInvalid, "want two numbers in order; got %s and %s", template.Describe(args[0]), template.Describe(args[1]))
		}
	}
	return low + stream(state).Float64()*(high-low), nil
}

func chance(state any, args []any) (any, error) {
	p, ok := protocol.Number(args[0])
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is no number", template.Describe(args[0]))
	}
	return stream(state).Float64() < p, nil
}

func gauss(state any, args []any) (any, error) {
	mean, ok1 := protocol.Number(args[0])
	deviation, ok2 := protocol.Number(args[1])
	if !ok1 || !ok2 {
		return nil, protocol.Errorf(protocol.KindInvalid, "want mean and deviation as numbers")
	}
	return mean + deviation*normal(stream(state)), nil
}

// normal draws from the standard normal distribution, nearly: the sum of twelve
// even draws, which needs no function that differs between processors. It never
// goes beyond ±6.
func normal(d *protocol.Draw) float64 {
	sum := -6.0
	for range 12 {
		sum += d.Float64()
	}
	return sum
}

// Draw draws how long an answer of so many tokens takes, to the microsecond.
func (l *Latency) Draw(d protocol.Draw, tokens int64) time.Duration {
	if l == nil {
		return 0
	}
	base, most := time.Duration(l.Fixed), time.Duration(l.Max)
	switch {
	case l.Median > 0:
		base = time.Duration(min(float64(l.Median)*math.Exp(l.Sigma*normal(&d)), float64(24*time.Hour)))
		if most > 0 {
			base = min(base, most)
		}
	case most > 0:
		base = time.Duration(l.Min) + time.Duration(d.Float64()*float64(l.Max-l.Min))
	}
	return (base + time.Duration(l.PerToken)*time.Duration(tokens)).Truncate(time.Microsecond)
}

// Check says what is wrong with a latency, and what to do; "" for nothing.
func (l *Latency) Check() (problem, remedy string) {
	fixed, even, normal := l.Fixed != 0, l.Min != 0 || l.Max != 0 && l.Median == 0, l.Median != 0
	switch {
	case fixed && (even || normal || l.Max != 0) || even && normal:
		return "want fixed, or min and max, or median and sigma", ""
	case even && l.Max < l.Min:
		return "max is below min", ""
	case !normal && l.Sigma != 0:
		return "sigma without median", "add median"
	case min(l.Fixed, l.Min, l.Max, l.Median, l.PerToken) < 0:
		return "a latency is negative", ""
	}
	return "", ""
}

type failures struct {
	Failures
	retryAfter time.Duration
}

// of draws what fails; "" for nothing.
func (f *failures) of(d protocol.Draw) string {
	if f == nil {
		return ""
	}
	return stub.Drawn(d, []stub.Chance{{P: f.Timeout, Name: failTimeout}, {P: f.ServerError, Name: failServer}, {P: f.RateLimited, Name: failRate}, {P: f.BadOutput, Name: failBad}})
}

const (
	failTimeout = "timeout"
	failServer  = "server_error"
	failRate    = "rate_limited"
	failBad     = "bad_output"
)
