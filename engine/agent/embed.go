package agent

import (
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// asksVector asks for the vector of a text before a base is searched for it; then is called when
// it came, or will not come. false = nothing is missing.
func (t *Turn) asksVector(kb, text string, lessons bool, w waiting, then func()) bool {
	for !t.cancelled {
		wish, some := t.books().Lacks(kb, text, lessons)
		if !some {
			return false
		}
		took := func(text string, err error) {
			if err := t.vectors.Take(wish, text, err); err != nil {
				t.problem("knowledge is found by words alone: " + err.Error())
			}
		}
		if t.embed(lore.Embed(wish.Model, wish.Text), w, func(text string, err error) { took(text, err); then() }, took) {
			return true
		}
	}
	return false
}

// embed asks a model for vectors: see [Turn.askText].
func (t *Turn) embed(q protocol.ModelRequest, w waiting, then, refused func(text string, err error)) bool {
	return t.askText(q, q.Purpose, w, then, refused)
}

// askText asks a model without a workflow; then is called with the text of the answer. false = it is
// not asked, and refused was called.
func (t *Turn) askText(q protocol.ModelRequest, purpose protocol.Purpose, w waiting, then, refused func(text string, err error)) bool {
	w.then = func(a *effect.Answered) { then(a.Model.Text, a.Err) }
	a, failed := t.askModelFor(&workflow.Request{ID: w.request, Model: q}, purpose, w)
	if failed {
		refused("", a.Err)
	}
	return !failed
}

// searches reports whether a call searches bases that may have vectors.
func (t *Turn) searches(entry *Tool) bool {
	return entry != nil && entry.Name == toolQueryKnowledge && t.bases.Embeds()
}

// queries reports whether such a call waits for the vector of its query first.
func (t *Turn) queries(entry *Tool, c *protocol.Call, w waiting, then func()) bool {
	params, err := t.tried(c, &entry.schema)
	w.call = c
	p := tool.Params(params)
	return err == nil && t.asksVector(p.Text("kb"), p.Text("query"), false, w, then)
}

// embedEntries asks for the vectors that entries lack. It is the scene's own turn.
func (t *Turn) embedEntries() {
	for _, one := range t.bases.Wanted(t.wake.Now) {
		then := func(text string, err error) {
			t.askKnowledge(knowledge.Request{KB: one.KB, Op: knowledge.OpEmbed, Entry: one.Answer(text, err)})
		}
		t.embed(lore.Embed(one.Model, one.Texts...), waiting{}, then, then)
	}
}
