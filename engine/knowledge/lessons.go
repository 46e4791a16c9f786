package knowledge

import (
	"slices"

	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// How a base decides about what agents have learnt (§2.1.5).

// protected are the fields that agents cannot set.
func protected() []string {
	return []string{"source", "author", "updated_by", "created_at", "updated_at", "used", "helped", "version", "confirmed", "superseded_by", "locked"}
}

func (d *decider) learning() *Learning { return d.shelf.base.def.Learning }

// count counts the versions of an entry.
func (d *decider) count(e *Entry) {
	if d.learning() != nil {
		e.Version++
	}
}

// locks reports a change of a locked entry by an agent, but for the status of its goal. It waits for
// review.
func (d *decider) locks(op Op, e *Entry) bool {
	ids := e.Supersedes
	if op == OpUpdate || op == OpArchive {
		ids = append([]string{e.ID}, ids...)
	}
	return d.req.By != "" && slices.ContainsFunc(ids, func(id string) bool {
		old, ok := d.shelf.base.Get(id)
		return ok && old.Locked
	}) && (op != OpUpdate || d.changesMore())
}

// changesMore reports an update of more than the goal of an entry.
func (d *decider) changesMore() bool {
	for field := range d.req.Entry {
		if field != "id" && field != "goal" {
			return true
		}
	}
	return false
}

// steers reports a change by which an agent without the right to it would stand in the
// prompts of others, or put words into an entry that stands there. It waits for review.
func (d *decider) steers(op Op, e *Entry) bool {
	if alone := !d.shelf.shared && d.shelf.lent == nil; d.req.By == "" || alone || slices.Contains(d.req.Permissions, PermitCriteria) {
		return false
	}
	old := d.shelf.base.find(e.ID)
	switch {
	case op == OpUpdate && old != nil:
		if !old.entry.imposes() && !e.imposes() && (old.entry.ActivationCriteria == nil || old.entry.Source == SourceAgent) {
			return false
		}
		return d.changesMore()
	case op == OpArchive:
		return old.entry.Source != SourceAgent
	case op == OpSupersede && slices.ContainsFunc(e.Supersedes, func(id string) bool {
		o, ok := d.shelf.base.Get(id)
		return ok && o.Source != SourceAgent
	}):
		return true
	}
	return e.imposes()
}

// maxOwnKeywords is how many keywords an agent may give an entry that others read.
const maxOwnKeywords = 8

// imposes reports an entry that comes before others, or in situations that have nothing to
// do with it: any criteria but a few keywords, none of them a word of every text.
func (e *Entry) imposes() bool {
	a := e.ActivationCriteria
	if e.Priority > 0 || a == nil {
		return e.Priority > 0
	}
	keys := slices.Concat(a.Keywords, a.AllKeywords, a.AlsoKeywords)
	return a.Imposes() || len(keys) > maxOwnKeywords || slices.ContainsFunc(keys, words.Common)
}

// supersedes checks the entries in whose place another one comes.
func (d *decider) supersedes(op Op, e *Entry) error {
	switch {
	case op != OpSupersede:
		return d.errorf(protocol.KindInvalid, "supersedes needs op supersede")
	case len(e.Supersedes) == 0 || len(e.Supersedes) > MaxLinks:
		return d.errorf(protocol.KindInvalid, "supersedes: %d entries; want the ids of 1 to %d", len(e.Supersedes), MaxLinks)
	case len(e.Evidence) == 0 || len(e.Evidence) == 1 && e.Evidence[0] == d.named(d.req.By, d.req.ID):
		return d.errorf(protocol.KindInvalid, "evidence is missing; what supersedes an entry says what it was learnt from")
	}
	for _, id := range e.Supersedes {
		old, ok := d.shelf.base.Get(id)
		switch {
		case !ok:
			return d.shelf.base.errUnknown(id)
		case old.Retired():
			return d.errorf(protocol.KindConflict, "entry %q is retired already", id)
		}
	}
	return nil
}

func (d *decider) archived(fields map[string]any, by string) (*Entry, error) {
	id, _ := fields["id"].(string)
	old, ok := d.shelf.base.Get(id)
	switch {
	case id == "":
		return nil, d.errorf(protocol.KindInvalid, "to archive needs the id of the entry")
	case !ok:
		return nil, d.shelf.base.errUnknown(id)
	case old.Disabled:
		return nil, d.errorf(protocol.KindConflict, "entry %q is retired already", id)
	}
	e := archived(old)
	e.UpdatedAt, e.UpdatedBy = d.now.Std(), d.named(by, by)
	d.count(e)
	return e, nil
}

// keep writes an entry, and what follows for others: those that it supersedes or
// contradicts, and the lesson that is forgotten for it. A lesson that the base has is
// confirmed in its place.
func (d *decider) keep(op Op, by string, e *Entry) []protocol.Fact {
	learns := d.learning().lesson(e.EntryType)
	if op == OpCreate && learns && by != "" {
		if twin := d.shelf.base.twin(e, d.now); twin != nil {
			return []protocol.Fact{d.written(OpConfirm, by, confirmed(twin, e))}
		}
	}
	facts := []protocol.Fact{d.written(op, by, e)}
	for _, id := range e.Supersedes {
		if old, ok := d.shelf.base.Get(id); ok && op == OpSupersede {
			next := *old
			next.SupersededBy = e.ID
			facts = append(facts, d.written(OpLink, by, &next))
		}
	}
	for _, id := range e.ConflictsWith {
		old, ok := d.shelf.base.Get(id)
		if !ok || old.Locked && d.req.By != "" || slices.Contains(e.Supersedes, id) || slices.Contains(old.ConflictsWith, e.ID) || len(old.ConflictsWith) >= MaxLinks {
			continue
		}
		next := *old
		next.ConflictsWith = append(slices.Clip(old.ConflictsWith), e.ID)
		facts = append(facts, d.written(OpLink, by, &next))
	}
	if op != OpCreate && op != OpSupersede || !learns || by == "" {
		return facts
	}
	if least := d.shelf.base.least(e); least != nil {
		gone := archived(least)
		gone.UpdatedAt, gone.Version = d.now.Std(), gone.Version+1
		facts = append(facts, d.written(OpArchive, "", gone))
	}
	return facts
}

// used counts that lessons were shown to who ended a goal, and whether it was reached.
// Reading the base is enough for it.
func (d *decider) used() (facts []protocol.Fact) {
	if d.learning() == nil {
		return nil
	}
	ids, _ := d.req.Entry["ids"].([]any)
	helped, _ := d.req.Entry["helped"].(bool)
	for _, id := range ids[:min(len(ids), MaxRecall)] {
		name, _ := id.(string)
		old, ok := d.shelf.base.Get(name)
		if !ok || old.Retired() || old.Used >= MaxUsed || !d.shelf.base.Learns(old) {
			continue
		}
		e := *old
		if e.Used++; helped {
			e.Helped++
		}
		facts = append(facts, d.written(OpUsed, d.req.By, &e))
	}
	return facts
}
