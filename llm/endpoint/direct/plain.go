package direct

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// plain is an answer as nearly all are: of the status 200, with the length of its body, and with its whole header in
// the buffer of the connection. net/http reads the others. It makes twice as many objects for each.
type plain struct {
	http.Response
	in   *bufio.Reader
	left int64 // bytes of the body
}

// read reads the header; false = it is not plain, and nothing was read.
func (p *plain) read(in *bufio.Reader, r *http.Request) bool {
	start, _ := in.Peek(in.Buffered())
	end := bytes.Index(start, []byte("\r\n\r\n"))
	if end < 0 || r.Method == http.MethodHead {
		return false
	}
	status, fields, _ := strings.Cut(string(start[:end]), "\r\n")
	header := headerOf(fields)
	length, err := strconv.ParseUint(header.Get("Content-Length"), 10, 63)
	if status != "HTTP/1.1 200 OK" || err != nil || length == 0 {
		return false
	}
	_, _ = in.Discard(end + len("\r\n\r\n"))
	p.Response = http.Response{
		Status: status[len("HTTP/1.1 "):], StatusCode: http.StatusOK, Proto: status[:len("HTTP/1.1")], ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(length), Body: p, Request: r,
	}
	p.in, p.left = in, int64(length)
	return true
}

// headerOf reads fields, each of which has another name; nil = not all are plain, or one says that there is more to do than to
// read so many bytes. The values are parts of the text.
func headerOf(fields string) http.Header {
	n := strings.Count(fields, "\r\n") + 1
	header, values := make(http.Header, n), make([]string, 0, n)
	for line := range strings.SplitSeq(fields, "\r\n") {
		name, value, colon := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(name), strings.Trim(value, " \t")
		switch {
		case !colon || !token(name) || !printable(value) || header[name] != nil,
			name == "Transfer-Encoding", name == "Trailer", name == "Pragma",
			name == "Connection" && !strings.EqualFold(value, "keep-alive"):
			return nil
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return header
}

// Read implements io.Reader, of the body.
func (p *plain) Read(b []byte) (int, error) {
	n, err := p.in.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	switch {
	case p.left == 0:
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer. The owner of the connection closes that.
func (*plain) Close() error { return nil }
