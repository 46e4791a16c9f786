package agent

import (
	"strings"

	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/refs"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

const toolWriteKnowledge = "WriteToKnowledgeBaseTool"

func knowledgeTools() []Tool {
	return []Tool{
		folds((*Turn).queryKnowledge, "QueryKnowledgeBaseTool", "Searches a knowledge base you may read.",
			tool.Optional("kb", "string", "alias or id; all of yours when it is missing"),
			tool.Optional("query", "string", "words to look for"),
			tool.Optional("entry_type", "string", "only entries of this type"),
			tool.Optional("tags", "array", "only entries with any of these tags"),
			tool.Optional("id", "string", "exactly this entry"),
			tool.Optional("limit", "integer", "at most so many; 10 when it is missing")),
		requests((*Turn).writeKnowledge, toolWriteKnowledge, "Writes an entry into a knowledge base, or suggests it where you may only suggest.",
			tool.Optional("kb", "string", "alias or id; the first you may write when it is missing"),
			tool.OneOf("op", "create when it is missing; update replaces the fields that are given; supersede creates an entry, with evidence, in the place of those that it supersedes; archive forgets one",
				string(knowledge.OpCreate), string(knowledge.OpUpdate), string(knowledge.OpSupersede), string(knowledge.OpArchive)),
			tool.Required("entry", "object", "the entry: id, entry_type, title, content, tags, priority")).toldByItsFact(),
	}
}

func (t *Turn) queryKnowledge(p tool.Params) (any, error) {
	kb, query := p.Text("kb"), p.Without("kb")
	if id, ok := query["id"]; ok { // exactly one entry
		delete(query, "id")
		query["ids"] = []any{id}
	}
	q, err := knowledge.QueryOf(query)
	if err != nil {
		return nil, err
	}
	q.Now = t.wake.Now
	out := []any{}
	for _, access := range t.readable(kb) {
		base, ok := t.bases.Base(access.ID)
		if !ok {
			continue
		}
		for _, hit := range base.Query(q) {
			v := t.entryValue(hit.Entry, base, access)
			v["score"] = hit.Score
			out = append(out, v)
		}
	}
	if kb != "" {
		if _, err := t.m.Def.Knowledge.Find(kb, func(k profile.Access) bool { return k.Read }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readable finds the base of that name, or all bases that the agent may read.
func (t *Turn) readable(name string) []profile.Access {
	var out []profile.Access
	for _, k := range t.m.Def.Knowledge {
		if k.Read && (name == "" || name == k.Alias || name == k.ID) {
			out = append(out, k)
		}
	}
	return out
}

func (t *Turn) entryValue(e *knowledge.Entry, home *knowledge.Base, access profile.Access) map[string]any {
	v := e.Value()
	content, _ := refs.Resolver{Home: home, Base: t.baseOf, Lookup: t.referenced}.Entry(e)
	v["content"], v["kb"] = content, access.Alias
	return v
}

// baseOf finds a base that the agent may read, for a dynamic reference.
func (t *Turn) baseOf(alias string) *knowledge.Base {
	for _, k := range t.readable(alias) {
		if base, ok := t.bases.Base(k.ID); ok {
			return base
		}
	}
	return nil
}

// referenced resolves a dynamic reference to the world or the private state.
func (t *Turn) referenced(key string) (any, bool) {
	root, rest, _ := strings.Cut(key, ".")
	path, err := world.ParsePath(rest)
	if err != nil {
		return nil, false
	}
	switch root {
	case "world":
		return t.world.Get(path)
	case "self":
		return private.Lookup(t.Private, path)
	}
	return nil, false
}

// activatedKnowledge lists the entries that the situation of the agent activates.
func (t *Turn) activatedKnowledge() []any {
	situation := &knowledge.Situation{Events: valuesOf(t.events, t.eventValue), World: t.world.Value(), Self: t.self(), Now: t.wake.Now, Draw: t.draw.Sub(entryDraws)}
	for _, e := range t.events {
		situation.EventTypes = append(situation.EventTypes, e.Type)
		if text, ok := speech(e); ok {
			situation.Text += text + "\n"
		}
	}
	for _, g := range t.goals {
		if g.Open() {
			situation.Text += g.Description + "\n"
		}
	}
	out := []any{}
	for _, access := range t.readable("") {
		base, ok := t.bases.Base(access.ID)
		if !ok {
			continue
		}
		entries, _ := base.Activate(situation)
		for _, e := range entries {
			if base.Learns(e) {
				t.lessons.Show(access.ID, e.ID)
			}
			out = append(out, t.entryValue(e, base, access))
		}
	}
	return out
}

func (t *Turn) writeKnowledge(p tool.Params) (any, error) {
	access, err := t.m.Def.Knowledge.Find(p.Text("kb"), func(k profile.Access) bool { return k.Write || k.Suggest })
	if err != nil {
		return nil, err
	}
	req := knowledge.Request{KB: access.ID, Op: knowledge.Op(p.Text("op")), Mode: knowledge.ModeSuggest, Permissions: []string{knowledge.PermitSuggest}}
	req.Entry, _ = p["entry"].(map[string]any)
	if access.Write {
		req.Mode, req.Permissions = knowledge.ModeWrite, []string{knowledge.PermitWrite}
	}
	if access.Criteria {
		req.Permissions = append(req.Permissions, knowledge.PermitCriteria)
	}
	return requestID(t.askKnowledge(req)), nil
}

// askKnowledge sends a request of this agent and returns its id.
func (t *Turn) askKnowledge(req knowledge.Request) string {
	req.ID, req.By = t.nextRequestID(), t.m.ID.Instance
	t.request(knowledge.Service, func(b []byte) []byte { return protocol.AppendValue(b, req.Value()) })
	return req.ID
}

// creditLessons counts the lessons that the turn was shown, if it ended a goal.
func (t *Turn) creditLessons() {
	for _, req := range t.lessons.Credit(t.facts) {
		t.askKnowledge(req)
	}
}
