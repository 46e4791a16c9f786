package setup

import (
	"math"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
)

// KindTool is the kind of requests to tools that the project defines.
const KindTool = "tool"

// Modes in which nothing carries out the tools of a project: see package tooling.
const (
	ToolsMock = "mock"
	ToolsOff  = "off"
)

// Stands reports whether in a mode something answers in the place of a workflow that carries out
// a tool: with off always, with mock if a rule names the tool.
func Stands(p *project.Project, tool, mode string) bool {
	return mode == ToolsOff || mode == ToolsMock && p.ToolMock().Names(tool)
}

// Tools are those of the host and of the project, as agents have them in a mode; "" = all
// are carried out.
func Tools(p *project.Project, host []agent.External, mode string) []agent.External {
	list := slices.Clone(host)
	for _, id := range p.ToolIDs() {
		t, _ := p.Tool(id)
		d := t.Definition
		x := agent.External{
			Spec: protocol.ToolSpec{Name: id, Description: d.Shown(), Parameters: d.Parameters}, Check: t.Check, Kind: KindTool, Timeout: d.Execution.Timeout.Std(), Once: d.Execution.Repeat == manifest.Never, Free: d.Execution.Repeat == manifest.Free,
			Quiet: d.Observe == manifest.Failures, Parallel: d.Execution.Parallel, References: true, Async: d.Execution.Mode == manifest.Async,
		}
		x.Latency, _ = d.Latency()
		x.Secrets = d.NamesSecrets()
		x.Cost = int64(math.Round(d.Cost * budget.Dollar))
		if d.Implementation.Within() {
			if x.References = false; !Stands(p, id, mode) {
				x.Kind, x.Skill, x.Timeout, x.Calls, x.CheckOutput = "", d.Implementation.ID, 0, d.Calls(), t.CheckOutput
			}
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b agent.External) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	return list
}

// hooks are the places at which plugins are asked: those of agents, and those of the scene's
// own agent.
func hooks(p *project.Project) (agents, own hook.Places) {
	for _, name := range protocol.SortedKeys(p.Plugins()) {
		x := p.Plugins()[name]
		if x.Broken() {
			continue
		}
		for i := range x.Manifest.Hooks {
			h := &x.Manifest.Hooks[i]
			switch h.Hook {
			case hook.BeforeDeliberate:
				agents = with(agents, h)
			case hook.BeforeExecute, hook.AfterExecute:
				agents, own = with(agents, h), with(own, h)
			case hook.SceneStart, hook.SceneEnd:
				own = with(own, h)
			}
		}
	}
	return agents, own
}

func with(p hook.Places, h *plugin.Hook) hook.Places {
	if p == nil {
		p = hook.Places{}
	}
	p[h.Hook] = p[h.Hook] || h.Fail == plugin.Closed
	return p
}

// Moment is what the scene's own agent is woken for at a moment of the scene: a place, if
// hooks are told of it, or the workflow; "" = nothing.
func (s *Scene) Moment(place, workflow string) string {
	if s.hooks.Has(place) {
		return place
	}
	return workflow
}

// IsExternal reports whether a tool is one of the host or of the project.
func (s *Scene) IsExternal(tool string) bool {
	return slices.ContainsFunc(s.External, func(x agent.External) bool { return x.Spec.Name == tool })
}

// CostOf is what a call of a tool costs, in nano-dollars.
func (s *Scene) CostOf(tool string) int64 {
	for i := range s.External {
		if s.External[i].Spec.Name == tool {
			return s.External[i].Cost
		}
	}
	return 0
}

// ToolPrices is CostOf where tools have a budget, else nil.
func (s *Scene) ToolPrices() func(tool string) int64 {
	if s.Budgets == nil || s.Budgets.Tools == nil {
		return nil
	}
	return s.CostOf
}

// skills adds the workflows that carry out tools of an agent.
func (b *builder) skills(d *agent.Definition) {
	for i := range b.External {
		if x := &b.External[i]; x.Skill != "" && slices.Contains(d.Tools, x.Spec.Name) {
			d.Workflows[x.Skill] = b.plan(x.Skill)
		}
	}
}
