package direct

import (
	"cmp"
	"fmt"
	"strings"
)

// beginning is how each answer over HTTP/1.1 begins.
const beginning = "HTTP"

// Foreign is the failure of a request whose answer is not of HTTP/1.1.
type Foreign struct {
	Start string // of the answer, 4 bytes
}

// Known reports whether there is such an answer, of a protocol that is known: asking again does not help.
func (f *Foreign) Known() bool { return f != nil && f.speaks() != "" }

// speaks says what the server speaks, and what to do; "" = nobody knows.
func (f *Foreign) speaks() string {
	switch {
	case strings.HasPrefix(f.Start, "\x00\x00"): // the frame that a server of HTTP/2 begins with
		return "it speaks HTTP/2 alone, as servers of gRPC do; base_url has to name its port for JSON over HTTP"
	case strings.HasPrefix(f.Start, "\x15\x03"): // an alert of TLS
		return "it speaks TLS; base_url has to begin with https://"
	}
	return ""
}

func (f *Foreign) Error() string {
	return "the server does not answer in HTTP/1.1: " + cmp.Or(f.speaks(), fmt.Sprintf("its answer begins with %q; base_url may name the port of another program", f.Start))
}
