package scenes

import (
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/workflow"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
)

// declare tells the metrics what the project's files name, so that the counters
// stand at 0 from the start, and what a model makes up is "other".
func (b *builder) declare() {
	own := b.class[b.stageOrdinal()]
	b.profiles = make([]*metrics.Profile, len(b.definitions))
	d := metrics.Declared{KBs: b.project.KnowledgeBaseIDs(), Tools: agent.SceneTools()}
	for c, def := range b.definitions {
		if uint16(c) == own {
			continue
		}
		b.profiles[c] = b.metrics.Profile(def.Profile)
		for _, id := range def.Skills {
			d.Tools = append(d.Tools, agent.SkillPrefix+id)
		}
	}
	if b.model != nil { // else it is only folded
		d.Provider = b.model.Name()
	}
	named := b.namedIn()
	d.Models, d.EventTypes = named.models, b.eventTypes(named.types)
	b.metrics.Declare(d)
}

// eventTypes are those that somebody subscribed to, that have a schema, that a
// file of the project names, and the program's own; nil when a subscription
// takes whatever comes.
func (b *builder) eventTypes(named []string) []string {
	types := append([]string{bus.TypeWorldUpdated, eventAgentFailed, "agent.said"}, named...)
	types = append(types, b.project.EventTypes()...)
	var last []bus.Subscription
	for _, s := range b.subscribers {
		if len(s.Subscriptions) == 0 || len(last) == len(s.Subscriptions) && &last[0] == &s.Subscriptions[0] {
			continue // those of the agent before: agents of a class share them
		}
		last = s.Subscriptions
		for _, sub := range s.Subscriptions {
			if strings.HasSuffix(sub.Type, "*") {
				return nil
			}
			if s.InstanceID != actorScene { // those of the scene are all spellings of a few
				types = append(types, sub.Type)
			}
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// named is what the texts of a project name.
type named struct{ types, models []string }

// namedIn looks through the workflows, and the model's script.
func (b *builder) namedIn() named {
	var n named
	for _, id := range b.project.WorkflowIDs() {
		w, _ := b.project.Workflow(id)
		for i := range w.Definition.Nodes {
			n.node(&w.Definition.Nodes[i])
		}
	}
	if script, ok := b.project.Model(b.simulation().Model); ok {
		n.text(string(script))
	}
	return n
}

func (n *named) node(node *workflow.Node) {
	for _, values := range []map[string]any{node.InputValues, node.ConfigValues} {
		for _, name := range protocol.SortedKeys(values) {
			text, ok := values[name].(string)
			switch {
			case !ok:
			case name == "model":
				n.models = append(n.models, text)
			case name == "type" && node.Type == "PublishEvent":
				n.types = append(n.types, text)
			default:
				n.text(text)
			}
		}
	}
}

// typeLiteral is the type in {type: 'market.opened'}, as expressions, JSON and
// YAML write it.
var typeLiteral = regexp.MustCompile(`\btype['"]?: *['"]?([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*)['"]? *[,}\n]`)

// text finds event types in the source of an expression or a script. What it
// takes for one and is none costs a counter that stays at 0.
func (n *named) text(source string) {
	for _, m := range typeLiteral.FindAllStringSubmatch(source, maxNamedTypes) {
		n.types = append(n.types, m[1])
	}
}

// maxNamedTypes bounds what is taken from one text.
const maxNamedTypes = 1000
