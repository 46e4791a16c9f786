package child

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"

	"tavernsim/internal/wirejson"
)

// Lines reads messages, a line each, as who decodes them gets them.
type Lines struct {
	// Instead is the line in the place of a message that is longer than it may be, and whose id is known; nothing
	// leaves it out. nil, or an error, ends the reading.
	Instead func(*Long) ([]byte, error)

	below  io.Closer
	from   *bufio.Reader
	most   int
	mend   func([]byte) ([]byte, error)
	unread []byte
}

// NewLines makes one. A line has at most so many bytes, and is what mend makes of it, where nothing leaves it out; an
// error of mend ends the reading. nil = it is as it came.
func NewLines(from io.ReadCloser, most int, mend func([]byte) ([]byte, error)) *Lines {
	if mend == nil {
		mend = func(line []byte) ([]byte, error) {
			return line, wirejson.Read(line, func(r *wirejson.Reader) {
				if !r.Is('{') {
					r.Skip()
					return
				}
				r.Distinct(func([]byte) {}) // who reads the line looks into its parts
			})
		}
	}
	return &Lines{below: from, from: bufio.NewReader(from), most: most, mend: mend}
}

// Parts are the id, the method and the result of a message of JSON-RPC, nil if it has none. An error is a
// text that is no single value, and a message that has a name twice: readers differ in which of
// the two they take. twice says so of an object within it.
func Parts(message []byte) (id, method, result []byte, twice, err error) {
	err = wirejson.Read(message, func(r *wirejson.Reader) {
		if !r.Is('{') {
			_, twice = r.Doubled()
			return
		}
		r.Distinct(func(name []byte) {
			raw, within := r.Doubled()
			twice = cmp.Or(twice, within)
			switch string(name) {
			case "id":
				id = raw
			case "method":
				method = raw
			case "result":
				result = raw
			}
		})
	})
	return id, method, result, twice, err
}

// Close implements io.Closer.
func (l *Lines) Close() error { return l.below.Close() }

// Read implements io.Reader.
func (l *Lines) Read(p []byte) (int, error) {
	for len(l.unread) == 0 {
		line, err := l.line()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return 0, err
		}
		if len(line) == 0 {
			continue
		}
		mended, unsound := l.mend(line)
		if unsound != nil {
			return 0, cmp.Or(err, unsound) // what breaks off at the end is no fault of who wrote it
		}
		if len(mended) > 0 {
			l.unread = append(mended, '\n')
		}
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// tooLong drops the rest of a line, whose bytes line and part have been read.
func (l *Lines) tooLong(line, part []byte, err error) ([]byte, error) {
	var s skim
	s.read(line)
	for s.read(part); err == bufio.ErrBufferFull && l.Instead != nil && !s.broken && s.long.Bytes <= maxSkipped*l.most; s.read(part) { //nolint:errorlint // ReadSlice gives it as it is
		part, err = l.from.ReadSlice('\n')
	}
	long := s.end(l.most)
	if err != nil || long == nil || l.Instead == nil || long.Bytes > maxSkipped*l.most {
		return nil, (&Long{Most: l.most}).Error()
	}
	return l.Instead(long)
}

// line is the next line without blanks around it; its bytes are the caller's. The last one may
// come with the error.
func (l *Lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		if len(line)+len(part) > l.most+1 {
			return l.tooLong(line, part, err)
		}
		if line = append(line, part...); err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice gives it as it is
			return bytes.TrimSpace(line), err
		}
	}
}
