package files

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"tavernsim/protocol"
	"tavernsim/tools/mount"
)

// locks let one edit at a time have a file.
type locks struct {
	mu sync.Mutex
	of map[string]*lock // by the file on this machine
}

type lock struct {
	free chan struct{} // has an element while nobody has the file
	want int           // edits that have it or wait for it
}

// take waits until the files are free, or ctx ends. Everybody takes files in the same
// order, so nobody waits for ever. The caller owes done, also with an error.
func (l *locks) take(ctx context.Context, s *mount.Source, files []wanted) (done func(), err error) {
	var names, has []string
	for _, w := range files {
		if name := placeOf(s, w.uri); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	done = func() {
		for _, name := range has {
			l.give(name)
		}
	}
	for _, name := range slices.Compact(names) {
		x := l.find(name)
		select {
		case <-x.free:
			has = append(has, name)
		case <-ctx.Done():
			l.leave(name)
			return done, ended(ctx)
		}
	}
	return done, nil
}

func (l *locks) find(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.of[name]
	if x == nil {
		x = &lock{free: make(chan struct{}, 1)}
		x.free <- struct{}{}
		l.of[name] = x
	}
	x.want++
	return x
}

func (l *locks) give(name string) {
	l.mu.Lock()
	l.of[name].free <- struct{}{}
	l.mu.Unlock()
	l.leave(name)
}

func (l *locks) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.of[name]; x.want == 1 {
		delete(l.of, name)
	} else {
		x.want--
	}
}

// placeOf is the place of a file on this machine, without links on its way; "" = it has none,
// and is refused later.
func placeOf(s *mount.Source, uri string) string {
	m, name, err := mount.Path(uri)
	if err != nil || s.Folders[m] == "" {
		return ""
	}
	at := filepath.Join(s.Folders[m], filepath.FromSlash(path.Dir(name)))
	if dir, err := filepath.EvalSymlinks(at); err == nil {
		at = dir
	}
	return filepath.Join(at, path.Base(name))
}

func ended(ctx context.Context) error {
	return protocol.Errorf(protocol.KindCancelled, "%w", context.Cause(ctx))
}
