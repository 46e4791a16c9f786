// Package remains transfers the files that a program leaves in its folder out of its sandbox,
// over a pipe: [Send] in the worker, after everything else has ended, [Receive] in the
// engine, which does not trust the data.
//
// # Not here
//
// The end of a program (tools/sandbox); the use of the files (tools/script).
package remains

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Keep bounds files.
type Keep struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // of all together
}

// File is a file that was left.
type File struct {
	Path string // below the folder, with slashes, clean
	Data []byte
}

const maxName = 255 // bytes of a path

// Send sends the files below a folder, by path: for each the length of its path in four
// bytes, of its data in eight, and both. Files that are known are left out, and those whose
// names begin with a dot, which programs keep for themselves. left counts files for which
// there is no room, and those that cannot be read or named; a folder that cannot be listed, or not to its end, counts
// as one.
func Send(out io.Writer, dir string, keep Keep, known func(path string, data []byte) bool) (left int) {
	n, size := 0, int64(0)
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, at)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist): // its own program made it unreadable, or its path too long
			left++
			return nil
		case err != nil || name == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		data, ok := read(at, name, keep.Bytes-size)
		switch {
		case ok && known(name, data):
			return nil
		case !ok || n == keep.Files:
			left++
			return nil
		}
		n, size = n+1, size+int64(len(data))
		head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(len(name))), uint64(len(data)))
		if _, err := out.Write(append(head, name...)); err != nil {
			return fs.SkipAll
		}
		if _, err := out.Write(data); err != nil {
			return fs.SkipAll
		}
		return nil
	})
	return left
}

// read reads a file, which nothing changes any more; ok is false if it has more bytes than
// there is room for. The worker collects no garbage: it takes what the file has, once.
func read(at, name string, room int64) (data []byte, ok bool) {
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, false
	}
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > room {
		return nil, false
	}
	data = make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err == nil
}

// Receive reads files until their end, or a fault: a worker was ended in the middle, or
// something else writes to its pipe.
func Receive(from io.Reader, keep Keep) (files []File) {
	var head [12]byte
	for room := keep.Bytes; len(files) < keep.Files; {
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return files
		}
		name, size := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint64(head[4:])
		if name > maxName || size > uint64(room) {
			return files
		}
		body := make([]byte, uint64(name)+size)
		if _, err := io.ReadFull(from, body); err != nil {
			return files
		}
		if path := string(body[:name]); fs.ValidPath(path) && path != "." {
			files = append(files, File{path, body[name:]})
		}
		room -= int64(size)
	}
	return files
}
