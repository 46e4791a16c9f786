package profile

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Access is a knowledge base that an agent may use.
type Access struct {
	Alias, ID            string
	Read, Write, Suggest bool
	Criteria             bool     // decides about what stands in the prompts of others
	Types                []string // of entries that it may write; nil = any
}

// Access reads a reference. One without permissions permits reading.
func (r *KnowledgeReference) Access() Access {
	a := Access{Alias: r.Alias, ID: r.SourceID, Read: len(r.AccessPermissions) == 0, Types: r.WriteTypes}
	if a.Alias == "" {
		a.Alias = r.SourceID
	}
	for _, p := range r.AccessPermissions {
		switch p {
		case PermitRead:
			a.Read = true
		case PermitWrite:
			a.Write = true
		case PermitSuggest, PermitSuggestAlias:
			a.Suggest = true
		case PermitCriteria:
			a.Criteria = true
		}
	}
	return a
}

// Accesses are the bases of a profile, in the order in which it names them.
type Accesses []Access

// Find finds a base by alias or id; "" finds the first base that may permits.
func (l Accesses) Find(name string, may func(Access) bool) (Access, error) {
	for _, k := range l {
		if name == "" && may(k) {
			return k, nil
		}
		if name != "" && (k.Alias == name || k.ID == name) {
			if !may(k) {
				return k, protocol.Errorf(protocol.KindDenied, "knowledge base %q: not permitted to %s", name, k.permissions())
			}
			return k, nil
		}
	}
	if name == "" {
		return Access{}, protocol.Errorf(protocol.KindDenied, "no knowledge base permits this")
	}
	return Access{}, protocol.Errorf(protocol.KindNotFound, "knowledge base %q is not among knowledge_base_references; known: %s", name, l.aliases())
}

// permissions describes the permissions of a base in an error.
func (k Access) permissions() string {
	var may []string
	for word, ok := range map[string]bool{"read": k.Read, "write_caiu": k.Write, "suggest_edits": k.Suggest} {
		if ok {
			may = append(may, word)
		}
	}
	slices.Sort(may)
	return "this profile; permissions: " + strings.Join(may, ", ")
}

func (l Accesses) aliases() string {
	var names []string
	for _, k := range l {
		names = append(names, k.Alias)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
