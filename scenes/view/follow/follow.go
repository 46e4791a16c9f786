// Package follow shows the new facts of a run while another process writes it.
//
// [Run] opens the run directory, shows what is new, closes it, pauses and begins again.
// It takes no lock and sends the other process no message. An open copies and replays
// the logs of the database. Therefore a pause is 0.5 s to 5 s, and so long that an
// opening of up to 50 ms takes at most a hundredth of a core. In the process that runs a
// scene, use persistence.Journal.Follow.
package follow

import (
	"context"
	"errors"
	"slices"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/inspect"
)

const (
	leastPause = 500 * time.Millisecond
	mostPause  = 5 * time.Second // on a busy machine a reader opens late, and works no more for that
	share      = 100             // a pause is so many times as long as the open before it
)

// Options say what is followed.
type Options struct {
	Dir   string
	Scene string // "" = the only one
	All   bool   // begin with the first fact; otherwise with the next one
	Alone func() // is called when no process runs the scene any more; may be nil
}

// Run calls show with the scene as it is, and the first seq that is new, whenever
// there is something new. It returns nil when the scene has ended and everything was
// shown, show's error, or an error of kind cancelled when ctx ends. A run that has kept
// nothing yet, or that stopped before its end, is waited for.
func Run(ctx context.Context, opt Options, show func(s *inspect.Scene, from uint64) error) error {
	f := follower{Options: opt, show: show}
	if opt.All {
		f.from = 1
	}
	for {
		begun := time.Now()
		opened, over, err := f.look()
		if err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return protocol.Errorf(protocol.KindCancelled, "follow run %s: %w", opt.Dir, ctx.Err())
		case <-time.After(min(max(leastPause, share*opened.Sub(begun)), mostPause)):
		}
	}
}

type follower struct {
	Options
	show  func(*inspect.Scene, uint64) error
	from  uint64 // first seq that was not shown; 0 = not known yet
	alone bool
}

// look opens the run once; opened is when that was done.
func (f *follower) look() (opened time.Time, over bool, err error) {
	run, err := inspect.Open(f.Dir)
	if err != nil {
		return time.Now(), false, f.notYet(err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	s, err := run.Scene(f.Scene)
	if opened = time.Now(); err == nil && s.Journal().Durable().Number == 0 {
		err = protocol.Errorf(protocol.KindNotFound, "scene %s: its journal is empty", s.ID)
	}
	if err != nil {
		return opened, false, f.notYet(err)
	}
	ended, err := history.End(s.Journal())
	if err != nil {
		return opened, false, err
	}
	f.tell(ended == "" && s.RunBy() == "")
	end := s.Journal().Durable().Last
	if f.from == 0 {
		f.from = end + 1
	}
	if f.from <= end {
		if err := f.show(s, f.from); err != nil {
			return opened, false, err
		}
		f.from = end + 1
	}
	return opened, ended != "", nil
}

// notYet is no error for a run that is there and has kept nothing, or that changed
// too often while it was opened.
func (f *follower) notYet(err error) error {
	m, missing := rundir.ReadManifest(f.Dir)
	kind := protocol.KindOf(err)
	if missing != nil || kind != protocol.KindNotFound && kind != protocol.KindTransient || f.Scene != "" && !slices.Contains(m.Scenes, f.Scene) {
		return err
	}
	if kind == protocol.KindNotFound {
		f.from = max(f.from, 1) // what comes is new
	}
	return nil
}

func (f *follower) tell(alone bool) {
	if alone && !f.alone && f.Alone != nil {
		f.Alone()
	}
	f.alone = alone
}
