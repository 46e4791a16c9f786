// Package noswitch makes requests over HTTP that stay requests.
//
// A server may answer with status 101 although nobody asked for another protocol. net/http then
// hands its connection over as the body of the answer, and that body does not end with the context of
// the request: who reads it waits for as long as the server likes.
package noswitch

import "net/http"

// Switched is the error of a request that was answered with status 101.
type Switched struct{}

func (*Switched) Error() string {
	return "status 101 Switching Protocols: the server changes to another protocol, which nobody asked for"
}

// Transport is one of net/http that fails with [*Switched] instead of handing a connection over.
type Transport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	a, err := t.Transport.RoundTrip(q)
	if err != nil || a.StatusCode != http.StatusSwitchingProtocols {
		return a, err
	}
	_ = a.Body.Close() // it is the connection
	return nil, &Switched{}
}
