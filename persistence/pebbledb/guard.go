package pebbledb

import (
	"os"
	"path"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/protocol"
)

// guardFS stands between Pebble and the file system, for three reasons.
//
// At level Process it takes syncs of write-ahead logs for done. It gives back what
// was set aside for a log when that is closed.
//
// It keeps a failed write from Pebble's log and manifest code, which answers
// one by a panic under two held locks or by ending the process. Such a failure
// is reported to Pebble as done and remembered here; whoever waits for a commit
// asks failed() after Pebble's answer and before giving his own. The failing
// write comes before the sync that answers, so no answer slips through.
//
// After the first failure nothing reaches the disk any more: a log with a hole
// must not grow behind the hole, and no table or manifest may speak of what the
// log lost. The disk stays as a kill at that moment would have left it. What
// Pebble writes from then on goes to a file system in memory, or its flushes
// would fail for ever, a commit that waits for one would never end, and nor
// would Close, and nor would Open, which waits for one. It is little: no commit is begun after a failure,
// and an Open that met one is refused.
type guardFS struct {
	vfs.FS
	lazyLogs bool // syncs of logs are not made
	err      atomic.Pointer[error]
	syncs    atomic.Int64 // of logs, that were made
	after    *vfs.MemFS   // files made after the failure
}

func newGuard(fsys vfs.FS, lazyLogs bool) *guardFS {
	return &guardFS{FS: fsys, lazyLogs: lazyLogs, after: vfs.NewMem()}
}

// failed returns the failure that ended writing, or nil.
func (g *guardFS) failed() error {
	if p := g.err.Load(); p != nil {
		return *p
	}
	return nil
}

// note remembers the first failure.
func (g *guardFS) note(op, name string, err error) {
	if err == nil {
		return
	}
	kind, advice := protocol.KindTransient, "close, remove the cause and open again"
	if isFull(err) {
		kind, advice = protocol.KindLimit, "close, make room on the disk and open again"
	}
	failure := error(protocol.Errorf(kind, "journal store: %s %s: %w; nothing more is written: %s", op, name, err, advice))
	g.err.CompareAndSwap(nil, &failure)
}

// hidden reports whether Pebble must not see failures of a file: it ends the
// process over them.
func (g *guardFS) hidden(name string) bool {
	return isLog(name) || strings.Contains(name, "MANIFEST")
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// check notes a failure and decides what Pebble sees of it.
func (g *guardFS) check(op, name string, err error) error {
	g.note(op, name, err)
	if g.hidden(name) {
		return nil
	}
	return err
}

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.create(name, c, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

func (g *guardFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.create(newname, c, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, c) })
}

func (g *guardFS) create(name string, c vfs.DiskWriteCategory, open func() (vfs.File, error)) (vfs.File, error) {
	if g.failed() != nil {
		return g.createAfter(name, c)
	}
	f, err := open()
	if g.note("create", name, err); err != nil {
		if g.hidden(name) {
			return g.createAfter(name, c)
		}
		return nil, err
	}
	return &guardFile{File: f, fs: g, name: name, log: isLog(name)}, nil
}

func (g *guardFS) createAfter(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.after.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return g.after.Create(name, c)
}

// isAfter reports whether a file was made after the failure.
func (g *guardFS) isAfter(name string) bool {
	if g.failed() == nil {
		return false
	}
	_, err := g.after.Stat(name)
	return err == nil
}

func (g *guardFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if g.isAfter(name) {
		return g.after.Open(name, opts...)
	}
	return openFile(g.FS, name, opts...)
}

func (g *guardFS) Stat(name string) (vfs.FileInfo, error) {
	if g.isAfter(name) {
		return g.after.Stat(name)
	}
	return g.FS.Stat(name)
}

func (g *guardFS) Rename(oldname, newname string) error {
	switch {
	case g.isAfter(oldname):
		return g.after.Rename(oldname, newname)
	case g.failed() != nil:
		return nil
	}
	return g.check("rename", newname, g.FS.Rename(oldname, newname))
}

func (g *guardFS) Link(oldname, newname string) error {
	if err := g.failed(); err != nil {
		return err
	}
	return g.FS.Link(oldname, newname)
}

// Remove and RemoveAll may fail without harm: a file too many is removed at the
// next Open.
func (g *guardFS) Remove(name string) error {
	switch {
	case g.isAfter(name):
		return g.after.Remove(name)
	case g.failed() != nil:
		return nil
	}
	return g.FS.Remove(name)
}

func (g *guardFS) RemoveAll(name string) error {
	if g.failed() != nil {
		return nil
	}
	return g.FS.RemoveAll(name)
}

func (g *guardFS) MkdirAll(dir string, perm os.FileMode) error {
	if g.failed() != nil {
		return nil
	}
	return g.FS.MkdirAll(dir, perm)
}

func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: f, fs: g, name: name, dir: true}, nil
}

func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// guardFile is a file that was opened for writing before any failure, or a
// directory.
type guardFile struct {
	vfs.File
	fs   *guardFS
	name string
	log  bool
	dir  bool
	end  int64 // of what was written
}

// ended answers for a file once writing has ended: a table's writer is told,
// starts again and lands in memory; everybody else is told that all is well.
func (f *guardFile) ended() (ended bool, err error) {
	if err = f.fs.failed(); err == nil {
		return false, nil
	}
	if f.dir || f.fs.hidden(f.name) {
		err = nil
	}
	return true, err
}

// check hides a failed sync of the directory too: Pebble makes one after
// creating a log and panics when it fails.
func (f *guardFile) check(op string, err error) error {
	err = f.fs.check(op, f.name, err)
	if f.dir {
		return nil
	}
	return err
}

func (f *guardFile) Write(p []byte) (int, error) {
	if ended, err := f.ended(); ended {
		return len(p), err
	}
	n, err := f.File.Write(p)
	f.end += int64(n)
	if err = f.check("write", err); err == nil {
		n = len(p)
	}
	return n, err
}

func (f *guardFile) WriteAt(p []byte, off int64) (int, error) {
	if ended, err := f.ended(); ended {
		return len(p), err
	}
	n, err := f.File.WriteAt(p, off)
	return n, f.check("write", err)
}

// Preallocate implements vfs.File. It makes syncs cheaper; where there are none it
// would only leave a killed run larger.
func (f *guardFile) Preallocate(offset, length int64) error {
	if ended, err := f.ended(); ended || f.fs.lazyLogs {
		return err
	}
	return f.File.Preallocate(offset, length)
}

func (f *guardFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *guardFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *guardFile) sync(do func() error) error {
	if ended, err := f.ended(); ended {
		return err
	}
	if f.log && f.fs.lazyLogs {
		return nil
	}
	if f.log {
		f.fs.syncs.Add(1)
	}
	return f.check("sync", do())
}

func (f *guardFile) Close() error {
	onDisk := f.Fd() != vfs.InvalidFd
	err := f.File.Close()
	if f.fs.failed() != nil {
		return nil
	}
	if f.log && onDisk {
		_ = os.Truncate(f.name, f.end) // frees what lies behind; it costs room alone where it fails
	}
	return f.check("close", err)
}
