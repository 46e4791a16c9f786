package pebbledb

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"tavernsim/protocol"
)

// LogDamage is where the write-ahead log is damaged, and so ends for
// [Options.ToDamage].
type LogDamage struct {
	File string   // the log's file
	At   int64    // end of the last batch that is whole
	Lost int64    // bytes from there on, of this file and of later logs
	Left []string // later logs: what is in them came after what is lost
}

func (d *LogDamage) Error() string {
	text := fmt.Sprintf("the write-ahead log %s is damaged at byte %d", d.File, d.At)
	if n := len(d.Left); n > 0 {
		text += fmt.Sprintf(", and %d more came after it", n)
	}
	return fmt.Sprintf("%s; %d bytes are lost", text, d.Lost)
}

// openToDamage opens up to a damage of the log what did not open as a whole. Of
// several damages the latest is tried first: those in logs that are in tables
// already are no obstacle.
//
// In the newest log Pebble takes a damage near its end for the torn end that a
// kill leaves, and opens; that is told as a damage too where something that is
// whole comes behind.
func (db *DB) openToDamage(o Options) error {
	base := db.guard.FS
	damages := logDamages(base, db.dir)
	whole := db.open(o)
	if k := protocol.KindOf(whole); whole != nil && k != protocol.KindCorrupt && k != protocol.KindTransient {
		return whole
	}
	if n := len(damages); whole == nil && n > 0 && len(damages[n-1].Left) == 0 {
		db.damage = damages[n-1]
	}
	if whole == nil {
		return nil
	}
	for _, d := range slices.Backward(damages) {
		db.guard = newGuard(&cutFS{FS: base, dir: db.dir, damage: d}, false)
		if db.open(o) == nil {
			db.damage = d
			return nil
		}
	}
	db.guard = newGuard(base, false)
	return whole
}

// logDamages looks for damages in all logs of a directory, oldest first. It is
// Pebble that reads them. The torn end of the newest is none.
func logDamages(fsys FS, dir string) (list []*LogDamage) {
	logs, err := wal.Scan(wal.Dir{FS: fsys, Dirname: dir})
	if err != nil {
		return nil
	}
	for i, l := range logs {
		end, err := readLog(l)
		torn := i == len(logs)-1 && errors.Is(err, record.ErrUnexpectedEOF) && !goesOn(l, end.Physical)
		if errors.Is(err, io.EOF) || torn {
			continue
		}
		d := &LogDamage{File: fsys.PathBase(end.PhysicalFile), At: end.Physical, Lost: -end.Physical}
		for j, later := range logs[i:] {
			size, _ := later.PhysicalSize() // of a file that does not tell nothing is counted
			d.Lost += int64(size)
			if j > 0 {
				_, name := later.SegmentLocation(0)
				d.Left = append(d.Left, fsys.PathBase(name))
			}
		}
		list = append(list, d)
	}
	return list
}

// readLog reads a log until it fails, or ends with io.EOF: where its last whole
// batch ends.
func readLog(l wal.LogicalLog) (end wal.Offset, err error) {
	r := l.OpenForRead()
	defer r.Close()
	for err == nil {
		_, end, err = r.NextRecord()
	}
	return end, err
}

// logBlock is the size of a log's blocks: chunks of batches do not lie across
// their borders, so whole ones are found again behind a damage.
const logBlock = 32 << 10

// goesOn reports whether a batch begins in one of the blocks behind the one in
// which reading ended. A kill leaves nothing behind a torn end.
func goesOn(l wal.LogicalLog, end int64) bool {
	fsys, name := l.SegmentLocation(l.NumSegments() - 1)
	f, err := fsys.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	for at := (end/logBlock + 1) * logBlock; err == nil && at < info.Size(); at += logBlock {
		block := io.NewSectionReader(f, at, min(logBlock, info.Size()-at))
		if _, none := readerOf(record.NewReader, block, uint64(l.Num)).Next(); none == nil {
			return true
		}
	}
	return false
}

// readerOf makes a reader; the type of a log's number cannot be named outside of
// Pebble.
func readerOf[N ~uint64](make func(io.Reader, N) *record.Reader, r io.Reader, log uint64) *record.Reader {
	return make(r, N(log))
}

// cutFS is a file system on which the log ends at its damage.
type cutFS struct {
	FS
	dir    string
	damage *LogDamage
}

// List implements vfs.FS: logs behind the damage are not there.
func (c *cutFS) List(dir string) ([]string, error) {
	names, err := c.FS.List(dir)
	if dir == c.dir {
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(c.damage.Left, n) })
	}
	return names, err
}

// Open implements vfs.FS.
func (c *cutFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	if err == nil && name == c.PathJoin(c.dir, c.damage.File) {
		f = &cutFile{File: f, good: io.NewSectionReader(f, 0, c.damage.At)}
	}
	return f, err
}

// cutFile is a log up to its damage.
type cutFile struct {
	vfs.File
	good *io.SectionReader
}

func (f *cutFile) Read(p []byte) (int, error)             { return f.good.Read(p) }
func (f *cutFile) ReadAt(p []byte, at int64) (int, error) { return f.good.ReadAt(p, at) }
