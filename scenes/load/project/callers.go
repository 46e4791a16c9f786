package project

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// linkCallers checks the tools and skills that the workflows of tools say they call.
func (l *loader) linkCallers() {
	if l.opt.Tools == nil || len(l.callers) == 0 {
		return
	}
	known := l.knownTools()
	for _, d := range withProgram() {
		known = append(known, d.ID)
	}
	for _, id := range protocol.SortedKeys(l.project.workflows.byID) {
		known = append(known, tool.SkillPrefix+id)
	}
	for _, x := range l.callers {
		for i, need := range x.tool.Definition.Needs {
			if id, names := manifest.Called(need); names && !slices.Contains(known, id) {
				l.fault(x.doc, at("needs", i), source.Suggest(id, known), "there is no tool %q", protocol.Short(id, 80))
			}
		}
	}
}

// linkCircles refuses tools whose workflows call them again, themselves or through others: they would never end.
func (l *loader) linkCircles() {
	c := &circles{loader: l, docs: map[string]*source.Document{}, seen: map[string]bool{}}
	for _, x := range l.within {
		c.docs[x.tool.Definition.ID] = x.doc
	}
	for _, id := range protocol.SortedKeys(c.docs) {
		c.follow(id, nil)
	}
}

// circles follows tools and skills to what their workflows call.
type circles struct {
	*loader
	docs map[string]*source.Document // of the tools
	seen map[string]bool             // whoever was followed to the end
}

// follow goes on from a tool or skill, to which the others before it have led.
func (c *circles) follow(id string, before []string) {
	if from := slices.Index(before, id); from >= 0 {
		c.tell(before[from:])
		return
	}
	if c.seen[id] {
		return
	}
	before = append(slices.Clip(before), id)
	if w := c.workflowOf(id); w != nil && w.Plan != nil {
		for _, called := range w.Plan.Calls() {
			c.follow(cmp.Or(c.squashed[Squash(called)], called), before)
		}
	}
	c.seen[id] = true
}

// workflowOf is that of a tool or skill; nil = it has none.
func (c *circles) workflowOf(id string) *Workflow {
	ref, skill := strings.CutPrefix(id, tool.SkillPrefix)
	if t := c.project.tools[id]; !skill && t != nil && t.Definition.Implementation.Within() {
		ref, skill = t.Definition.Implementation.ID, true
	}
	if !skill {
		return nil
	}
	w, _ := c.project.workflows.find(ref)
	return w
}

// tell reports a circle at the first tool of it that a file defines, or at the workflow of its first skill.
func (c *circles) tell(ids []string) {
	at, doc := slices.IndexFunc(ids, func(id string) bool { return c.docs[id] != nil }), (*source.Document)(nil)
	if at >= 0 {
		doc = c.docs[ids[at]]
	} else if at, doc = 0, c.workflowOf(ids[0]).doc; doc == nil {
		return // of the program
	}
	ids = slices.Concat(ids[at:], ids[:at], ids[at:at+1])
	for i := range ids {
		ids[i] = protocol.Short(ids[i], 64)
	}
	c.fault(doc, []string{"implementation"}, "let a Loop node repeat work", "the tool calls itself and would never end: %s", strings.Join(ids, " -> "))
}
