package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/words"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Bounds of learning.
const (
	DefaultRecall = 5
	DefaultKeep   = 1000
	MaxRecall     = 100
	MaxKeep       = 10_000
	MaxEvidence   = 32 // of one entry; more are counted
	MaxLinks      = 16 // entries that one supersedes, or conflicts with
)

// LessonTypes are the types of lessons, if a base names none.
func LessonTypes() []string {
	return []string{TypeBestPractice, TypeFailedLesson, TypeObservationSummary, "reflection_note"}
}

// lesson reports a type that a base merges, recalls and forgets.
func (l *Learning) lesson(entryType string) bool {
	if l == nil {
		return false
	}
	return slices.Contains(l.lessons(), entryType)
}

func (l *Learning) lessons() []string {
	if len(l.Types) == 0 {
		return LessonTypes()
	}
	out := make([]string, len(l.Types))
	for i, t := range l.Types {
		out[i] = CanonicalType(t)
	}
	return out
}

func (l *Learning) recall() int {
	if l.Recall == nil {
		return DefaultRecall
	}
	return *l.Recall
}

func (c *checker) learning(l *Learning) {
	if l == nil {
		return
	}
	c.list("/learning/types", l.Types)
	switch l.Merge {
	case "", MergeAlike, MergeSame, MergeNone:
	default:
		c.at("/learning/merge", "%q is not known; want alike, same or none", l.Merge)
	}
	if n := l.recall(); n < 0 || n > MaxRecall {
		c.at("/learning/recall", "%d; want 0 to %d", n, MaxRecall)
	}
	if l.Keep < 0 || l.Keep > MaxKeep {
		c.at("/learning/keep", "%d; want 0 to %d", l.Keep, MaxKeep)
	}
}

// learnt checks what an entry says of its origin and of others.
func (c *checker) learnt(e *Entry) {
	if !(e.Confidence >= 0 && e.Confidence <= 1) {
		c.at("/confidence", "%v; want 0 to 1", e.Confidence)
	}
	c.count("/version", e.Version)
	c.count("/confirmed", e.Confirmed)
	if !e.ValidFrom.IsZero() && !e.ValidUntil.IsZero() && !e.ValidFrom.Before(e.ValidUntil) {
		c.at("/valid_until", "is not after valid_from")
	}
	c.list("/evidence", e.Evidence)
	if len(e.Evidence) > MaxEvidence {
		c.at("/evidence", "%d items; the limit is %d", len(e.Evidence), MaxEvidence)
	}
	c.links("/supersedes", e.Supersedes, e.ID)
	c.links("/conflicts_with", e.ConflictsWith, e.ID)
}

func (c *checker) count(path string, n int64) {
	if n < 0 || n > MaxUsed {
		c.at(path, "%d; want 0 to %d", n, MaxUsed)
	}
}

func (c *checker) links(path string, ids []string, own string) {
	c.list(path, ids)
	if len(ids) > MaxLinks {
		c.at(path, "%d items; the limit is %d", len(ids), MaxLinks)
	}
	if slices.Contains(ids, own) {
		c.at(path, "an entry cannot name itself")
	}
}

// Retired reports an entry that only its id finds.
func (e *Entry) Retired() bool { return e.Disabled || e.SupersededBy != "" }

// valid reports whether an entry exists at a time; 0 is every time.
func (d *doc) valid(now protocol.Time) bool {
	if !d.timed || now == 0 {
		return true
	}
	at := now.Std()
	return !at.Before(d.entry.ValidFrom) && (d.entry.ValidUntil.IsZero() || at.Before(d.entry.ValidUntil))
}

// doc prepares a valid entry for the base.
func (b *Base) doc(e *Entry, written bool) *doc {
	d := newDoc(e, written)
	if b.def.Learning.lesson(e.EntryType) && !e.Retired() {
		print := words.NewPrint(sense(e), &words.Stemmer{})
		d.print = &print
	}
	return d
}

// sense is the text by which lessons are compared: all of the content, else the title.
func sense(e *Entry) string {
	if e.Content == nil {
		return e.Title
	}
	return string(template.AppendText(nil, e.Content))
}

// Learns reports whether an entry is a lesson of a base that keeps lessons.
func (b *Base) Learns(e *Entry) bool { return b.def.Learning.lesson(e.EntryType) }

