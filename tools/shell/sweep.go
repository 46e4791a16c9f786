package shell

import (
	"strings"
	"time"

	"tavernsim/tools/shell/folders"
)

// takeBack takes the secrets out of files that were lent them.
func (s *session) takeBack() {
	if s.loan != nil {
		s.loan.Back()
		s.loan = nil
	}
}

// sweep removes files that a session wrote a secret to, or named by one: its folders are kept
// with the run, and no record has a secret. After an error the next one looks at the same files.
func (s *session) sweep() (removed folders.Swept, err error) {
	s.takeBack()
	since, next := s.swept, folders.Moment()
	if since.IsZero() {
		since = s.trust.first(s)
	}
	if since.IsZero() || s.opt.Has == nil || s.clean {
		return removed, nil
	}
	if removed, err = folders.Sweep(s.bounds, since, s.opt.Has); err == nil {
		s.swept = next
		s.trust.swept(s, next)
	}
	return removed, err
}

// How often a last sweep is tried that this machine did not let look at all files, and how long it rests between.
const (
	lastTries = 20
	lastPause = 100 * time.Millisecond
)

// lastSweep looks at all files, whatever their times are: no process is left, and before one could write through a
// mapping of a file, which moves no time. After an error the mark of the session stays.
func (s *session) lastSweep() (err error) {
	s.takeBack()
	if s.trust.first(s).IsZero() || s.opt.Has == nil {
		return nil
	}
	for try := range lastTries {
		if try > 0 {
			<-time.After(lastPause)
		}
		if _, err = folders.Sweep(s.bounds, time.Time{}, s.opt.Has); !folders.OfMachine(err) {
			break
		}
	}
	return err
}

// toldOf says which files were removed.
func toldOf(removed folders.Swept) string {
	var told []string
	for _, x := range []struct {
		list []string
		why  string
	}{{removed.Files, "there was a secret in it"}, {removed.Unread, "nobody could read it"}} {
		const most = 5
		if len(x.list) == 0 {
			continue
		}
		text := "removed, for " + x.why + ": " + strings.Join(x.list[:min(len(x.list), most)], ", ")
		if len(x.list) > most {
			text += ", …"
		}
		told = append(told, text)
	}
	return strings.Join(told, "; ") + "; files in $HOME are kept by nobody"
}
