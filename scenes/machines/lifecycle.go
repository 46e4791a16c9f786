package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/hook"
	"tavernsim/protocol"
)

// The scene begins, pauses, goes on and ends with a wave of its own, in which its workflow for that
// moment runs.

// begin starts the scene, or continues where its journal ends.
func (s *Stage) begin(in *Begin) error {
	s.phase, s.crashes = phaseIdle, in.Crashes
	if s.Agenda.Started {
		if s.config.Raised {
			s.Spending.Heeded()
		}
		s.halting.resuming = s.halting.paused // starting a paused run again resumes it
		return s.next()
	}
	s.openWave(s.startTime())
	if err := s.wave.keepOwn(s.scene.Started(s.wave.time)); err != nil {
		return err
	}
	return s.runLifecycle(s.scene.Moment(hook.SceneStart, s.scene.Def.Lifecycle.Start))
}

func (s *Stage) startTime() protocol.Time {
	if s.realtime() {
		return s.now.Wall
	}
	return protocol.TimeOf(s.scene.Simulation().StartTime)
}

// proceedToStop keeps the end and what the end workflow does in one wave, so that no
// kill comes between them, and waits for the disk.
func (s *Stage) proceedToStop() error {
	switch {
	case s.halting.kept:
		if s.waitsForWriting() {
			return nil
		}
		return s.finish()
	case !s.halting.Final, s.Agenda.Ended != "":
		return s.settle()
	}
	last, err := s.ending(s.endTime())
	if err != nil {
		return err
	}
	return s.openLifecycle(s.endTime(), &agenda.Ended{Reason: s.halting.Reason}, last)
}

// proceedToPause runs the pause workflow and keeps the fact.
func (s *Stage) proceedToPause() error {
	s.halting.pausing, s.halting.paused = false, true
	return s.openLifecycle(s.moment(), &agenda.Paused{Reason: s.halting.pausedBy}, nil)
}

func (s *Stage) proceedToResume() error {
	s.halting.resuming, s.halting.paused = false, false
	s.effect(Effect{Act: ActGoOn})
	return s.openLifecycle(s.moment(), &agenda.Resumed{}, nil)
}

// rest waits until everything is durable and then reports that the scene is paused.
func (s *Stage) rest() error {
	if s.behind() {
		s.phase = phaseKeeping
		return nil
	}
	if s.halting.pausedBy == PausedByBudget && !s.config.Stepwise { // nobody can raise it while the scene runs
		s.halting.stop(agenda.StoppedByBudget, 0)
		s.halting.Final = false
		return s.next()
	}
	s.effect(Effect{Act: ActRest})
	return nil
}

// runLifecycle runs a workflow of the scene itself as the only turn of the open wave.
func (s *Stage) runLifecycle(workflow string) error {
	if workflow != "" {
		s.wave.order, s.wave.workflow = []uint32{uint32(s.scene.OwnOrdinal())}, workflow
	}
	return s.pump()
}

// openLifecycle opens a wave that begins with a pause, a resumption or the end of the scene, which an order may
// ask for. What was deferred and is due joins it, but for most ends: that by the script has what the script
// asked for.
func (s *Stage) openLifecycle(at protocol.Time, f protocol.Fact, last *Order) error {
	w := s.openWave(at)
	w.keep(f)
	if last != nil {
		if err := w.changes.keepLast(last); err != nil {
			return err
		}
	}
	joins, workflow := true, ""
	switch x := f.(type) {
	case *agenda.Paused:
		workflow = s.scene.Def.Lifecycle.Pause
	case *agenda.Resumed:
		workflow = s.scene.Def.Lifecycle.Resume
	case *agenda.Ended:
		joins, workflow = x.Reason == agenda.StoppedByOutcome, s.scene.Moment(hook.SceneEnd, s.scene.Def.Lifecycle.End)
	}
	if joins {
		w.joinDeferred()
	}
	return s.runLifecycle(workflow)
}
