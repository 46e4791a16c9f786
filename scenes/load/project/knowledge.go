package project

import (
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/knowledge"
	"tavernsim/internal/source"
	vectors "tavernsim/scenes/load/kb"
	"tavernsim/scenes/load/roads"
)

func (l *loader) loadKnowledge() {
	for _, p := range l.tree.definitions(knowledgeDir) {
		doc := l.tree.parse(p)
		if doc == nil {
			continue
		}
		kb := &knowledge.KnowledgeBase{}
		before := l.report.Total()
		l.decoder.Decode(doc, kb)
		l.validate(doc, kb, l.report.Since(before))
		l.version(doc, at("version"), kb.Version)
		if e, models := kb.Embedding, vectors.Embedders(l.sound); e != nil && e.Model != "" && !slices.Contains(models, e.Model) {
			l.fault(doc, at("embedding", "model"), source.Suggest(e.Model, models), "there is no model %q that gives vectors: no file models/%s.yaml of kind embedder or static", e.Model, e.Model)
		}
		if l.claim("knowledge base", kb.ID, doc, at("id")) {
			l.project.bases[kb.ID] = kb
			if kb.Shared == knowledge.SharedInProject {
				l.shared = append(l.shared, sharedBase{kb, doc})
			}
		}
	}
}

// sharedBase is a base that several scenes share.
type sharedBase struct {
	kb  *knowledge.KnowledgeBase
	doc *source.Document
}

// linkShared checks that the scenes that share a base can tell each other of it.
func (l *loader) linkShared(all []*agenda.Scene) {
	for _, b := range l.shared {
		roads.Sharing(b.kb.Scenes, all, func(i int, hint, format string, args ...any) {
			l.fault(b.doc, at("scenes", i), hint, format, args...)
		})
	}
}

// names checks that no two entries of a base share a name: an id or a reference
// key. It returns the paths of the faults.
func (l *loader) names(doc *source.Document, kb *knowledge.KnowledgeBase) map[string]bool {
	found := map[string]bool{}
	taken := make(map[string]place, len(kb.Entries))
	take := func(i int, field, name string) {
		steps := at("entries", i, field)
		n, reached := doc.Root.Find(steps...)
		if reached < len(steps) || name == "" {
			return
		}
		if first, ok := taken[name]; ok {
			found[source.Path(steps...)] = true
			l.fault(doc, steps, "rename one of them", "the name %q is given twice in this knowledge base; the first is at %s", name, first)
			return
		}
		taken[name] = place{doc, n}
	}
	for i := range kb.Entries {
		take(i, "id", kb.Entries[i].ID)
	}
	for i := range kb.Entries {
		take(i, "reference_key", kb.Entries[i].ReferenceKey)
	}
	return found
}

// validate adds the faults that the knowledge engine finds, except in entries of
// which the decoder has complained: it would say the same again.
func (l *loader) validate(doc *source.Document, kb *knowledge.KnowledgeBase, reported []Fault) {
	bad := l.names(doc, kb)
	for _, f := range reported {
		entry, _, _ := strings.Cut(f.Path, "]")
		bad[entry] = true
	}
	for _, f := range knowledge.Validate(kb) {
		steps := pointer(f.Path)
		entry, _, _ := strings.Cut(source.Path(steps...), "]")
		if !bad[entry] && !bad[source.Path(steps...)] && !(entry == "id" && kb.ID == "") {
			l.fault(doc, steps, "", "%s", f.Message)
		}
	}
}

// pointer splits a JSON pointer.
func pointer(p string) []string {
	if p == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, s := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return steps
}

func isGoal(e *knowledge.Entry) bool {
	t := knowledge.CanonicalType(e.EntryType)
	return t == knowledge.TypeGoal || t == knowledge.TypeRefinedGoal
}

// entry finds an entry of a base. A table is made at the first question, since a
// scene may name the goals of a hundred thousand agents.
func (l *loader) entry(kb *knowledge.KnowledgeBase, id string) *knowledge.Entry {
	table, ok := l.entries[kb.ID]
	if !ok {
		table = make(map[string]*knowledge.Entry, len(kb.Entries))
		for i := range kb.Entries {
			table[kb.Entries[i].ID] = &kb.Entries[i]
		}
		l.entries[kb.ID] = table
	}
	return table[id]
}

func entryIDs(kb *knowledge.KnowledgeBase, keep func(*knowledge.Entry) bool) []string {
	var ids []string
	for i := range kb.Entries {
		if keep(&kb.Entries[i]) {
			ids = append(ids, kb.Entries[i].ID)
		}
	}
	return ids
}
