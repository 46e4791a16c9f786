package project

import (
	"slices"

	"tavernsim/engine/budget"
	"tavernsim/internal/source"
)

func budgetRules() source.Rules {
	return source.Rules{
		"budget.Budget.tokens":  {Section: "§3.2.3", Range: between(1, budget.MaxTokens), Doc: "Most tokens, in and out."},
		"budget.Budget.dollars": {Section: "§3.2.3", Range: &source.Range{Min: 0, Max: budget.MaxDollars, Open: true}, Doc: "Most dollars. A model without a price is not asked."},
		"budget.Budget.calls":   {Section: "§3.2.3", Range: between(1, budget.MaxCalls), Doc: "Most answers."},
		"budget.Budget.window": {Section: "§3.2.3", Enum: []string{budget.WindowRun, budget.WindowDay}, Default: budget.WindowRun,
			Doc: "The time for which the limits hold: the whole run, or each day of the scene's clock (from midnight, UTC)."},
		"budget.Tools.calls":   {Section: "§3.2.3", Range: between(1, budget.MaxCalls), Doc: "Most calls that executors carry out, tasks too."},
		"budget.Tools.seconds": {Section: "§3.2.3", Range: &source.Range{Min: 0, Max: budget.MaxSeconds, Open: true}, Doc: "Their time, added up: on the virtual clock their `latency`."},
		"budget.Tools.bytes":   {Section: "§3.2.3", Range: between(1, 1<<50), Doc: "Bytes of their outputs, before they are cut."},
		"budget.Tools.money":   {Section: "§3.2.3", Range: &source.Range{Min: 0, Max: budget.MaxDollars, Open: true}, Doc: "Most dollars: the `cost` of the tools."},
		"budget.Tools.stop":    {Section: "§3.2.3", Enum: []string{budget.StopBudget}, Doc: "`budget`: the scene ends after the wave in which a call was refused. Default: it goes on, and further calls are refused."},
		"budget.Budget.on_exhausted": {Section: "§3.2.3",
			Doc: "What happens when a request does not fit: `refuse` (it fails), `degrade:MODEL` (that model of the project answers), `pause` or `end` (it fails, and the scene pauses or ends after the wave). Default: `end` of a run and a scene, `refuse` of the others."},
	}
}

// budget reports a budget that cannot be. Its limits are checked with its fields.
func (l *loader) budget(doc *source.Document, b *budget.Budget, field string) {
	if b == nil {
		return
	}
	on, err := budget.ParseAction(b.OnExhausted, budget.Refuse)
	switch {
	case err != nil:
		l.fault(doc, at(field, "on_exhausted"), "", "%s", err)
	case b.Tokens == 0 && b.Dollars == 0 && b.Calls == 0:
		l.fault(doc, at(field), "add tokens, dollars or calls", "the budget has no limit")
	default:
		l.wantModel(doc, at(field, "on_exhausted"), on.Model)
	}
}

// modelNames are the files of models/ without their endings.
func (l *loader) modelNames() (names []string) {
	for _, file := range l.tree.under(modelsDir) {
		if isModelFile(file) {
			names = append(names, source.Stem(file))
		}
	}
	return names
}

// wantModel reports a name of a model without a file; "" is none.
func (l *loader) wantModel(doc *source.Document, steps []string, name string) {
	if names := l.modelNames(); name != "" && !slices.Contains(names, name) {
		l.fault(doc, steps, source.Suggest(name, names), "there is no model %q: no file models/%s.yaml", name, name)
	}
}
