package machines

import (
	"cmp"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agenda"
	"tavernsim/engine/script"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/machines/roster"
	"tavernsim/scenes/machines/tally"
)

// NoteEvery is how many facts lie between two notes in a journal, and at most the rest of a
// wave. So few facts are read to know the tally of a scene.
const NoteEvery = 1 << 15

// noteShare bounds what notes add to a journal: a part of a note is as large as so many
// bytes for each fact since it was last noted, or smaller. A fact takes about 90.
const noteShare = 4

// Note is what a scene notes of itself at the end of a wave, for views of it while it
// runs: all of it can be made again from the facts.
type Note struct {
	Tally tally.Tally
	Scene []byte // the state of the stage as in a snapshot; none = it is not in this note
	World []byte // the document as in a snapshot; none = it is not in this note
}

// noteFields is the number of fields by which a Note is recognised; any other note is a
// tally.
const noteFields = 3

// noting is what the stage knows of its notes: the facts at the last one, and at the last
// one that had each part.
type noting struct{ any, scene, world int64 }

// note encodes what is due: nil = nothing is.
func (s *Stage) note() (raw protocol.Raw, err error) {
	facts, at := s.Tally.Facts, &s.noted
	if facts-at.any < NoteEvery {
		return nil, nil
	}
	at.any = facts
	var n Note
	// On the realtime clock agents deliberate while a wave is closed, and what the agenda
	// knows of that is in no snapshot. What a note cannot hold is not encoded.
	if size := roster.Bytes * len(s.Roster); size < protocol.MaxBytes && due(&at.scene, facts, size) && s.Roster != nil && !s.realtime() {
		if n.Scene, err = s.encode(SceneSnapshot{Roster: s.Roster.Pack()}); err != nil {
			return nil, err
		}
	}
	if doc := s.View.World(); due(&at.world, facts, doc.Size()) {
		n.World = doc.AppendSnapshot(nil)
	}
	if n.Scene == nil && n.World == nil {
		return s.codec.Marshal(&s.Tally)
	}
	n.Tally = s.Tally
	return s.codec.Marshal(&n)
}

// due reports whether a part of a note is, and notes when it was.
func due(last *int64, facts int64, size int) bool {
	if facts-*last < max(NoteEvery, int64(size/noteShare)) {
		return false
	}
	*last = facts
	return true
}

// ReadNote reads the note of a wave.
func ReadNote(codec *protocol.Codec, raw []byte) (n Note, err error) {
	if fields, _, bad := msgp.ReadArrayHeaderBytes(raw); bad == nil && fields == noteFields {
		err = grown.Unmarshal(codec, raw, &n)
	} else {
		err = grown.Unmarshal(codec, raw, &n.Tally)
	}
	n.Tally.Fill()
	return n, err
}

// Document is the world of the note; nil = the note has none.
func (n *Note) Document() (*world.Document, error) {
	if len(n.World) == 0 {
		return nil, nil
	}
	return world.ReadSnapshot(n.World)
}

// Load restores the kept state of the stage from its part of a snapshot.
func (s *StageState) Load(raw []byte) error {
	var snap SceneSnapshot
	if err := grown.Unmarshal(s.codec, raw, &snap); err != nil {
		return err
	}
	a, err := agenda.Restore(s.scene.AgendaConfig(), s.codec, snap.Agenda)
	if err != nil {
		return err
	}
	s.Agenda, s.Tally, s.Seed, s.Ordered = a, snap.Tally, snap.Seed, ordered.Kept(snap.Orders, a.Wave, a.Now.Sub(a.Begun()))
	s.Tally.Fill()
	s.Spending.Restore(snap.Ledgers, snap.Exhausted)
	if s.script != nil && len(snap.Script) > 0 {
		s.script = newScripting(s.scene, s.people()) // what is computed from the state is computed anew
		if s.script.State, err = script.Restore(s.codec, snap.Script); err != nil {
			return err
		}
	}
	if err := s.Turns.Load(s.rulesNow(), s.codec, snap.Turns); err != nil {
		return err
	}
	if s.Travel, err = travel.Load(s.codec, snap.Travel); err != nil {
		return err
	}
	s.Roster, err = roster.Unpack(snap.Roster, s.scene.Size())
	return cmp.Or(err, s.loadEdition(snap.Edition))
}
