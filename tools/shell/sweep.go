package shell

import (
	"context"
	"slices"
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

// finish cleans what halted sessions of one scene left. A folder that several of them have is read once.
func finish(list ...*session) {
	list = slices.DeleteFunc(list, func(s *session) bool {
		s.follows(context.Background())
		s.sweeping.Lock()
		if s.clean {
			s.sweeping.Unlock()
			return true
		}
		s.takeBack()
		return false
	})
	failed := lastSweep(list)
	for _, s := range list {
		s.trust.leave(s, !slices.ContainsFunc(s.bounds, func(dir string) bool { return failed[dir] != nil }))
		_ = s.remove() // a folder for files of the moment
		s.clean = true
		close(s.cleaned)
		s.sweeping.Unlock()
	}
}

// lastSweep looks at all files of sessions, whatever their times are: no process is left, and before one could write
// through a mapping of a file, which moves no time. failed has, by folder, why some were not looked at.
func lastSweep(list []*session) (failed map[string]error) {
	var dirs []string
	var has func(text string) bool
	for _, s := range list {
		if has = s.opt.Has; has == nil || s.trust.first(s).IsZero() {
			return nil // so it is for all of a scene
		}
		for _, dir := range s.bounds {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return folders.LookUntil(dirs, func(dir string) error {
		_, err := folders.Sweep([]string{dir}, time.Time{}, has)
		return err
	})
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
