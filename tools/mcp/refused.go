package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/httpcall"
)

// sessionID is the header that names a session.
const sessionID = "Mcp-Session-Id"

const (
	maxRefusal = 512      // bytes that are kept of what a server says with a refusal
	maxError   = 64 << 10 // bytes that are read of it
)

type readCloser struct {
	io.Reader
	io.Closer
}

// answers reports whether a text is the error of a request. The ids of requests are numbers.
func answers(text []byte) bool {
	var m struct {
		ID    *float64        `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(text, &m) == nil && m.ID != nil && m.Error != nil
}

// refused is a request that a server over HTTP did not take. It leaves the connection as it is.
type refused struct {
	status int
	after  time.Duration // before it may be sent again; 0 = the server does not say
	said   string
}

// Error implements error.
func (r *refused) Error() string {
	text := fmt.Sprintf("status %d %s", r.status, http.StatusText(r.status))
	if r.gone() {
		text += ": it does not know the session any more"
	}
	return text
}

// gone reports whether the server has no such session: the protocol wants another one then.
func (r *refused) gone() bool { return r.status == http.StatusNotFound }

// refusalOf is the refusal that an answer to a message is, and nil if it is none. 404 is one where the message belongs
// to a session, and no error of the message itself comes with it; else there is nothing at the address.
func refusalOf(q *http.Request, a *http.Response) *refused {
	switch {
	case q.Method != http.MethodPost:
		return nil
	case a.StatusCode == http.StatusTooManyRequests || a.StatusCode == http.StatusServiceUnavailable:
	case a.StatusCode == http.StatusNotFound && q.Header.Get(sessionID) != "":
	default:
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(a.Body, maxError))
	if a.StatusCode == http.StatusNotFound && answers(said) {
		a.Body = readCloser{io.MultiReader(bytes.NewReader(said), a.Body), a.Body}
		return nil
	}
	_ = a.Body.Close()
	said = said[:min(len(said), maxRefusal)]
	return &refused{a.StatusCode, httpcall.RetryAfter(a.Header.Get("Retry-After"), time.Now()), strings.ToValidUTF8(string(said), "\ufffd")}
}

// later reports that a server takes no session now, and when it may be asked again.
func later(err error) (after time.Duration, later bool) {
	r, ok := errors.AsType[*refused](err)
	if !ok || r.gone() {
		return 0, false
	}
	return r.after, true
}

// refused is the result of a call that the server did not take. Nothing of it began, unless the server is busy and says
// more than that.
func (s *server) refused(open *session, why *refused) tools.Result {
	kind, unsent := protocol.KindTransient, why.said == ""
	switch {
	case why.gone():
		s.Gone(open)
		unsent = true
	case why.status == http.StatusTooManyRequests:
		kind = tools.KindRateLimited
		fallthrough
	default:
		s.Answered(open)
	}
	said := ""
	if why.said != "" {
		said = ": " + why.said
	}
	r := tools.Quote(kind, fmt.Sprintf("the MCP server %s: %s", s.ID, why), said)
	r.Error.RetryAfter = protocol.Duration(why.after)
	r.Unsent, r.Carried, r.Size = unsent, !unsent, int64(len(why.said))
	return r
}
