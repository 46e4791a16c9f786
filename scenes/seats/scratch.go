package seats

import (
	"os"

	"tavernsim/scenes/run/rundir/parts"
)

// Scratch makes an empty file in the run directory that nobody else sees, for [Options.File], and that is gone when it is
// closed. Where a file can be removed that is open, a kill leaves nothing of it either.
func Scratch(dir string) (*ScratchFile, error) {
	f, err := os.CreateTemp(dir, parts.Passive)
	if err != nil {
		return nil, err
	}
	return &ScratchFile{f, os.Remove(f.Name()) == nil}, nil
}

// ScratchFile is a file of [Scratch].
type ScratchFile struct {
	*os.File
	removed bool
}

// Close ends it, with what it holds.
func (f *ScratchFile) Close() error {
	err := f.File.Close()
	if !f.removed {
		_ = os.Remove(f.Name())
	}
	return err
}
