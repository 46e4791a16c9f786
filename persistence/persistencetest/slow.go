package persistencetest

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SlowDisk is a file system in memory on which a sync of a write-ahead log takes
// so long.
func SlowDisk(sync time.Duration) vfs.FS { return slowFS{vfs.NewMem(), sync} }

type slowFS struct {
	vfs.FS
	sync time.Duration
}

func (s slowFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	return s.slow(name, f, err)
}

func (s slowFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.ReuseForWrite(oldname, newname, c)
	return s.slow(newname, f, err)
}

func (s slowFS) slow(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return slowFile{f, s.sync}, nil
}

type slowFile struct {
	vfs.File
	sync time.Duration
}

func (f slowFile) Sync() error { return f.wait(f.File.Sync) }

func (f slowFile) SyncData() error { return f.wait(f.File.SyncData) }

func (f slowFile) wait(sync func() error) error {
	<-time.After(f.sync)
	return sync()
}
