package history

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
	"tavernsim/scenes/machines"
)

// cutForms describes, in errors, how a place in a history is written.
const cutForms = `want a time of the scene (2026-01-01T08:00:00Z), an offset from its start (90s), wave:N, seq:N or end`

// Find finds the wave that a text names: the last one at or before a scene time
// (RFC 3339) or an offset from the start, a wave by its number, the last one that has
// ended at a seq, or the last of all. Wave 0 is the beginning.
func Find(journal Journal, text string) (persistence.Wave, error) {
	name, number, numbered := strings.Cut(text, ":")
	switch {
	case text == "end":
		return journal.Durable(), nil
	case numbered && (name == "wave" || name == "seq"):
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return persistence.Wave{}, protocol.Errorf(protocol.KindInvalid, "%q: %q is not a whole number; %s", text, number, cutForms)
		}
		if end := journal.Durable(); name == "wave" && n > end.Number {
			return end, protocol.Errorf(protocol.KindNotFound, "wave:%d: the last wave is %d", n, end.Number)
		}
		if name == "wave" {
			return journal.Wave(n)
		}
		return cutAtSeq(journal, n)
	}
	at, err := cutTime(journal, text)
	if err != nil {
		return persistence.Wave{}, err
	}
	return cutAtTime(journal, text, at)
}

// cutTime reads a time, or an offset from the scene's start.
func cutTime(journal Journal, text string) (protocol.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return protocol.TimeOf(t), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, protocol.Errorf(protocol.KindInvalid, "%q is not a place in a run: %s", text, cutForms)
	}
	start, err := Start(journal)
	return start.Add(d), err
}

// Start is the scene time at which a scene began.
func Start(journal Journal) (start protocol.Time, err error) {
	codec := protocol.NewCodec()
	if begin := journal.Begin(); begin.Number > 0 { // the first facts were dropped
		_, scene, err := stageOfSnapshot(journal, codec)
		if err == nil {
			start, _, err = agenda.TimesOf(codec, scene.Agenda)
		}
		return start, err
	}
	err = journal.Scan(persistence.Query{From: 1, To: 1}, func(r protocol.Record) error {
		start = r.Time
		return nil
	})
	if err == nil && journal.Durable().Number == 0 {
		err = protocol.Errorf(protocol.KindNotFound, "the journal is empty: the scene has not begun")
	}
	return start, err
}

// stageOfSnapshot reads the state of the stage from the newest snapshot, and its wave.
func stageOfSnapshot(journal Journal, codec *protocol.Codec) (wave uint64, scene machines.SceneSnapshot, err error) {
	snap, err := journal.SnapshotAt(journal.Durable().Number)
	if err != nil {
		return 0, scene, err
	}
	found := errors.New("found")
	err = snap.Read(func(name string, raw []byte) error {
		if name != machines.Agenda {
			return nil
		}
		return cmp.Or(grown.Unmarshal(codec, raw, &scene), found)
	})
	if errors.Is(err, found) {
		err = nil
	}
	return snap.Wave.Number, scene, err
}

// cutAtTime finds the last wave whose time is not after at.
func cutAtTime(journal Journal, text string, at protocol.Time) (persistence.Wave, error) {
	end := journal.Durable()
	if end.Number > 0 && at > end.MaxTime {
		return end, protocol.Errorf(protocol.KindNotFound, "%s: %s is after the last wave, %d, which is of %s", text, at, end.Number, end.MaxTime)
	}
	found, first := journal.Begin(), protocol.Time(0)
	stop := errors.New("found")
	err := journal.Waves(found.Number+1, func(w persistence.Wave) error {
		if w.MaxTime > at {
			first = w.MaxTime
			return stop
		}
		found = w
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		return found, err
	}
	if found.Number == journal.Begin().Number {
		return found, protocol.Errorf(protocol.KindNotFound, "%s: %s is before the first wave that is kept, %d, which is of %s", text, at, found.Number+1, first)
	}
	return found, nil
}

// cutAtSeq finds the last wave that has ended at a seq.
func cutAtSeq(journal Journal, seq uint64) (persistence.Wave, error) {
	begin, end := journal.Begin(), journal.Durable()
	if seq < begin.Last || seq > end.Last {
		return begin, protocol.Errorf(protocol.KindNotFound, "seq:%d: the journal has facts %d to %d", seq, begin.Last+1, end.Last)
	}
	if seq == end.Last {
		return end, nil
	}
	found, stop := begin, errors.New("found")
	err := journal.Waves(begin.Number+1, func(w persistence.Wave) error {
		if w.Last > seq {
			return stop
		}
		found = w
		return nil
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return found, err
}
