package menu

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Names resolves the names that calls give.
type Names struct {
	Profile   string // id
	Skills    []string
	Callable  []string                  // ids of tools, and of skills with their prefix
	Others    []string                  // ids of tools that the profile has not
	Workflows map[string]*workflow.Plan // all that there are, by id
}

// Find finds what a call names that is no id of a tool: a skill, or a tool whose id it puts into the call.
func (n *Names) Find(c *protocol.Call) (skill string, refused *protocol.Error) {
	if c.Origin == protocol.OriginToolsXML { // ToolsXML names are commands of a computer, never skills of the same name
		return "", protocol.Errorf(protocol.KindNotFound, "ToolsXML <%s>: nothing carries it out in this run; available_capabilities lists what there is", c.Tool)
	}
	if id, ok := FindSkill(n.Skills, c.Tool); ok {
		return id, nil
	}
	id, near := bind.FindTool(c.Tool, n.Callable)
	if id == "" {
		return "", n.notAllowed(c.Tool, near)
	}
	c.Tool = id
	return strings.TrimPrefix(id, tool.SkillPrefix), nil
}

// Within refuses a call that the workflow of a tool makes, and that is none of those which its
// definition names, by ids as in an inventory.
func Within(calls []string, id, by string) *protocol.Error {
	if slices.Contains(calls, id) {
		return nil
	}
	return protocol.Errorf(protocol.KindDenied, "%s may not call %s: its needs name no tool:%s", by, id, id)
}

func (n *Names) notAllowed(name string, near []string) *protocol.Error {
	if id, _ := bind.FindTool(name, n.Others); id != "" {
		return protocol.Errorf(protocol.KindDenied, "tool %s is not in tool_ids_inventory of profile %s", id, n.Profile)
	}
	if _, ok := n.Workflows[strings.TrimPrefix(name, tool.SkillPrefix)]; ok {
		return protocol.Errorf(protocol.KindDenied, "skill %s is not in skill_workflow_ids_inventory of profile %s", name, n.Profile)
	}
	hint := ""
	if len(near) > 0 {
		hint = "; perhaps " + strings.Join(near, " or ")
	}
	return protocol.Errorf(protocol.KindNotFound, "tool or skill %q does not exist%s; available_capabilities lists what there is", name, hint)
}

// FindSkill finds one of skills, canonical ids, by its id, with or without the prefix, or by the
// last element of the id.
func FindSkill(skills []string, name string) (string, bool) {
	name = strings.TrimPrefix(name, tool.SkillPrefix)
	if slices.Contains(skills, name) {
		return name, true
	}
	found := ""
	for _, id := range skills {
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
