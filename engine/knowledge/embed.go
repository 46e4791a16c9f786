package knowledge

import (
	"slices"
	"strings"
	"time"

	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// When vectors are asked for after a failure.
const (
	retryEmbed = time.Minute // of scene time after a failure; twice as long after each further one
	mostDelays = 6
)

// DefaultAbove is the least cosine of an entry that shares no word with a query, in millionths.
const DefaultAbove = score.Million / 2

// MomentEmbed is the workflow of the scene's own turn in which it asks for vectors.
const MomentEmbed = "$embed"

func (c *checker) embedding(e *Embedding) {
	switch {
	case e == nil:
	case e.Model == "":
		c.at("/embedding/model", "the name of a model file is missing")
	case e.Above != nil && !(*e.Above >= -1 && *e.Above <= 1):
		c.at("/embedding/above", "%v; want -1 to 1", *e.Above)
	}
}

// meaning is the text whose vector an entry has; "" = it has none.
func (d *doc) meaning() string {
	e := d.entry
	if e.Retired() {
		return ""
	}
	b := append([]byte(e.Title), '\n')
	b = append(b, strings.Join(e.Tags, " ")...)
	b = words.AppendTexts(append(b, '\n'), e.Content)
	if e.Goal != nil {
		b = append(append(b, '\n'), e.Goal.Description...)
	}
	return vector.Text(string(b))
}

// likeness is the text that the text at hand has to be like, if the entry says another one than its
// own; "" = it does not.
func (d *doc) likeness() string {
	if d.criteria == nil || d.criteria.Similar == nil || d.entry.Retired() {
		return ""
	}
	return vector.Text(d.criteria.Similar.To)
}

// likenessOf names the vector of similar.to in facts and snapshots: by the id of the entry in braces,
// which no id has.
func likenessOf(id string) string { return "{" + id + "}" }

// owner is the entry that a name stands for, and whether it stands for its similar.to.
func owner(name string) (id string, like bool) {
	if rest, ok := strings.CutPrefix(name, "{"); ok {
		return strings.TrimSuffix(rest, "}"), true
	}
	return name, false
}

// lacks is how many vectors of an entry nobody has given.
func (b *Base) lacks(d *doc) (n int) {
	if b.def.Embedding == nil {
		return 0
	}
	if !d.seen && d.meaning() != "" {
		n++
	}
	if !d.liked && d.likeness() != "" {
		n++
	}
	return n
}

// wants is the text of which nobody has given the vector of that name; "" = it is not wanted.
func (b *Base) wants(name string) string {
	id, like := owner(name)
	d := b.find(id)
	switch {
	case d == nil, like && d.liked, !like && d.seen:
		return ""
	case like:
		return d.likeness()
	}
	return d.meaning()
}

// give gives an entry a vector.
func (d *doc) give(v vector.Vector, like bool) {
	if like {
		d.like, d.liked = v, true
	} else {
		d.vector, d.seen = v, true
	}
}

// Embedding is the model that gives the vectors of the base; "" = it has none.
func (b *Base) Embedding() string {
	if b.def.Embedding == nil {
		return ""
	}
	return b.def.Embedding.Model
}

// Embedded reports whether entries have vectors, so that a query wants one, too.
func (b *Base) Embedded() bool { return b.embedded }

// Embeds reports whether some base asks for vectors.
func (s State) Embeds() bool { return s.embeds }

// Compares reports whether a situation is compared by its vector: it brings lessons to mind, or some
// entry has similar.
func (b *Base) Compares() bool {
	return b.embedded && (b.def.Learning != nil && b.def.Learning.recall() > 0 ||
		slices.ContainsFunc(b.layers, func(l *layer) bool { return l.trigger.Similar() }))
}

// near is the cosine of a vector with that of an entry, or of its similar.to; false = it has none.
func (b *Base) near(v vector.Vector) func(id string) (int64, bool) {
	return func(id string) (int64, bool) {
		d := b.find(id)
		if d == nil {
			return 0, false
		}
		own := d.vector
		if d.likeness() != "" {
			own = d.like
		}
		return own.Cosine(v), !own.None()
	}
}

// carried is an entry that is about to replace another one, with its vector if they mean the
// same.
func (b *Base) carried(d *doc) *doc {
	old := b.find(d.entry.ID)
	if b.def.Embedding == nil || old == nil {
		return d
	}
	if old.seen && old.meaning() == d.meaning() {
		d.give(old.vector, false)
	}
	if old.liked && old.likeness() == d.likeness() {
		d.give(old.like, true)
	}
	return d
}

// see notes the vector of a doc.
func (l *layer) see(i int) {
	if d := l.docs[i]; d.seen {
		if l.vectors == nil {
			l.vectors = make([]vector.Vector, len(l.docs))
		}
		l.vectors[i] = d.vector
	}
}

// dressed is the base with vectors of entries. The words of the layers stay as they are.
func (b *Base) dressed(list []seenEntry) *Base {
	if len(list) == 0 {
		return b
	}
	next := *b
	next.layers, next.embedded = slices.Clone(b.layers), true
	own := make([]bool, len(b.layers))
	for _, x := range list {
		id, like := owner(x.ID)
		for n, l := range slices.Backward(next.layers) {
			i, ok := l.ids[id]
			if !ok {
				continue
			}
			if !own[n] {
				c := *l
				c.docs, c.vectors = slices.Clone(l.docs), slices.Clone(l.vectors)
				l, next.layers[n], own[n] = &c, &c, true
			}
			d := *l.docs[i]
			next.bare -= next.lacks(&d)
			d.give(vector.Read(x.Vector), like)
			next.bare += next.lacks(&d)
			l.docs[i] = &d
			l.see(int(i))
			break
		}
	}
	return &next
}

// Wants reports whether vectors are to be asked for now, by how many entries lack theirs.
func (s State) Wants(now protocol.Time) (n int) {
	if !s.embeds {
		return 0
	}
	for _, sh := range s.shelves {
		if sh.keeper == "" && sh.base.bare > 0 && now >= sh.again {
			n += sh.base.bare
		}
	}
	return n
}

// Wanted lists what to ask for now, at most [vector.MaxAsks]: by base, then by entry.
func (s State) Wanted(now protocol.Time) []vector.Wanted {
	var plan vector.Plan
	for _, id := range s.IDs() {
		sh := s.shelves[id]
		if sh.keeper != "" || sh.base.bare == 0 || now < sh.again {
			continue
		}
		for _, d := range sh.base.sorted() {
			own, like := d.meaning(), d.likeness()
			if own != "" && !d.seen && !plan.Add(id, sh.base.Embedding(), own, d.entry.ID) ||
				like != "" && !d.liked && !plan.Add(id, sh.base.Embedding(), like, likenessOf(d.entry.ID)) {
				return plan.List
			}
		}
	}
	return plan.List
}

// embedded takes the vectors of entries that are still there, or notes the failure.
func (d *decider) embedded() ([]protocol.Fact, error) {
	if d.req.By != "" || d.shelf.base.def.Embedding == nil {
		return nil, d.errorf(protocol.KindDenied, "only the scene gives vectors, to a base with embedding")
	}
	a, err := vector.ReadAnswer(d.req.Entry)
	if err != nil {
		return nil, err
	}
	f := &Embedded{KB: d.req.KB, Request: d.req.ID, Model: a.Model, Reason: a.Reason, Error: a.Error, At: d.now}
	size := vector.Widest(a.Vectors)
	if n := d.shelf.base.dimensions(); n != 0 && size > 1 && size != n {
		f.Reason = protocol.KindConflict
		f.Error = d.errorf(f.Reason, "vectors of %d dimensions; those before have %d", size, n).Error()
	}
	for i, id := range a.Entries {
		if f.Error == "" && a.Asked[i] == vector.Hash(d.shelf.base.wants(id)) { // it may have been written since
			f.Entries = append(f.Entries, id)
			f.Vectors = append(f.Vectors, vector.Bytes(a.Vectors[i].Components(size))...)
		}
	}
	return []protocol.Fact{f}, nil
}

// dimensions are those of the vectors of the base; 0 = it has none.
func (b *Base) dimensions() int {
	for _, l := range b.layers {
		for _, v := range l.vectors {
			if v.Dimensions() > 0 {
				return v.Dimensions()
			}
		}
	}
	return 0
}

func (sh shelf) seen(f *Embedded) shelf {
	if f.Error != "" {
		sh.again = f.At.Add(retryEmbed << min(sh.failed, mostDelays))
		sh.failed++
		return sh
	}
	sh.failed, sh.again = 0, 0
	list := make([]seenEntry, len(f.Entries))
	for i, id := range f.Entries {
		size := len(f.Vectors) / len(f.Entries)
		list[i] = seenEntry{id, f.Vectors[i*size : (i+1)*size]}
	}
	sh.base = sh.base.dressed(list)
	return sh
}
