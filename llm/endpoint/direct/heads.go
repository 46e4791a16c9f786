package direct

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// mostHeads is how many headers of answers are remembered.
const mostHeads = 64

// heads are the headers of the last answers, as their bytes came. A server says the same few again and again, as long
// as its clock shows the same second; net/http reads each once.
type heads struct {
	mu    sync.Mutex // guards the following field
	known map[string]*head
}

// head is what net/http has read of a header. Nobody changes what is in it.
type head struct {
	answer http.Response // without a body
	rest   time.Duration // of conn
	keeps  time.Duration // of conn
}

// read makes a head of an answer.
func read(answer *http.Response) head {
	h := head{answer: *answer, keeps: keptFor(answer.Header)}
	h.answer.Body, h.answer.Request = nil, nil
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		h.rest = restTime
	}
	return h
}

// next gives the header that a connection has received whole, if it is remembered, and its bytes. The bytes are the
// buffer's.
func (h *heads) next(in *bufio.Reader) (known *head, raw []byte) {
	start, _ := in.Peek(in.Buffered())
	end := bytes.Index(start, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, nil
	}
	raw = start[:end+4]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[string(raw)], raw
}

// remember keeps the header of an answer whose body has a length. Other answers are read by net/http.
func (h *heads) remember(raw string, x head) {
	if a := &x.answer; a.StatusCode != http.StatusOK || a.ContentLength <= 0 || len(a.TransferEncoding) > 0 || a.Close {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= mostHeads {
		h.known = make(map[string]*head, mostHeads)
	}
	h.known[raw] = &x
}

// sized is a body with a length.
type sized struct {
	in   *bufio.Reader
	left int64
}

// Read implements io.Reader.
func (s *sized) Read(p []byte) (n int, err error) {
	if s.left > 0 {
		n, err = s.in.Read(p[:min(int64(len(p)), s.left)])
		s.left -= int64(n)
	}
	switch {
	case s.left == 0:
		err = io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
