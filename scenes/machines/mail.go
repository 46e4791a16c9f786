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
func (s *Stage) tells(fact knowledge.Fact, f protocol.KindData) {
	bases, _ := s.View.Shown(knowledge.Service).(knowledge.State)
	for _, to := range bases.Hears(fact) {
		i := slices.IndexFunc(s.wave.mail, func(m mail) bool { return m.to == to })
		if i < 0 {
			i = len(s.wave.mail)
			s.wave.mail = append(s.wave.mail, mail{to: to})
		}
		s.wave.mail[i].items = append(s.wave.mail[i].items, travel.Item{Kind: f.Kind, Data: f.Data})
	}
}

// post sends the mail of the wave.
func (s *Stage) post() error {
	w := s.wave
	slices.SortFunc(w.mail, func(a, b mail) int { return cmp.Compare(a.to, b.to) })
	for _, m := range w.mail {
		link, err := s.scene.LinkTo(m.to)
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
			f.Number, f.Closed = s.Travel.Next(m.to)
			if err := s.keepOwn(f); err != nil {
				return err
			}
			m.items = m.items[n:]
		}
	}
	return nil
}

// parcel carries out a letter about a parcel: one that comes, or the answer to one of this scene. One
// that came before changes nothing.
func (s *Stage) parcel(l *travel.Letter) error {
	if l.Kind == travel.Arrive {
		if _, had := s.Travel.Has(l.Scene, l.Number); had {
			return nil
		}
		if err := s.keepOwn(&travel.Received{From: l.Scene, Number: l.Number, Closed: l.Closed}); err != nil {
			return err
		}
		s.told(l.Scene, "", l.Parcel)
		return nil
	}
	mail := s.Travel.Posted(l.Scene, l.Number)
	if mail == nil {
		return nil
	}
	items := mail.Parcel
	if err := s.keepOwn(&travel.Delivered{To: l.Scene, Number: l.Number, Error: l.Error}); err != nil || l.Error == "" {
		return err
	}
	// The asker is told that no scene decides about it. What this scene has decided, holds.
	items = slices.DeleteFunc(slices.Clone(items), func(x travel.Item) bool { return x.Kind != knowledge.FactForwarded })
	s.told(l.Scene, l.Error, items)
	return nil
}

// told hands facts of another scene, or of this one that did not arrive there, to the service of
// knowledge bases.
func (s *Stage) told(from, undelivered string, items []travel.Item) {
	for _, x := range items {
		q := knowledge.Told(from, undelivered, protocol.KindData{Kind: x.Kind, Data: x.Data})
		s.sequence([]protocol.Sequenced{{To: knowledge.Service, Data: protocol.Encode(q.Value())}})
	}
}
