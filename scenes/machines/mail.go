package machines

import (
	"cmp"
	"slices"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Scenes that share a knowledge base tell each other what they decide about it: another scene its
// requests, the keeper what became of them. What a scene has to tell goes at the end of the wave, in
// parcels that take as long as an agent over the same link.

// parcelBytes is how large a parcel grows before another one begins. A larger fact is a parcel of its own.
const parcelBytes = 256 << 10

// mail is what a wave has to tell one scene.
type mail struct {
	to    string
	items []travel.Item
}

// tells puts a fact about a base into the mail of the scenes that share it.
func (w *wave) tells(fact knowledge.Fact, f protocol.KindData) {
	bases, _ := w.View.Shown(knowledge.Service).(knowledge.State)
	for _, to := range bases.Hears(fact) {
		i := slices.IndexFunc(w.mail, func(m mail) bool { return m.to == to })
		if i < 0 {
			i = len(w.mail)
			w.mail = append(w.mail, mail{to: to})
		}
		w.mail[i].items = append(w.mail[i].items, travel.Item{Kind: f.Kind, Data: f.Data})
	}
}

// post sends the mail of the wave.
func (w *wave) post() error {
	slices.SortFunc(w.mail, func(a, b mail) int { return cmp.Compare(a.to, b.to) })
	for _, m := range w.mail {
		link, err := w.scene.LinkTo(m.to)
		if err != nil {
			return err
		}
		for len(m.items) > 0 {
			n, size := 0, 0
			for n < len(m.items) && (n == 0 || size+len(m.items[n].Data) <= parcelBytes) {
				size += len(m.items[n].Data)
				n++
			}
			f := &travel.Posted{To: m.to, Parcel: m.items[:n]}
			f.Arrives, f.Answer = link.Times(w.time)
			f.Number, f.Closed = w.Travel.Next(m.to)
			if err := w.keepOwn(f); err != nil {
				return err
			}
			m.items = m.items[n:]
		}
	}
	return nil
}

// parcel carries out a letter about a parcel: one that comes, or the answer to one of this scene. One
// that came before changes nothing.
func (c *changes) parcel(l *travel.Letter) error {
	if l.Kind == travel.Arrive {
		if _, had := c.Travel.Has(l.Scene, l.Number); had {
			return nil
		}
		if err := c.keepOwn(&travel.Received{From: l.Scene, Number: l.Number, Closed: l.Closed}); err != nil {
			return err
		}
		c.passOn(l.Scene, "", l.Parcel)
		return nil
	}
	mail := c.Travel.Posted(l.Scene, l.Number)
	if mail == nil {
		return nil
	}
	items := mail.Parcel
	if err := c.keepOwn(&travel.Delivered{To: l.Scene, Number: l.Number, Error: l.Error}); err != nil || l.Error == "" {
		return err
	}
	// The asker is told that no scene decides about it. What this scene has decided, holds.
	items = slices.DeleteFunc(slices.Clone(items), func(x travel.Item) bool { return x.Kind != knowledge.FactForwarded })
	c.passOn(l.Scene, l.Error, items)
	return nil
}

// passOn hands facts of another scene, or of this one that did not arrive there, to the service of
// knowledge bases.
func (c *changes) passOn(from, undelivered string, items []travel.Item) {
	for _, x := range items {
		q := knowledge.Told(from, undelivered, protocol.KindData{Kind: x.Kind, Data: x.Data})
		c.sequence([]protocol.Sequenced{{To: knowledge.Service, Data: protocol.Encode(q.Value())}})
	}
}
