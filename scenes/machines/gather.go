package machines

import "time"

// snapshotting is a snapshot of the scene's actors between two waves. The shell
// writes it during the following waves, one snapshot at a time.
type snapshotting struct {
	last    SnapshotMark // of the last snapshot that was taken or given up; else of the run's beginning
	writing bool         // the next snapshot waits until this one is written
}

// snapshotDue reports whether the policy asks for a snapshot and the last one is
// written.
func (s *Stage) snapshotDue() bool {
	return !s.flight.unrestorable && !s.snapshot.writing && s.config.Snapshots.Due(s.snapshot.last, s.mark())
}

// mark is where the scene stands. It changes only between inputs, so a snapshot that
// is due stays due while the stage handles one.
func (s *Stage) mark() SnapshotMark {
	return SnapshotMark{Facts: s.Tally.Facts, Time: s.Agenda.Now, Bytes: s.kept.Bytes}
}

// snapshotWorthwhile reports whether a stop ends with a snapshot: unless there is
// nothing new, or the scene has ended and cannot be resumed.
func (s *Stage) snapshotWorthwhile() bool {
	return s.flight.Len() == 0 && !s.flight.unrestorable && !s.halt.Final &&
		s.Tally.Facts > s.snapshot.last.Facts
}

// takeSnapshot asks every actor for its state. No agent deliberates meanwhile, so all
// states are those at the end of the last wave.
func (s *Stage) takeSnapshot() error {
	if s.behind() {
		s.phase = phaseKeeping // a snapshot is of a wave that is durable
		return nil
	}
	s.phase = phaseSnapshot
	s.snapshot.last = s.mark()
	s.effect(Effect{Act: ActGather, Wave: s.Agenda.Wave})
	return nil
}

// statesGiven handles the input that the shell has every state and writes them.
func (s *Stage) statesGiven() error {
	if s.phase != phaseSnapshot {
		return nil
	}
	s.snapshot.writing = true
	s.phase = phaseIdle
	return s.next()
}

// snapshotWritten handles the end of the writing, successful or not.
func (s *Stage) snapshotWritten() error {
	s.snapshot.writing = false
	if s.phase != phaseWriting {
		return nil
	}
	s.phase = phaseIdle
	return s.next()
}

// waitsForWriting reports whether a stop waits for a snapshot that is being written.
func (s *Stage) waitsForWriting() bool {
	if s.snapshot.writing {
		s.phase = phaseWriting
	}
	return s.snapshot.writing
}

// dropSnapshot gives a snapshot up, because an actor failed before it gave its state.
func (s *Stage) dropSnapshot(actor string) error {
	s.effect(Effect{Act: ActDropSnapshot, Actor: actor})
	s.phase = phaseIdle
	return s.next()
}

// waitsForRest reports whether the scene waits until every deliberation has ended. A
// pause waits without limit. A snapshot waits for snapshotPatience; then it is given
// up and due again after another interval of the policy. An end waits for endPatience
// and then abandons the deliberations, but not the scene's own, whose actor runs the end workflow.
func (s *Stage) waitsForRest() bool {
	if !s.comesToRest() || s.flight.Len() == 0 || s.halt.abandons() {
		s.halt.resting = 0
		return false
	}
	patience := snapshotPatience
	switch {
	case s.halt.Final:
		patience = endPatience
	case s.halt.pausing:
		return true
	}
	if s.halt.resting == 0 {
		s.halt.resting = s.now.Time
		s.tickAt(s.now.Time.Add(patience))
	}
	if s.now.Time.Sub(s.halt.resting) < patience || s.halt.Final && s.flight.Has(uint32(s.scene.OwnOrdinal())) {
		return true
	}
	s.halt.resting, s.snapshot.last = 0, s.mark()
	s.halt.alone = s.halt.Final
	return false
}

// How long a scene wakes no agent while it waits for the deliberations in flight. A
// model may take minutes.
const (
	snapshotPatience = 5 * time.Second
	endPatience      = 10 * time.Second
)
