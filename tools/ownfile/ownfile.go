// Package ownfile reads files of the operator that others must not change, or not read, and
// files of folders that another user may have made.
//
// # Not here
//
// The contents of the files: tools/grants, tools/secrets.
package ownfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Guard says what is asked of a file.
type Guard struct {
	Not    fs.FileMode // bits of the mode that it must not have
	Reason string      // "only its owner may read it"
	Mend   string      // arguments of chmod that take the bits away
	Max    int         // bytes
}

// Read reads the file that it has looked at. A missing one is fs.ErrNotExist.
func Read(file string, g Guard) ([]byte, error) {
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&g.Not != 0 {
		return nil, fmt.Errorf("%s has the mode %s; %s: chmod %s %s", file, info.Mode(), g.Reason, g.Mend, file)
	}
	return all(f, g.Max)
}

// Open opens a regular file. Anything else is an error: a pipe would be waited for without
// end, and a device has no end.
func Open(file string) (*os.File, error) {
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s has the mode %s; want a regular file", file, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open does not wait for somebody who writes to a pipe.
func open(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// MaxFile bounds the bytes of a file of a run that is read whole.
const MaxFile = 1 << 30

// ReadAll reads a regular file of at most max bytes.
func ReadAll(file string, max int) ([]byte, error) {
	f, err := Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all(f, max)
}

func all(f *os.File, max int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err == nil && len(data) > max {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), max)
	}
	return data, err
}
