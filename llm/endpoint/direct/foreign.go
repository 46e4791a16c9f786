package direct

import (
	"fmt"
	"strings"
)

// beginning is how each answer over HTTP/1.1 begins.
const beginning = "HTTP"

// Foreign is the failure of a request whose answer is not of HTTP/1.1. Asking again does not help.
type Foreign struct {
	Start string // of the answer, 4 bytes
}

func (f *Foreign) Error() string {
	const head = "the server does not answer in HTTP/1.1: "
	switch {
	case strings.HasPrefix(f.Start, "\x00\x00"): // the frame that a server of HTTP/2 begins with
		return head + "it speaks HTTP/2 alone, as servers of gRPC do; base_url has to name its port for JSON over HTTP"
	case strings.HasPrefix(f.Start, "\x15\x03"): // an alert of TLS
		return head + "it speaks TLS; base_url has to begin with https://"
	}
	return fmt.Sprintf("%sits answer begins with %q; base_url may name the port of another program", head, f.Start)
}
