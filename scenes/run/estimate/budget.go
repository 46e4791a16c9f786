package estimate

import (
	"math"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// Whether a budget suffices.
const (
	Suffices = "yes"     // at most so much is asked
	Perhaps  = "perhaps" // what is expected fits, and the most does not
	TooSmall = "no"      // what is expected does not fit, or nothing may be asked without a price
)

// Budget says whether a budget would suffice.
type Budget struct {
	Ledger   string       `json:"ledger"` // run, endpoint:NAME
	Budget   string       `json:"budget"` // as --budget has it
	Suffices string       `json:"suffices"`
	Expected rundir.Spent `json:"expected"` // in the budget's window
	Worst    rundir.Spent `json:"worst"`
}

// needs is what a scene would take.
type needs struct {
	expected, worst budget.Amount
	unpriced        bool
}

// of is what a scene takes of an endpoint, "" = of all, in a window of a day of its clock or its whole time.
func (s *Scene) of(endpoint string, daily bool) (n needs) {
	for i := range s.Models {
		m := &s.Models[i]
		if endpoint != "" && m.Endpoint != endpoint {
			continue
		}
		n.expected = n.expected.Plus(budget.Amount{Tokens: m.Input + m.Output, Calls: m.Calls, Nano: m.Cost})
		n.worst = n.worst.Plus(budget.Amount{Tokens: m.MaxInput + m.MaxOutput, Calls: m.Calls, Nano: m.Worst})
		n.unpriced = n.unpriced || !m.Priced && m.Calls > 0
	}
	if days := s.Seconds / 86_400; daily && days > 1 {
		a := func(a budget.Amount) budget.Amount {
			each := func(x int64) int64 { return int64(math.Ceil(float64(x) / days)) }
			return budget.Amount{Tokens: each(a.Tokens), Calls: each(a.Calls), Nano: each(a.Nano)}
		}
		n.expected, n.worst = a(n.expected), a(n.worst)
	}
	return n
}

// verdict compares them with a limit.
func (n *needs) verdict(limit budget.Amount) string {
	switch {
	case limit.Nano > 0 && n.unpriced, !n.expected.Within(limit):
		return TooSmall
	case n.worst.Within(limit):
		return Suffices
	}
	return Perhaps
}

// judge says of the run's budget and those of its endpoints whether they suffice. Each scene has
// an equal share of those of the run.
func (r *Report) judge(opt *runner.Options) error {
	if err := r.judgeOne(budget.OfRun, "", opt.Budget); err != nil || opt.Endpoints == nil {
		return err
	}
	for _, name := range protocol.SortedKeys(opt.Endpoints) {
		if err := r.judgeOne(budget.OfEndpoint+name, name, opt.Endpoints[name].Budget); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) judgeOne(ledger, endpoint string, b *budget.Budget) error {
	if b == nil {
		return nil
	}
	shared := endpoint != "" && b.Window == budget.WindowDay // all scenes, and other runs
	limits, err := b.Limits(budget.Refuse)
	if err == nil && !shared {
		limits, err = b.Share(len(r.Scenes)).Limits(budget.Refuse)
	}
	if err != nil {
		return err
	}
	all, verdict := needs{}, Suffices
	worse := func(v string) {
		if verdict == Suffices || v == TooSmall {
			verdict = v
		}
	}
	for i := range r.Scenes {
		n := r.Scenes[i].of(endpoint, endpoint == "" && b.Window == budget.WindowDay)
		all = needs{all.expected.Plus(n.expected), all.worst.Plus(n.worst), all.unpriced || n.unpriced}
		if !shared {
			worse(n.verdict(limits.Amount))
		}
	}
	if shared {
		worse(all.verdict(limits.Amount))
	}
	r.Budgets = append(r.Budgets, Budget{ledger, b.String(), verdict, rundir.Spent(all.expected), rundir.Spent(all.worst)})
	return nil
}
