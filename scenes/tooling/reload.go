package tooling

import (
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/scenes/tooling/own"
)

// Next makes the tools of another edition of the project ready, with these files of the operator;
// inputs is its copy. It keeps the sessions, secrets and reports of the set. Nothing changes until [Set.Go].
func (s *Set) Next(p *project.Project, inputs string, f own.Files) (*Set, error) {
	now := s.now()
	opt := now.opt
	opt.Project, opt.Grants, opt.Secrets = p, f.Grants, f.Secrets
	if opt.Mounts.Project != "" {
		opt.Mounts.Project = inputs
	}
	opt.before = now
	next, err := ForTries(opt)
	if err == nil && len(next.tools) == 0 {
		err = protocol.Errorf(protocol.KindConflict, "no tool is left")
	}
	return next, err
}

// inherit takes what outlives an edition from the set before.
func (s *Set) inherit(before *Set) {
	if before == nil {
		return
	}
	s.refs, s.files, s.shell, s.board, s.hooks, s.replayed = before.refs, before.files, before.shell, before.board, before.hooks, before.replayed
	for id, t := range s.tools {
		if was := before.tools[id]; was != nil {
			t.leaks = was.leaks
		}
	}
}

// Go lets calls that begin from now on be carried out by the next set. The programs of the one before
// end when its calls have, or with the scene if they last. A deliberation under way may have been told of other parameters: its
// calls are checked again.
func (s *Set) Go(next *Set) {
	before := s.now()
	s.next.Store(next)
	go before.retire()
}

// retire ends the programs of an edition that another one follows. Those of the first one last to the
// end of the scene if hooks ask them, or if they are in the places of models or people: no edition
// changes their plugins.
func (s *Set) retire() {
	s.calls.Lock() // until the last call has ended; new ones go to the next set
	defer s.calls.Unlock()
	if s.opt.before != nil || s.hooks.Plugin() == "" && !overrides.Last(s.over) {
		_ = s.end() // it ends what runs, and has nothing to say
	}
}

// now is the set of the edition that counts.
func (s *Set) now() *Set {
	if n := s.next.Load(); n != nil {
		return n
	}
	return s
}

// begin is the set that carries a call out, which owes done.
func (s *Set) begin() (now *Set, done func()) {
	for {
		now = s.now()
		now.calls.RLock()
		if now == s.now() {
			return now, now.calls.RUnlock
		}
		now.calls.RUnlock()
	}
}
