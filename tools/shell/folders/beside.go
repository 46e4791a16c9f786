package folders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"tavernsim/protocol"
)

// Beside is the mark of a folder that is no part of a run; it lies beside the folder. As long as a process has a mark
// there it locks the folder: the lock goes with the process, so a mark without one was left by a process that was killed.
type Beside struct {
	beside, name string

	mu   sync.Mutex
	lock *os.File // nil = this process has no mark
}

// NewBeside makes one for a folder. It touches nothing.
func NewBeside(folder string) *Beside {
	b := &Beside{}
	b.beside, b.name = filepath.Split(folder)
	return b
}

func (b *Beside) mark() string { return filepath.Join(b.beside, b.name+marked) }

// Note writes the mark, or removes it as [Mark.Note] does. The mark of another process stays as it is.
func (b *Beside) Note(m Mark) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.Since.IsZero() {
		if b.lock == nil {
			return nil
		}
		err := m.Note(b.beside, b.beside, b.name)
		if err == nil {
			b.release()
		}
		return err
	}
	held := b.lock != nil
	if !held {
		if err := b.hold(); err != nil {
			return err
		}
		if _, err := os.Lstat(b.mark()); err == nil {
			b.release()
			return protocol.Errorf(protocol.KindConflict, "another simd was killed meanwhile, and programs with secrets wrote into the folder: the next simd that begins with it cleans it, as %s says", b.mark())
		}
	}
	err := m.Note(b.beside, b.beside, b.name)
	if err != nil && !held {
		b.release()
	}
	return err
}

// Clean cleans the folder as [Clean] does if a process left a mark that was killed. Others than programs write there, too:
// if a secret has no value any more it removes nothing, and says so.
func (b *Beside) Clean(known func(name string) bool, has func(text string) bool) (removed Swept, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := os.Lstat(b.mark()); b.lock != nil || errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err := b.hold(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return removed, protocol.Errorf(protocol.KindOf(err), "%w; %s says which files may have a secret that a killed process left", err, b.mark())
	}
	defer b.release()
	return cleanOne(b.beside, b.beside, b.name, known, has, false)
}

// Close gives up the lock. A mark that is still there is one that was left.
func (b *Beside) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release()
}

func (b *Beside) hold() error {
	f, err := os.Open(filepath.Join(b.beside, b.name))
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return protocol.Errorf(protocol.KindConflict, "another simd has programs with secrets in %s: wait until it has ended, or take another folder", f.Name())
		}
		return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
	}
	b.lock = f
	return nil
}

func (b *Beside) release() {
	if b.lock != nil {
		unlock(b.lock) // a process that is being started may have the descriptor, too, and its end is not that of the lock
		_ = b.lock.Close()
		b.lock = nil
	}
}
