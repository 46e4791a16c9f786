package agent

import (
	"math"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

func chanceTools() []Tool {
	return []Tool{
		folds(func(t *Turn, p tool.Params) (any, error) { return t.rolled.random(p, t.end.Calls, t.draw) }, "GenerateRandomNumberTool", "Draws a random number from the run's seeded chance.",
			tool.Optional("min", "number", "lower bound; 0 when it is missing"),
			tool.Optional("max", "number", "upper bound; 1 when it is missing"),
			tool.Optional("integer", "boolean", "whole numbers, both bounds included")),
	}
}

// random draws a number at this number of calls.
func (r *rolled) random(p tool.Params, calls int64, draw protocol.Draw) (any, error) {
	low, high, whole := p.Number("min", 0), p.Number("max", 1), p.Flag("integer")
	if high < low || math.IsInf(high-low, 0) {
		return nil, protocol.Errorf(protocol.KindInvalid, "max %v is below min %v", high, low)
	}
	draw = draw.Sub(toolDraws, uint64(calls))
	if n := r.before(calls); n > 0 {
		draw = draw.Sub(n)
	}
	if whole {
		if low, high = math.Ceil(low), math.Floor(high); high < low || max(-low, high) > 1<<53 {
			return nil, protocol.Errorf(protocol.KindInvalid, "no whole number is between min and max, or one of them is beyond 2^53")
		}
		return int64(low) + int64(draw.Float64()*(high-low+1)), nil
	}
	return low + draw.Float64()*(high-low), nil
}

// rolled counts the numbers that were drawn after so many calls: those of one answer are counted before the first is
// carried out, and each has a chance of its own. The first has that which all had in older runs.
type rolled struct {
	calls int64
	n     uint64
}

// before is how many were drawn at this number of calls.
func (r *rolled) before(calls int64) uint64 {
	if r.calls != calls {
		*r = rolled{calls: calls}
	}
	r.n++
	return r.n - 1
}
