package setup

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/script"
	"tavernsim/engine/script/plot"
	"tavernsim/engine/travel"
	"tavernsim/engine/workflow"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
)

// Declared lists the names in the project's files for metrics. Their counters begin at
// 0, and names that a model invents count as "other".
func (s *Scene) Declared() metrics.Declared {
	d := metrics.Declared{KBs: s.Project.KnowledgeBaseIDs(), Tools: append(agent.SceneTools(), s.Project.ToolIDs()...)}
	for _, def := range s.Definitions {
		if def.Profile == ActorScene {
			continue
		}
		for _, id := range def.Skills {
			d.Tools = append(d.Tools, tool.SkillPrefix+id)
		}
	}
	named := s.namedIn()
	d.Models, d.EventTypes = named.models, s.eventTypes(named.types)
	return d
}

// eventTypes are the event types in subscriptions, schemas and files of the project,
// and the program's own; nil if a subscription takes every type.
func (s *Scene) eventTypes(named []string) []string {
	types := append([]string{bus.TypeWorldUpdated, TypeAgentFailed, agentfact.EventSaid}, named...)
	types = append(types, s.Project.EventTypes()...)
	if s.Comes() {
		types = append(types, agenda.FactSpawned, agenda.FactRemoved, travel.FactDeparted, travel.FactArrived, travel.FactReturned)
	}
	own := int(s.Class[s.OwnOrdinal()])
	for c, list := range s.hears {
		for _, sub := range list {
			if strings.HasSuffix(sub.Type, "*") {
				return nil
			}
			if c != own { // those of the scene are all spellings of a few
				types = append(types, sub.Type)
			}
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// named are the names in the texts of a project.
type named struct{ types, models []string }

// namedIn looks through the workflows, the model's script and that of the scene.
func (s *Scene) namedIn() named {
	var n named
	for _, id := range s.Project.WorkflowIDs() {
		w, _ := s.Project.Workflow(id)
		for i := range w.Definition.Nodes {
			n.node(&w.Definition.Nodes[i])
		}
	}
	if answers, ok := s.Project.Model(s.Simulation().Model); ok {
		n.text(string(answers))
	}
	if d := s.Def.Definition.Script; d != nil {
		n.script(d)
	}
	return n
}

// script finds the types that a script publishes, waits for and asks with.
func (n *named) script(d *plot.Definition) {
	n.types = append(n.types, script.TypeAsked)
	for _, s := range d.States {
		for _, t := range s.Transitions {
			n.types = append(n.types, t.On)
		}
		for _, c := range s.Collect {
			n.types = append(n.types, c.Event)
		}
	}
	if text, err := json.Marshal(d); err == nil { // what was read as JSON or YAML can be written
		n.text(string(text))
	}
	n.types = slices.DeleteFunc(n.types, func(t string) bool { return t == "" })
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

// text finds event types in the source of an expression or a script. A wrong guess
// costs a counter that stays at 0.
func (n *named) text(source string) {
	for _, m := range typeLiteral.FindAllStringSubmatch(source, maxNamedTypes) {
		n.types = append(n.types, m[1])
	}
}

// maxNamedTypes bounds the event types of one text.
const maxNamedTypes = 1000
