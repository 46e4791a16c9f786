package shell

import (
	"strings"

	"tavernsim/tools/shell/folders"
)

// sweep removes files that a session wrote a secret to, or named by one: its folders are kept
// with the run, and no record has a secret.
func (s *session) sweep() (removed []string) {
	if s.loan != nil {
		s.loan.Back()
		s.loan = nil
	}
	if s.swept.IsZero() || s.opt.Has == nil || s.clean {
		return nil
	}
	since := s.swept
	s.swept = folders.Moment()
	removed = folders.Sweep(s.bounds, since, s.opt.Has)
	_ = s.note(s.swept) // the older mark says more
	return removed
}

// told says which files were removed.
func toldOf(removed []string) string {
	const most = 5
	shown := removed[:min(len(removed), most)]
	text := "removed, for there was a secret in it: " + strings.Join(shown, ", ")
	if len(removed) > most {
		text += ", …"
	}
	return text + "; files in $HOME are kept by nobody"
}
