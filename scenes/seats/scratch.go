package seats

import (
	"os"
	"path/filepath"

	"tavernsim/internal/metrics/disk"
	"tavernsim/protocol"
	"tavernsim/scenes/run/room"
	"tavernsim/scenes/run/rundir/parts"
)

// reserve is how many bytes of its file system a scratch file leaves free: the journal needs room, and stops the run without.
const reserve = 1 << 30

// Scratch makes an empty file in the run directory that nobody else sees, for [Options.File], and that is gone when it is
// closed. Where a file can be removed that is open, a kill leaves nothing of it either.
func Scratch(dir string) (*ScratchFile, error) {
	f, err := os.CreateTemp(dir, parts.Passive)
	if err != nil {
		return nil, err
	}
	return &ScratchFile{f, os.Remove(f.Name()) == nil, reserve}, nil
}

// ScratchFile is a file of [Scratch].
type ScratchFile struct {
	*os.File
	removed bool
	reserve uint64
}

// WriteAt implements [io.WriterAt]. It writes nothing when the file system would have less room afterwards than is left to the
// journal. That is asked each time: what was written before is discarded when nobody reads it, so nearly each write takes room.
func (f *ScratchFile) WriteAt(b []byte, at int64) (int, error) {
	dir := filepath.Dir(f.Name())
	if free, _, ok := disk.Space(dir); ok && free < f.reserve+uint64(len(b)) {
		return 0, protocol.Errorf(protocol.KindLimit, "%s would have less than %s free, which are the journal's", dir, room.Size(f.reserve))
	}
	return f.File.WriteAt(b, at)
}

// Discard implements [File].
func (f *ScratchFile) Discard(at, n int64) {
	if info, err := f.Stat(); err == nil && at < info.Size() && at+n >= info.Size() {
		_ = f.Truncate(at) // what is not given back is written again
		return
	}
	punch(f.File, at, n)
}

// Close ends it, with what it holds.
func (f *ScratchFile) Close() error {
	err := f.File.Close()
	if !f.removed {
		_ = os.Remove(f.Name())
	}
	return err
}
