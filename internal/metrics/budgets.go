package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/budget"
	"tavernsim/llm/gate"
)

// budgetUnits are the units of budgets, in the order of amounts.
func budgetUnits() [5]string { return [5]string{"tokens", "dollars", "calls", "seconds", "bytes"} }

// wide is a sum of budgets with one scope.
type wide struct{ limit, left [5]float64 }

func (x *wide) add(limit, left budget.Amount) {
	for i, n := range [5][2]int64{{limit.Tokens, left.Tokens}, {limit.Nano, left.Nano}, {limit.Calls, left.Calls}, {limit.Micro, left.Micro}, {limit.Bytes, left.Bytes}} {
		if n[0] > 0 {
			x.limit[i], x.left[i] = x.limit[i]+float64(n[0]), x.left[i]+float64(max(n[1], 0))
		}
	}
}

// collectBudgets adds up the budgets of all scenes, and those a day of the endpoints.
func (w *watched) collectBudgets(ch chan<- prometheus.Metric) {
	all, seen := map[[2]string]*wide{}, map[*gate.Gate]bool{}
	at := func(scope, provider string) *wide {
		key := [2]string{scope, provider}
		if all[key] == nil && len(all) >= MaxValues {
			key[1] = overflowed
		}
		if all[key] == nil {
			all[key] = &wide{}
		}
		return all[key]
	}
	for _, s := range w.sources {
		if s.Budgets != nil {
			for _, l := range s.Budgets.WideBudgets() {
				scope, provider, _ := strings.Cut(l.Name, ":")
				at(scope, provider).add(l.Amount, l.Left())
			}
		}
		if s.Models == nil {
			continue
		}
		for _, g := range s.Models.ModelGates() {
			if g.Book == nil || seen[g] {
				continue
			}
			seen[g] = true
			if left, err := g.Book.Left(); err == nil { // else every request says why it is refused
				at("endpoint_day", g.Name()).add(g.Book.Limit(), left)
			}
		}
	}
	for labels, x := range all {
		used := 0.0
		for i, limit := range x.limit {
			if limit == 0 {
				continue
			}
			used = max(used, 1-x.left[i]/limit)
			switch budgetUnits()[i] {
			case "dollars":
				x.left[i] /= budget.Dollar
			case "seconds":
				x.left[i] /= 1e6
			}
			gauge(ch, w.left[i], x.left[i], labels[:]...)
		}
		if x.limit != [5]float64{} {
			gauge(ch, w.used, used, labels[:]...)
		}
	}
}
