package machines

import (
	"time"
)

// snapshotting is a snapshot of the scene's actors between two waves. It is written
// beside the waves that follow, one at a time.
type snapshotting struct {
	last    SnapshotMark // when the last snapshot was taken, or given up, or the run began
	wave    uint64
	writing bool // the next one waits for its end
}

// snapshotDue reports whether enough has happened since the last snapshot, and
// that is written.
func (s *Stage) snapshotDue() bool {
	return !s.unrestorable && !s.snapshot.writing && s.config.Snapshots.Due(s.snapshot.last, s.mark())
}

// mark is where the scene stands. It changes with inputs only, so that what is due
// stays due while one is handled.
func (s *Stage) mark() SnapshotMark {
	return SnapshotMark{Facts: s.Tally.Facts, Time: s.Agenda.Now, Bytes: s.kept.Bytes}
}

// snapshotWorthwhile: the last act of a stop, unless there is nothing new or the
// scene has ended and is never resumed.
func (s *Stage) snapshotWorthwhile() bool {
	return len(s.flight.agents) == 0 && !s.unrestorable && !s.stopping.Final &&
		s.Tally.Facts > s.snapshot.last.Facts && s.snapshot.wave != s.Agenda.Wave
}

// takeSnapshot asks every actor for its state. Nothing else happens meanwhile, so
// the states belong to one moment: the end of the last wave.
func (s *Stage) takeSnapshot() error {
	if s.behind() {
		s.phase = phaseKeeping // a snapshot is of a wave that is durable
		return nil
	}
	s.phase = phaseSnapshot
	s.snapshot.last, s.snapshot.wave = s.mark(), s.Agenda.Wave
	s.effect(Effect{Act: ActGather, Wave: s.Agenda.Wave})
	return nil
}

// statesGiven: the shell has every state and writes them.
func (s *Stage) statesGiven() error {
	if s.phase != phaseSnapshot {
		return nil
	}
	s.snapshot.writing = true
	s.phase = phaseIdle
	return s.next()
}

// snapshotWritten: the writing has ended, well or not.
func (s *Stage) snapshotWritten() error {
	s.snapshot.writing = false
	if s.phase != phaseWriting {
		return nil
	}
	s.phase = phaseIdle
	return s.next()
}

// waitsForWriting: a scene that stops leaves no half written snapshot.
func (s *Stage) waitsForWriting() bool {
	if s.snapshot.writing {
		s.phase = phaseWriting
	}
	return s.snapshot.writing
}

// dropSnapshot: an actor failed before it gave its state, and will not give it.
func (s *Stage) dropSnapshot(actor string) error {
	s.effect(Effect{Act: ActDropSnapshot, Actor: actor})
	s.phase = phaseIdle
	return s.next()
}

// waitsForRest reports whether the scene waits until every deliberation has ended. A
// pause waits as long as it takes. A snapshot waits for a while; then it is due
// again after as many facts as ever, and until then the journal is read from the
// one before. An end waits for a while, too, and then ends without them.
func (s *Stage) waitsForRest() bool {
	if !s.comesToRest() || len(s.flight.agents) == 0 || s.abandons() {
		s.resting = 0
		return false
	}
	patience := snapshotPatience
	switch {
	case s.stopping.Final:
		patience = endPatience
	case s.stopping.Reason != "" || s.pausing:
		return true
	}
	if s.resting == 0 {
		s.resting = s.now.Wall
		s.tickAt(s.now.Wall.Add(patience))
	}
	if s.now.Wall.Sub(s.resting) < patience {
		return true
	}
	s.resting, s.snapshot.last = 0, s.mark()
	s.stopping.alone = s.stopping.Final
	return false
}

// How long a scene wakes no agent because it waits until every deliberation has
// ended: a model may take minutes.
const (
	snapshotPatience = 5 * time.Second
	endPatience      = 10 * time.Second
)

// abandons: an interrupted scene does not wait for the deliberations in flight.
// They have left no facts, so they begin again when it is resumed. One that ends
// waits for a while; what is not done then never happened.
func (s *Stage) abandons() bool {
	return s.stopping.Reason != "" && (!s.stopping.Final || s.stopping.alone)
}
