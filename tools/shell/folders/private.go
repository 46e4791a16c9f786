package folders

import (
	"errors"
	"os"
	"strings"
)

// What private folders are for; their names begin with it.
const (
	ForShell = "simd-shell-"
	ForCall  = "simd-call-"
)

// Private is a folder of the moment that is locked while its process lives: the lock goes
// with the process, whatever its number is and however it ended.
type Private struct {
	Path string
	lock *os.File
}

// NewPrivate makes a folder in the one for files of the moment.
func NewPrivate(purpose string) (*Private, error) {
	var last error
	for range 10 { // another process may take the folder for one that was left, until it is locked
		path, err := os.MkdirTemp("", purpose)
		if err != nil {
			return nil, err
		}
		p := &Private{Path: path}
		if last = p.hold(); last == nil {
			return p, nil
		}
		_ = p.Remove()
	}
	return nil, last
}

func (p *Private) hold() (err error) {
	if p.lock, err = os.Open(p.Path); err != nil {
		return err
	}
	if err := lock(p.lock); err != nil {
		return err
	}
	mine, err := p.lock.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(p.Path)
	if err == nil && !os.SameFile(mine, there) {
		err = errors.New("the folder was removed")
	}
	return err
}

// Remove removes the folder. It can be called again.
func (p *Private) Remove() error {
	if p == nil {
		return nil
	}
	err := os.RemoveAll(p.Path)
	if p.lock != nil {
		_ = p.lock.Close()
	}
	return err
}

// RemoveLeft removes private folders of these users whose processes have ended without that.
func RemoveLeft(users ...int) {
	dir, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return
	}
	defer dir.Close()
	list, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, d := range list {
		if d.IsDir() && (strings.HasPrefix(d.Name(), ForShell) || strings.HasPrefix(d.Name(), ForCall)) {
			removeLeft(dir, d.Name(), users)
		}
	}
}

func removeLeft(dir *os.Root, name string, users []int) {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() || !ownedBy(info, users) {
		return
	}
	f, err := dir.Open(name + asFolder)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) == nil {
		_ = dir.RemoveAll(name) // else the next session tries again
	}
}
