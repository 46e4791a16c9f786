package direct

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// agent is what net/http calls itself.
const agent = "Go-http-client/1.1"

// write writes a request. net/http's own writer makes fifteen objects
// for each.
func write(b *bytes.Buffer, r *http.Request) error {
	method, host := r.Method, r.Host
	if method == "" {
		method = http.MethodGet
	}
	if host == "" {
		host = r.URL.Host
	}
	if !token(method) || !printable(host) || strings.Contains(host, " ") {
		return fmt.Errorf("a request with the method %q to %q cannot be written", method, host)
	}
	b.WriteString(method)
	b.WriteByte(' ')
	b.WriteString(r.URL.RequestURI())
	b.WriteString(" HTTP/1.1\r\nHost: ")
	b.WriteString(host)
	if r.Header["User-Agent"] == nil {
		b.WriteString("\r\nUser-Agent: " + agent)
	}
	if r.Body != nil {
		b.WriteString("\r\nContent-Length: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), r.ContentLength, 10))
	}
	for name, values := range r.Header { // their order says nothing
		for _, value := range values {
			if err := field(b, name, value); err != nil {
				return err
			}
		}
	}
	b.WriteString("\r\n\r\n")
	return body(b, r)
}

// field writes a field of the header. Lengths are not the caller's.
func field(b *bytes.Buffer, name, value string) error {
	switch {
	case name == "Content-Length" || name == "Transfer-Encoding" || name == "Host":
		return nil
	case !token(name) || !printable(value):
		return fmt.Errorf("the field %q of the header has characters that no header has", name)
	}
	b.WriteString("\r\n")
	b.WriteString(name)
	b.WriteString(": ")
	b.WriteString(value)
	return nil
}

func body(b *bytes.Buffer, r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	size := int(r.ContentLength)
	b.Grow(size + 1)
	n, err := io.ReadFull(r.Body, b.AvailableBuffer()[:size+1]) // there is no byte more
	if err == nil {
		err = errors.New("there are more")
	}
	if n != size || !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the body has not the %d bytes that were announced: %d came: %w", size, n, err)
	}
	b.Write(b.AvailableBuffer()[:n])
	return nil
}

// token reports whether a text is a name of a header, or a method.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// printable reports whether a text has no character that ends a line.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
