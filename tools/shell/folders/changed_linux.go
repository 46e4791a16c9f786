//go:build amd64 || arm64

package folders

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// changedSince reports whether a file was changed, or may have been: programs cannot set this
// time.
func changedSince(info fs.FileInfo, then time.Time) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || !time.Unix(s.Ctim.Unix()).Before(then)
}

// lock locks a folder for its process, unless another one has.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

func ownedBy(info fs.FileInfo, users []int) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(users, int(s.Uid))
}
