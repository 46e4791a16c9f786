package agent

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Definition is a profile made ready to run: shared by every agent of it, and
// read-only.
type Definition struct {
	Profile    string // id
	Name       string
	Limits     profile.Limits
	Core       *workflow.Plan
	Workflows  map[string]*workflow.Plan // by canonical id: skills, and the scene's own
	Reflection string                    // id within Workflows; "" = none
	Skills     []string                  // ids of Workflows that may be called
	Tools      []string                  // ids of tools that may be called: atomic ones, and of External
	External   []External                // tools that executors carry out, sorted by id
	Knowledge  []KnowledgeAccess
	Model      string // default model of completions; "" = the provider's

	// Check validates a whole private state; nil = anything goes.
	Check func(state map[string]any) error
	// Parse finds the calls in what a model said: text outside calls, calls,
	// and what was wrong with them, in words the model can act on.
	Parse func(text string) (said string, calls []protocol.Call, problems []string)

	// OnEvent names the workflow for an event type; only the scene's own agent
	// has it, in place of Core.
	OnEvent map[string]string

	commands     *statecmd.Engine // on the private state
	specs        map[string]protocol.ToolSpec
	external     map[string]*External
	capabilities map[string]any
	names        map[*workflow.Plan][]string
}

// inputs are a plan's input names; asking the plan makes a new list each time.
func (d *Definition) inputs(p *workflow.Plan) []string { return d.names[p] }

// KnowledgeAccess is a knowledge base an agent may use.
type KnowledgeAccess struct {
	Alias, ID            string
	Read, Write, Suggest bool
}

// AccessOf reads a reference of a profile; without permissions it is for reading.
func AccessOf(r profile.KnowledgeReference) KnowledgeAccess {
	a := KnowledgeAccess{Alias: r.Alias, ID: r.SourceID, Read: len(r.AccessPermissions) == 0}
	if a.Alias == "" {
		a.Alias = r.SourceID
	}
	for _, p := range r.AccessPermissions {
		switch p {
		case profile.PermitRead:
			a.Read = true
		case profile.PermitWrite:
			a.Write = true
		case profile.PermitSuggest, profile.PermitSuggestAlias:
			a.Suggest = true
		}
	}
	return a
}

// Seal computes what every agent of the definition shares. Call it once.
func (d *Definition) Seal(describe func(id string) (name, description string)) {
	tools := []any{}
	d.specs = map[string]protocol.ToolSpec{}
	catalog := tool.Catalog()
	d.external = map[string]*External{}
	for i := range d.External {
		x := &d.External[i]
		d.external[x.Spec.Name] = x
		catalog = append(catalog, x.Spec)
	}
	for _, spec := range catalog {
		d.specs[spec.Name] = spec
		if d.allowsTool(spec.Name) {
			tools = append(tools, map[string]any{"id": spec.Name, "description": spec.Description, "parameters": spec.Parameters})
		}
	}
	skills := []any{}
	for _, id := range d.Skills {
		name, description := describe(id)
		skills = append(skills, map[string]any{"id": tool.SkillPrefix + id, "name": name, "description": description})
	}
	var err error
	if d.commands, err = d.ownEngine(); err != nil {
		panic("agent: the prefixes of the private state: " + err.Error()) // they are constants
	}
	d.capabilities = map[string]any{"tools": tools, "skills": skills}
	d.names = map[*workflow.Plan][]string{}
	if d.Core != nil {
		d.names[d.Core] = d.Core.Inputs()
	}
	for _, id := range protocol.SortedKeys(d.Workflows) {
		d.names[d.Workflows[id]] = d.Workflows[id].Inputs()
	}
}

// Capabilities is the input available_capabilities.
func (d *Definition) Capabilities() map[string]any { return d.capabilities }

func (d *Definition) allowsTool(id string) bool { return slices.Contains(d.Tools, id) }

// skill finds a workflow the agent may call by what a caller wrote: the
// canonical id, with or without the prefix, or its last element.
func (d *Definition) skill(name string) (string, bool) {
	name = strings.TrimPrefix(name, tool.SkillPrefix)
	if slices.Contains(d.Skills, name) {
		return name, true
	}
	found := ""
	for _, id := range d.Skills {
		if lastElement(id) == name {
			if found != "" {
				return "", false // ambiguous
			}
			found = id
		}
	}
	return found, found != ""
}

func lastElement(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// knowledge finds a base by alias or id; "" is the first that may do what is
// asked.
func (d *Definition) knowledge(name string, may func(KnowledgeAccess) bool) (KnowledgeAccess, error) {
	for _, k := range d.Knowledge {
		if name == "" && may(k) {
			return k, nil
		}
		if name != "" && (k.Alias == name || k.ID == name) {
			if !may(k) {
				return k, protocol.Errorf(protocol.KindDenied, "knowledge base %q: not permitted to %s", name, k.Profile())
			}
			return k, nil
		}
	}
	if name == "" {
		return KnowledgeAccess{}, protocol.Errorf(protocol.KindDenied, "no knowledge base permits this")
	}
	return KnowledgeAccess{}, protocol.Errorf(protocol.KindNotFound, "knowledge base %q is not among knowledge_base_references; known: %s", name, d.aliases())
}

// Profile words the permissions of a base for an error.
func (k KnowledgeAccess) Profile() string {
	var may []string
	for word, ok := range map[string]bool{"read": k.Read, "write_caiu": k.Write, "suggest_edits": k.Suggest} {
		if ok {
			may = append(may, word)
		}
	}
	slices.Sort(may)
	return "this profile; permissions: " + strings.Join(may, ", ")
}

func (d *Definition) aliases() string {
	var names []string
	for _, k := range d.Knowledge {
		names = append(names, k.Alias)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
