package bench

import (
	"fmt"
	"strings"

	"tavernsim/scenes/timing"
)

// Serial is what of a deliberation runs on one core however many there are, by the clocks of the
// threads: the stage while agents deliberate, beside them, and the services with the stage behind
// them, while nothing else runs. What the world decides beside agents and stage is no part of it.
type Serial struct {
	NsPer         float64    `json:"ns_per_deliberation"`
	TurnsNsPer    float64    `json:"turns_ns_per_deliberation"`
	EarlyNsPer    float64    `json:"early_ns_per_deliberation"`
	ServicesNsPer float64    `json:"services_ns_per_deliberation"`
	Forecast      []Forecast `json:"forecast"`
}

// Forecast is how much faster more cores would be than one, if all else divided by their number and
// cost no more.
type Forecast struct {
	Cores   int     `json:"cores"`
	SpeedUp float64 `json:"speed_up"`
}

func serialOf(s *timing.Serial, cpu, n float64) *Serial {
	turns, early, services := s.Took()
	x := &Serial{TurnsNsPer: float64(turns) / n, EarlyNsPer: float64(early) / n, ServicesNsPer: float64(services) / n}
	x.NsPer = x.TurnsNsPer + x.ServicesNsPer
	for _, cores := range []int{2, 4, 16, 64} {
		x.Forecast = append(x.Forecast, Forecast{cores, cpu / (max(x.TurnsNsPer, x.EarlyNsPer, (cpu-x.ServicesNsPer)/float64(cores)) + x.ServicesNsPer)})
	}
	return x
}

func (s *Serial) text(row func(name, format string, args ...any) string) string {
	if s == nil {
		return ""
	}
	var list []string
	for _, f := range s.Forecast {
		list = append(list, fmt.Sprintf("%.1f on %d", f.SpeedUp, f.Cores))
	}
	return row("serial", "%.2f µs: %.2f while agents deliberate, %.2f services and what follows; beside them the world %.2f", s.NsPer/1e3, s.TurnsNsPer/1e3, s.ServicesNsPer/1e3, s.EarlyNsPer/1e3) +
		row("forecast", "times one core: %s cores", strings.Join(list, ", "))
}