// eachLesson calls f for every lesson, in no order that matters.
func (b *Base) eachLesson(f func(*doc)) (n int) {
	for at, l := range b.layers {
		for _, i := range l.lessons {
			if d := l.docs[i]; b.visible(at, d) {
				f(d)
				n++
			}
		}
	}
	return n
}

// twin is the oldest lesson of now that says the same as an entry; nil = there is none.
func (b *Base) twin(e *Entry, now protocol.Time) (twin *Entry) {
	merge := cmp.Or(b.def.Learning.Merge, MergeAlike)
	if merge == MergeNone {
		return nil
	}
	print := words.NewPrint(sense(e), &words.Stemmer{})
	b.eachLesson(func(d *doc) {
		if o := d.entry; !d.valid(now) || o.EntryType != e.EntryType || !print.Same(d.print) && (merge == MergeSame || !print.Alike(d.print)) {
			return
		}
		if twin == nil || older(d.entry, twin) {
			twin = d.entry
		}
	})
	return twin
}

func older(a, b *Entry) bool {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) < 0
}

// confirmed is a lesson that was learnt again: its words stay as they are, and of a locked one its rank,
// too.
func confirmed(old, again *Entry) *Entry {
	e := *old
	e.Confirmed = min(e.Confirmed+1, MaxUsed)
	e.Evidence = evidence(old.Evidence, again.Evidence)
	if !old.Locked {
		e.Confidence = max(old.Confidence, again.Confidence)
		e.Importance = max(old.Importance, again.Importance)
	}
	return &e
}

// evidence joins lists. Of too many the first by their bytes are kept, so that the order
// of learning does not matter.
func evidence(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), MaxEvidence)]
}

// worth ranks lessons for forgetting: importance, use, and how often they were learnt
// again, in millionths.
func (d *doc) worth() int64 { return d.boost() + min(d.entry.Confirmed, 20)*(score.Million/20) }

// least is the lesson of agents to forget when another one comes: that of the least
// worth, of these the one that was not changed for longest. nil = there is room.
func (b *Base) least(newest *Entry) (least *Entry) {
	keep, worth := cmp.Or(b.def.Learning.Keep, DefaultKeep), int64(0)
	n := b.eachLesson(func(d *doc) {
		e := d.entry
		if e.Source != SourceAgent || e.Locked || slices.Contains(newest.Supersedes, e.ID) {
			return
		}
		w := d.worth()
		if least == nil || cmp.Or(cmp.Compare(w, worth), e.UpdatedAt.Compare(least.UpdatedAt), strings.Compare(e.ID, least.ID)) < 0 {
			least, worth = e, w
		}
	})
	if n-len(newest.Supersedes) < keep {
		return nil
	}
	return least
}

// archived is what is left of an entry that was archived: enough for those that name it.
func archived(e *Entry) *Entry {
	return &Entry{
		ID: e.ID, EntryType: e.EntryType, Title: e.Title, Disabled: true, Version: e.Version, Source: e.Source, Author: e.Author,
		CreatedAt: e.CreatedAt, SupersededBy: e.SupersededBy,
	}
}

// recalled are the lessons that a situation brings to mind, by their rank for its text.
func (b *Base) recalled(s *criteria.Situation, active []*Entry) (out []*Entry) {
	l := b.def.Learning
	if l == nil || l.recall() == 0 || strings.TrimSpace(s.Text) == "" {
		return nil
	}
	for _, h := range b.Query(Query{Text: s.Text, EntryTypes: l.lessons(), Vector: s.Vector, Now: s.Now, Limit: l.recall()}) {
		if !slices.Contains(active, h.Entry) {
			out = append(out, h.Entry)
		}
	}
	return out
}

// NearLessons lists the lessons that rank highest for a text, at most so many.
func (b *Base) NearLessons(text string, limit int, now protocol.Time) (list []*Entry) {
	if b.def.Learning == nil || limit <= 0 || strings.TrimSpace(text) == "" {
		return nil
	}
	for _, h := range b.Query(Query{Text: text, EntryTypes: b.def.Learning.lessons(), Now: now, Limit: limit}) {
		list = append(list, h.Entry)
	}
	return list
}
