package operator

import (
	"context"
	"io/fs"
	"os"
	"sync"

	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools"
	"tavernsim/tools/grants"
)

// regrant reads the file of grants again when it is another one than at the last look.
type regrant struct {
	of    Files
	given string // file; "" = where it is looked for without a name

	mu    sync.Mutex
	seen  fs.FileInfo // nil = there was no file
	store *grants.Store
	fault error // why nothing is granted
}

// look notes which file there is. The caller reads it afterwards: what changes in between is seen by the next look.
func (r *regrant) look() (another bool) {
	file, exists := GrantsFile(r.given)
	var now fs.FileInfo
	if exists {
		now, _ = os.Stat(file) // one that cannot be read has a fault
	}
	was := r.seen
	r.seen = now
	if now == nil || was == nil {
		return now != was
	}
	return !os.SameFile(was, now) || was.ModTime() != now.ModTime() || was.Size() != now.Size() || was.Mode() != now.Mode()
}

// renew lets the grants count that the file has now; the error says why no call may be made.
func (s *Set) renew() error {
	r := &s.grants
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.look() {
		return r.fault
	}
	store, err := r.of.Grants(r.given)
	var take func() error
	if err == nil {
		take, err = s.Renewed(own.Files{Grants: store, Secrets: s.opt.Secrets})
	}
	if err == nil {
		err = take()
	}
	if r.fault = nil; err != nil {
		r.fault = protocol.Errorf(protocol.KindDenied, "no tool may be called: %w", err)
		return r.fault
	}
	r.store = store
	return nil
}

// around carries out a call with the grants that the file has now, and notes it in the log.
func (s *Set) around(t *project.Tool, params map[string]any, do func() tools.Result) tools.Result {
	carry := func() tools.Result {
		if s.opt.Mode == tooling.Live || s.opt.Mode == "" {
			if err := s.renew(); err != nil {
				r := tools.Fail(protocol.KindOf(err), err.Error())
				r.Meta.Tool = t.Definition.ID
				return r
			}
		}
		return do()
	}
	if s.log == nil {
		return carry()
	}
	return s.audited(t, params, carry)
}

// Call makes a call of a text, as Try does.
func (s *Set) Call(ctx context.Context, q *effect.Ask) tools.Result {
	t, ok := s.opt.Project.Tool(q.Call.Tool)
	if !ok {
		return s.Set.Call(ctx, q)
	}
	return s.around(t, q.Call.Params, func() tools.Result { return s.Set.Call(ctx, q) })
}

// Remedy adds to a denial what the operator can do about it.
func (s *Set) Remedy(r *tools.Result) {
	if r.Error == nil || r.Status != tools.Denied {
		return
	}
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	r.Error.Message = s.grants.store.Remedy(r.Error.Message, s.dir)
}
