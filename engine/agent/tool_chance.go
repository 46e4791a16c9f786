package agent

import (
	"math"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

func chanceTools() []Tool {
	return []Tool{
		folds((*Turn).random, "GenerateRandomNumberTool", "Draws a random number from the run's seeded chance.",
			tool.Optional("min", "number", "lower bound; 0 when it is missing"),
			tool.Optional("max", "number", "upper bound; 1 when it is missing"),
			tool.Optional("integer", "boolean", "whole numbers, both bounds included")),
	}
}

func (t *Turn) random(p tool.Params) (any, error) {
	low, high, whole := p.Number("min", 0), p.Number("max", 1), p.Flag("integer")
	if high < low || math.IsInf(high-low, 0) {
		return nil, protocol.Errorf(protocol.KindInvalid, "max %v is below min %v", high, low)
	}
	draw := t.draw.Sub(toolDraws, t.calling)
	if whole {
		return int64(low) + int64(draw.Float64()*(math.Floor(high)-math.Floor(low)+1)), nil
	}
	return low + draw.Float64()*(high-low), nil
}
