package shell

import (
	"errors"
	"slices"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/shell/folders"
)

// trust is what the sessions of a scene know together of secrets. What a program with one writes into a shared folder
// any other session may copy into its own, so from the first secret on all of them sweep, and have marks.
type trust struct {
	opt *Options

	mu    sync.Mutex           // guards the following fields; is taken behind sweeping of a session
	since time.Time            // the first secret was given then; zero = none was
	names []string             // of the secrets, as in marks
	live  map[*session]bool    // not cleaned yet
	noted map[string]time.Time // by owner: the moment of its mark, which is one for all its sessions
}

func newTrust(opt *Options) *trust {
	return &trust{opt: opt, live: map[*session]bool{}, noted: map[string]time.Time{}}
}

// enter lets a session live until leave.
func (t *trust) enter(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live[s] = true
}

// leave takes back the mark of a session that left nothing to be cleaned.
func (t *trust) leave(s *session, clean bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.live, s); clean && t.alone(s) && !t.noted[s.owner].IsZero() {
		_ = t.note(s, time.Time{}, nil) // else the next process looks again
	}
}

// alone reports whether no other session of an agent is left. The lock is held.
func (t *trust) alone(s *session) bool {
	for x := range t.live {
		if x != s && x.owner == s.owner {
			return false
		}
	}
	return true
}

// given notes that programs of a session get secrets, before they do: every session has a mark then. Without
// secrets it gives this one its mark, if any session had some.
func (t *trust) given(s *session, secrets map[string]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	names, was := slices.Clone(t.names), t.since
	for _, name := range protocol.SortedKeys(secrets) {
		if t.opt.Named != nil {
			name = t.opt.Named(s.owner, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if was.IsZero() {
		t.since = folders.Moment()
	}
	var err error
	for x := range t.live {
		since := t.noted[x.owner]
		switch {
		case since.IsZero():
			since = t.from(x)
		case len(names) == len(t.names):
			continue
		}
		err = errors.Join(err, t.note(x, since, names))
	}
	if err != nil {
		t.since = was
		return err
	}
	t.names = names
	return nil
}

// first is the moment since which files of a session may have a secret; zero = none has. A mark that an earlier session
// of its agent could not take back is older than the session.
func (t *trust) first(s *session) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, noted := t.from(s), t.noted[s.owner]
	if !noted.IsZero() && noted.Before(from) {
		return noted
	}
	return from
}

func (t *trust) from(s *session) time.Time {
	if !t.since.IsZero() && s.begun.After(t.since) {
		return s.begun
	}
	return t.since
}

// swept moves the mark of a session, which has looked at all that changed since the mark: what changed before has no secret.
func (t *trust) swept(s *session, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alone(s) && !t.noted[s.owner].IsZero() {
		_ = t.note(s, since, t.names) // the older mark says more
	}
}

// note writes the mark of a session, or takes it back at a zero moment. The lock is held.
func (t *trust) note(s *session, since time.Time, names []string) error {
	if t.opt.Unclean != nil && len(s.bounds) > 0 {
		if err := t.opt.Unclean(s.owner, folders.Mark{Folders: s.bounds, Since: since, Names: names}); err != nil {
			return err
		}
	}
	t.noted[s.owner] = since
	return nil
}

// unnoted is the kind of a failure to note a secret: another process may have the folder.
func unnoted(err error) protocol.ErrorKind {
	if protocol.KindOf(err) == protocol.KindConflict {
		return protocol.KindConflict
	}
	return protocol.KindTransient
}
