package agent

import (
	"slices"

	"tavernsim/engine/agent/listen"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/agent/whereabouts"
	"tavernsim/engine/agent/worldview"
	"tavernsim/engine/tooltask"
)

// Reach is what the turns of all agents of a definition can read of others, and do to
// them, as its workflows and its inventory of tools say.
type Reach struct {
	World   bool // reads the world
	Part    bool // and no more of it than its profile says (Definition.Perceives)
	Version bool // its prompts may name the version of the world, which the changes of all agents move on
	Bases   bool // reads knowledge bases
	Writes  bool // asks for changes of the world
	Listens bool // changes its subscriptions
	Directs bool // may change others at once, or what all of them see of the scene
	Assigns bool // its events may ask for tasks
	Reports bool // reports on tasks to whoever asked for them
	Tasks   bool // reads tasks, also those that others asked for and may take

	Publishes publish.Rules // types of its events, beside what it says, and the agents that they name

	Surroundings bool // reads which agents are near, in a scene in space
	Walks        bool
}

// Reach computes it.
func (d *Definition) Reach() Reach {
	has := func(id string) bool { return d.tools[id] != nil }
	motive := d.Motive != nil // its conditions may read the world, and its rules subscribe and answer
	bases := len(d.Knowledge) > 0 && (d.reads("knowledge") || has("QueryKnowledgeBaseTool"))
	directs := false
	for _, t := range d.tools {
		directs = directs || t.directing
	}
	whole := motive || has(worldview.ReadTool) || bases
	return Reach{
		Directs: directs, Assigns: d.Assigns && has(publish.Tool), Reports: has(tooltask.ReportTool), Tasks: d.reads("tasks") || has("TaskStatusTool"),
		World: whole || d.reads("world_state"), Part: !whole && d.Perceives != nil, Version: d.reads("world_version"), Bases: bases,
		Writes: has(worldview.RequestTool), Listens: motive || has(listen.Subscribe) || has(listen.Unsubscribe),
		Publishes: d.Publishes.Of(has(publish.Tool), motive), Surroundings: d.reads("surroundings") || has(whereabouts.Look), Walks: has(whereabouts.Move),
	}
}

// reads reports whether a workflow of the definition names an input.
func (d *Definition) reads(input string) bool {
	for _, names := range d.names {
		if slices.Contains(names, input) {
			return true
		}
	}
	return false
}
