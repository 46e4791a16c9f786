package agent

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/whereabouts"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

const (
	toolQueryKnowledge = "QueryKnowledgeBaseTool"
	toolWriteKnowledge = "WriteToKnowledgeBaseTool"
)

func knowledgeTools() []Tool {
	return []Tool{
		folds((*Turn).queryKnowledge, toolQueryKnowledge, "Searches a knowledge base you may read.", lore.Asked()...),
		requests((*Turn).writeKnowledge, toolWriteKnowledge, "Writes an entry into a knowledge base, or suggests it where you may only suggest.",
			tool.Optional("kb", "string", "alias or id; the first you may write when it is missing"),
			tool.OneOf("op", "create when it is missing; update replaces the fields that are given; supersede creates an entry, with evidence, in the place of those that it supersedes; archive forgets one", writes()...),
			tool.Required("entry", "object", "the entry: id, entry_type, title, content, tags, priority")).toldByItsFact(),
	}
}

// writes are the operations of agents; the service has others, of people and of the scene itself.
func writes() []string {
	return []string{string(knowledge.OpCreate), string(knowledge.OpUpdate), string(knowledge.OpSupersede), string(knowledge.OpArchive)}
}

func (t *Turn) queryKnowledge(p tool.Params) (any, error) {
	kb := p.Text("kb")
	q, err := lore.QueryOf(p)
	if err != nil {
		return nil, err
	}
	q.Now = t.wake.Now
	if t.m.Def.Memory == nil || kb != "" && kb != memory.Base {
		return t.books.Query(kb, q)
	}
	out := []any{}
	if kb == "" {
		if out, err = t.books.Query(kb, q); err != nil {
			return nil, err
		}
	}
	return append(out, memory.Values(t.m.State.Mind().Query(t.m.Def.Memory, &q))...), nil
}

// asksSituation asks for the vector of the text at hand, before the core workflow starts, if a
// base would bring lessons to mind by it.
func (t *Turn) asksSituation() bool {
	if !t.books.Bases.Embeds() || t.m.Def.Core == nil || t.wake.Workflow != "" || !slices.Contains(t.m.Def.inputs(t.m.Def.Core), "knowledge") {
		return false
	}
	ask := lore.Ask{Events: t.events, Goals: t.goals.Goals}
	return t.asksVector("", ask.Text(), true, waiting{}, t.startCore)
}

// activatedKnowledge lists the entries that the situation of the agent activates.
func (t *Turn) activatedKnowledge() []any {
	found := t.books.Active(&lore.Ask{Who: t.m.who(t.wake.View), Scene: t.m.Def.Scene, Purpose: t.purpose, Turn: t.end.Turn, Now: t.wake.Now, Draw: t.draw.Sub(entryDraws), Self: t.m.self(),
		Events: t.events, Values: valuesOf(t.events, t.eventValue), Goals: t.goals.Goals, Told: t.goals.Told, History: t.m.said,
		Observations: func() []criteria.Line { return observed(t.observations) }, Learnt: t.lessons.Show, Trace: t.wake.Trace})
	for _, w := range found.Warnings {
		o := Observation{Time: t.wake.Now, Kind: "knowledge_warning", Value: w.Value()}
		if !slices.ContainsFunc(t.observations, func(have Observation) bool { return have.Kind == o.Kind && protocol.Equal(have.Value, o.Value) }) {
			t.observations = append(slices.Clip(t.observations), o)
		}
	}
	return found.Entries
}

// who describes the agent whose prompt it is.
func (m *Machine) who(view View) criteria.Who {
	w := criteria.Who{Instance: m.ID.Instance, Name: m.Def.Name, Profile: m.Def.Profile}
	if m.Def.Roles != nil {
		w.Roles = m.Def.Roles(m.ID.Ordinal)
	}
	if place := whereabouts.Place(view, m.ID.Ordinal); place != "" {
		w.Places = []string{place}
	}
	return w
}

func (m *Machine) said() []criteria.Line {
	return mapped(m.State.said(), func(u Utterance) criteria.Line {
		return criteria.Line{Who: cmp.Or(u.Who, m.ID.Instance), Text: u.Text}
	})
}

func observed(list []Observation) []criteria.Line {
	return mapped(list, func(o Observation) criteria.Line {
		return criteria.Line{Who: o.Kind, Text: string(template.AppendText(nil, o.Value))}
	})
}

// kept are the entries that are active or rest.
func (s *State) kept() criteria.Kept {
	if s.more == nil {
		return nil
	}
	return s.more.kept
}

// keep folds what entries became active, or what was over when a turn ended.
func (s *State) keep(kept criteria.Kept) {
	if len(kept)+len(s.kept()) > 0 {
		s.change().kept = kept
		s.slim()
	}
}

func (t *Turn) writeKnowledge(p tool.Params) (any, error) {
	access, err := t.m.Def.Knowledge.Find(p.Text("kb"), func(k profile.Access) bool { return k.Write || k.Suggest })
	if err != nil {
		return nil, err
	}
	if op := p.Text("op"); op != "" && !slices.Contains(writes(), op) {
		return nil, protocol.Errorf(protocol.KindInvalid, "op %s: want one of %s", tool.Cut(op), strings.Join(writes(), ", "))
	}
	req := knowledge.Request{KB: access.ID, Op: knowledge.Op(p.Text("op")), Mode: knowledge.ModeSuggest, Permissions: []string{knowledge.PermitSuggest}}
	req.Entry, _ = p["entry"].(map[string]any)
	for _, name := range access.Types {
		req.Types = append(req.Types, knowledge.CanonicalType(name))
	}
	if access.Write {
		req.Mode, req.Permissions = knowledge.ModeWrite, []string{knowledge.PermitWrite}
	}
	if access.Criteria {
		req.Permissions = append(req.Permissions, knowledge.PermitCriteria)
	}
	return tool.RequestID(t.askKnowledge(req)), nil
}

// askKnowledge sends a request of this agent and returns its id.
func (t *Turn) askKnowledge(req knowledge.Request) string {
	req.ID, req.By = t.out.NextID(), t.m.ID.Instance
	t.out.Request(knowledge.Service, req.AppendMsg)
	return req.ID
}

// keepKnowledge records the entries that stay active, or rest, after this turn, and counts the lessons
// that it was shown, if it ended a goal.
func (t *Turn) keepKnowledge() {
	if len(t.books.Began) > 0 {
		t.out.Note(&agentfact.EntriesActivated{Entries: t.books.Began})
	}
	for _, req := range t.lessons.Credit(t.out.Facts, t.m.State.Goals) {
		t.askKnowledge(req)
	}
}
