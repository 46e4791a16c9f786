package menu

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/tool"
)

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
