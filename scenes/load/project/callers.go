package project

import (
	"slices"

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
