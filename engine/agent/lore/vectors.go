package lore

import (
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/protocol"
)

// Wish is a text, and the model that gives its vector.
type Wish struct{ Model, Text string }

// Vectors are those that a turn has asked for; one that is none did not come. A nil map is read.
type Vectors map[Wish]vector.Vector

// vector is that of a text for a base, if it came.
func (b *Books) vector(base *knowledge.Base, text string) vector.Vector {
	if len(b.Vectors) == 0 {
		return vector.Vector{}
	}
	return b.Vectors[Wish{base.Embedding(), vector.Text(text)}]
}

// Take takes the answer to a wish; an error says why there is no vector.
func (v Vectors) Take(w Wish, text string, err error) error {
	if err != nil {
		return err
	}
	list, err := vector.Unpack(text, 1)
	if err == nil {
		v[w] = list[0]
	}
	return err
}

// Lacks finds a vector that a search of the base of that name, or all, would use and that was not
// asked for; situation = of the bases alone that a situation is compared with. It counts as asked for
// then.
func (b *Books) Lacks(kb, text string, situation bool) (Wish, bool) {
	text = vector.Text(text)
	for _, access := range b.Readable(kb) {
		base, ok := b.Bases.Base(access.ID)
		if !ok || text == "" || !base.Embedded() || situation && !base.Compares() {
			continue
		}
		w := Wish{base.Embedding(), text}
		if _, asked := b.Vectors[w]; asked {
			continue
		}
		if b.Vectors == nil {
			b.Vectors = Vectors{}
		}
		b.Vectors[w] = vector.Vector{}
		return w, true
	}
	return Wish{}, false
}

// Embed is the request for the vectors of texts.
func Embed(model string, texts ...string) protocol.ModelRequest {
	q := protocol.ModelRequest{Model: model, Purpose: protocol.PurposeEmbed}
	for _, text := range texts {
		q.Messages = append(q.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: text})
	}
	return q
}

// Query searches the base of that name, or all.
func (b *Books) Query(kb string, q knowledge.Query) ([]any, error) {
	out := []any{}
	for _, access := range b.Readable(kb) {
		base, ok := b.Bases.Base(access.ID)
		if !ok {
			continue
		}
		q.Vector = b.vector(base, q.Text)
		for _, hit := range base.Query(q) {
			v, _ := b.Entry(hit.Entry, base, access) // its markers tell
			v["score"] = hit.Score
			out = append(out, v)
		}
	}
	if kb != "" {
		if _, err := b.Access.Find(kb, func(k profile.Access) bool { return k.Read }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Text is the text at hand of a turn.
func (a *Ask) Text() string { return AtHand(a.Events, a.Goals) }
