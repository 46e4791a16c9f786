package project

import (
	"slices"
	"strings"

	"tavernsim/engine/glob"
	"tavernsim/engine/permit"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// PolicyRules say about the fields of tool_policy what their types do not.
func PolicyRules() source.Rules {
	const section = "§7"
	verdicts := []string{string(permit.Allow), string(permit.Ask), string(permit.Deny)}
	return source.Rules{
		"permit.Policy.otherwise": {Section: section, Enum: verdicts, Default: string(permit.Deny), Doc: "What becomes of a call that no rule fits. It does not count for tools that come with the program."},
		"permit.Policy.rules":     {Required: true, Section: section, MaxItems: maxPolicyRules, Doc: "The rules; their order does not count."},
		"permit.Rule.id":          {Required: true, Section: section, Doc: "Names the rule in facts and in what agents observe."},
		"permit.Rule.tools":       {Required: true, Section: section, MaxItems: maxPolicyRules, Doc: "Ids of tools, skills as `workflow:ID`; `*` stands for any characters, `?` for one."},
		"permit.Rule.profiles":    {Section: section, MaxItems: maxPolicyRules, Doc: "Profiles of the callers, in the same way. Default: all."},
		"permit.Rule.agents":      {Section: section, MaxItems: maxPolicyRules, Doc: "Instance ids of the callers, in the same way. Default: all."},
		"permit.Rule.params":      {Section: section, MaxItems: 64, Doc: "Patterns of parameters by JSON pointer, in the same way, or lists of them of which one must fit. All parameters must fit."},
		"permit.Rule.do":          {Required: true, Section: section, Enum: verdicts, Doc: "`deny` wins over `ask`, and `ask` over `allow`."},
		"permit.Rule.reason":      {Section: section, Doc: "Why. The agent is told."},
	}
}

const maxPolicyRules = 1000

// linkPolicy compiles the tool_policy.
func (l *loader) linkPolicy(doc *source.Document) {
	p := l.project.Definition.ToolPolicy
	if p == nil {
		return
	}
	judge, faults := permit.New(p)
	l.project.policy = judge
	for _, f := range faults {
		l.fault(doc, append(at("tool_policy"), f.Steps...), "", "%s", f.Message)
	}
	if l.opt.Tools == nil {
		return
	}
	known := append(l.knownTools(), manifest.CodeInterpreter)
	for _, id := range protocol.SortedKeys(l.project.workflows.byID) {
		known = append(known, "workflow:"+id)
	}
	for i := range p.Rules {
		for k, pattern := range p.Rules[i].Tools {
			l.namesTool(l.fault, doc, at("tool_policy", "rules", i, "tools", k), pattern, known)
		}
		l.policyPointers(doc, i, &p.Rules[i])
		for k, pattern := range p.Rules[i].Profiles {
			if ids := protocol.SortedKeys(l.project.profiles); !slices.ContainsFunc(ids, func(id string) bool { return glob.New(pattern).Match(id) }) && pattern != sceneProfile {
				l.fault(doc, at("tool_policy", "rules", i, "profiles", k), source.Suggest(pattern, ids), "there is no profile %q", protocol.Short(pattern, 80))
			}
		}
	}
}

// namesTool refuses a pattern that none of the known tools fits. One that may fit tools to come is
// only probably not meant.
func (l *loader) namesTool(say say, doc *source.Document, steps []string, pattern string, known []string) {
	if !slices.ContainsFunc(known, glob.New(pattern).Match) {
		if strings.ContainsAny(pattern, "*?") || len(l.broken) > 0 {
			say = l.warn
		}
		say(doc, steps, source.Suggest(pattern, known), "there is no tool %q", protocol.Short(pattern, 80))
	}
}

// policyPointers warns of parameters that no tool of a pattern has: such a rule denies and
// asks about nothing. Tools of the program and skills are not looked at.
func (l *loader) policyPointers(doc *source.Document, i int, r *permit.Rule) {
	for _, pattern := range r.Tools {
		var ids []string
		for _, id := range protocol.SortedKeys(l.project.tools) {
			if glob.New(pattern).Match(id) {
				ids = append(ids, id)
			}
		}
		others := func(id string) bool { return glob.New(pattern).Match(id) }
		if len(ids) == 0 || slices.ContainsFunc(l.opt.Tools, others) {
			continue
		}
		for _, pointer := range protocol.SortedKeys(r.Params) {
			steps := protocol.Pointer(pointer)
			if steps == nil || slices.ContainsFunc(ids, func(id string) bool { return mayHave(l.project.tools[id].Definition.Parameters, steps) }) {
				continue
			}
			names := protocol.SortedKeys(propertiesOf(l.project.tools[ids[0]].Definition.Parameters))
			l.warn(doc, at("tool_policy", "rules", i, "params", pointer), source.Suggest(steps[0], names), "no parameter of %s is at %q, so the rule fits no call of it", protocol.Short(strings.Join(ids, ", "), 80), protocol.Short(pointer, 80))
		}
	}
}

// mayHave reports whether a value of a schema may have something at a pointer.
func mayHave(schema any, pointer []string) bool {
	m, ok := schema.(map[string]any)
	if !ok || len(pointer) == 0 {
		return true
	}
	for _, key := range []string{"$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "patternProperties", "prefixItems"} {
		if _, there := m[key]; there {
			return true
		}
	}
	if items, there := m["items"]; there {
		if strings.Trim(pointer[0], "0123456789") == "" {
			return mayHave(items, pointer[1:])
		}
		return mayHave(items, pointer)
	}
	switch properties := propertiesOf(m); {
	case properties[pointer[0]] != nil:
		return mayHave(properties[pointer[0]], pointer[1:])
	case m["additionalProperties"] != nil:
		return m["additionalProperties"] != false && mayHave(m["additionalProperties"], pointer[1:])
	}
	kind, _ := m["type"].(string)
	return kind == "" || kind == "object" || kind == "array"
}

func propertiesOf(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	return properties
}

// sceneProfile is the profile of the scene's own agent.
const sceneProfile = "$scene"

// Policy judges the calls of agents; nil = every call of a tool in an inventory is allowed.
func (p *Project) Policy() *permit.Judge { return p.policy }
