package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
)

// Pauses between two looks at what the processes do.
const (
	quiet     = 30 * time.Millisecond // nothing came for so long
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// patience is how long a shell waits for its next command before the end of the last one is taken for
// lost. A busy kernel hands on what was written to a terminal late, and until then nobody sees that it
// is there.
const patience = 2 * time.Second

// come is what came of a command by now.
type come int

const (
	done     come = iota // it has ended
	over                 // the session has
	runs                 // its time is over
	waits                // it waits for input
	stuck                // it has ended, and nobody knows how
	stopped_             // the shell has stopped itself
	unread               // the shell has not read it
	large                // its folders have too much
	left                 // whoever called has gone
)

// wait waits until a command has ended, waits for input, or has run for so long.
func (s *session) wait(ctx context.Context, most time.Duration) come {
	late := time.NewTimer(most)
	defer late.Stop()
	pause, was, idleSince := firstLook, busy, time.Time{}
	look := time.NewTimer(pause)
	defer look.Stop()
	for {
		s.mu.Lock()
		ended, finished, since, exit := s.ended != nil, s.marker == nil, time.Since(s.last), s.exit
		s.look.first = s.first
		s.mu.Unlock()
		switch {
		case finished && !ended && exit == notRead:
			return unread
		case finished && !ended:
			return done
		case s.isOver() && s.whyFull() != "":
			return large
		case s.isOver():
			return over
		}
		select {
		case <-s.changed:
			continue
		case <-s.gone:
			continue
		case <-late.C:
			return runs
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return runs
			}
			return left
		case <-look.C:
		}
		now := busy
		if since >= quiet && s.term.unread() == 0 { // else the end may be in it
			now = s.look.look(s.term.foreground())
		}
		if now != idle || was != idle {
			idleSince = time.Now()
		}
		if now == was && now != busy && time.Since(s.lastSeen()) >= quiet && (now != idle || time.Since(idleSince) >= patience) { // twice in a row: it is no moment between two others
			return map[state]come{reading: waits, idle: stuck, stopped: stopped_}[now]
		}
		pause = min(pause*3/2, lastLook)
		if now != was && now != busy {
			pause = firstLook
		}
		was = now
		look.Reset(pause)
	}
}

func (s *session) lastSeen() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// answer is what is told of a command.
func (s *session) answer(last bool) (text string, dropped int64, exit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tell(); last {
		s.show(len(s.pending))
	}
	text, dropped = s.screen.Take(last)
	if s.script != "" && s.marker == nil {
		_ = os.Remove(s.script) // the folder goes with the session
		s.script = ""
	}
	return text, dropped, s.exit
}

// tookNone tells how a session ended before it took a command.
func (x *Executor) tookNone(s *session) tools.Result {
	x.mu.Lock()
	x.drop(s.owner, s)
	x.mu.Unlock()
	out := map[string]any{}
	if failed := s.howOver(out); failed != nil {
		return *failed
	}
	return tools.Fail(protocol.KindTransient, fmt.Sprintf("the session took no command: %v", out["session"]))
}

// lose forgets a session that was halted.
func (x *Executor) lose(s *session) {
	s.restarted(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(s.owner, s)
}
