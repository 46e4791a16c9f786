package runner

import (
	"maps"
	"slices"

	"tavernsim/engine/budget"
	"tavernsim/llm/models"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
)

// checkBudget refuses a budget of which a share is nothing, or whose other model is not
// there.
func checkBudget(b *budget.Budget, scenes int, p *project.Project) error {
	if _, err := b.Limits(budget.End); err != nil {
		return err
	}
	if _, err := b.Share(scenes).Limits(budget.End); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "the budget %s is too small for %d scenes, which have equal shares: %w", b, scenes, err)
	}
	if b == nil {
		return nil
	}
	on, _ := budget.ParseAction(b.OnExhausted, budget.End)
	paths, _ := p.ModelFiles()
	if on.Model != "" && !slices.ContainsFunc(paths, func(file string) bool { return models.NameOf(file) == on.Model }) {
		return protocol.Errorf(protocol.KindNotFound, "budget: on_exhausted %s: the project has no file models/%s.yaml", on, on.Model)
	}
	return nil
}

// checkEndpoints refuses a budget of an endpoint of which a scene's share is nothing.
func (opt Options) checkEndpoints(scenes int) error {
	budgets := opt.atEndpoints()
	for _, name := range protocol.SortedKeys(budgets) {
		if b := budgets[name]; b.Window != budget.WindowDay {
			if _, err := b.Share(scenes).Limits(budget.Refuse); err != nil {
				return protocol.Errorf(protocol.KindInvalid, "the budget %s of endpoint %s is too small for %d scenes, which have equal shares: %w", b, name, scenes, err)
			}
		}
	}
	return nil
}

// checkRaise refuses another budget of a run that it cannot have.
func checkRaise(m *rundir.Manifest, p *project.Project, b *budget.Budget) error {
	counted := m.Budget != nil
	for _, id := range m.Scenes {
		if s, err := p.Scene(id); err == nil {
			counted = counted || s.Definition.Budget != nil
		}
	}
	if !counted {
		return protocol.Errorf(protocol.KindConflict, "run %s: neither the run nor a scene of it began with a budget, so nobody counted what it spent; resume it without one, or start another", m.Run)
	}
	return checkBudget(b, len(m.Scenes), p)
}

// atEndpoints are the budgets of the endpoints that the models ask, or asked when their answers were recorded.
func (opt Options) atEndpoints() map[string]*budget.Budget {
	budgets := map[string]*budget.Budget{}
	for _, name := range opt.endpoints() {
		if e := opt.Endpoints[name]; e != nil {
			budgets[name] = e.Budget
		}
	}
	if opt.OnMiss == MissFail && opt.answers != nil && opt.answers.Terms != nil {
		budgets = maps.Clone(opt.answers.Terms.Budgets)
	}
	maps.DeleteFunc(budgets, func(_ string, b *budget.Budget) bool { return b == nil })
	return budgets
}

// prices are those of the models at endpoints. Scenes share the files of models and the endpoints: a name has one price.
func (opt Options) prices() map[string]*price.Price {
	prices := map[string]*price.Price{}
	for _, set := range opt.models {
		maps.Copy(prices, set.Prices())
	}
	return prices
}

// endpointsAgain are the budgets that the endpoints of a run have when it goes on. One of the whole run cannot begin in the
// middle, because nobody counted. Who has no endpoints changes nothing.
func (opt Options) endpointsAgain(m *rundir.Manifest) (map[string]*budget.Budget, error) {
	if len(opt.Endpoints) == 0 {
		return m.AtEndpoints, nil
	}
	now := opt.atEndpoints()
	for _, name := range protocol.SortedKeys(now) {
		if m.AtEndpoints[name] == nil && now[name].Window != budget.WindowDay {
			return nil, protocol.Errorf(protocol.KindConflict, "run %s: endpoint %s has a budget now, and had none when the run began, so nobody counted; resume it with a file of endpoints without it, or with window: day", m.Run, name)
		}
	}
	return now, nil
}
