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
	"tavernsim/tools/manifest"
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

// answers reports whether a text is the error of a request.
func answers(q *http.Request, text []byte) bool {
	var is struct {
		ID    json.RawMessage `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(text, &is) == nil && is.ID != nil && is.Error != nil && sameID(is.ID, idOf(q))
}

// refused is a request that a server over HTTP did not take. It leaves the connection as it is.
type refused struct {
	status int
	inside bool          // of a session
	own    bool          // what the server says is the error of the request
	after  time.Duration // before it may be sent again; 0 = the server does not say
	said   string
}

// Error implements error.
func (r *refused) Error() string {
	text := fmt.Sprintf("status %d %s", r.status, http.StatusText(r.status))
	if r.gone() && r.proof() {
		text += ": it does not know the session any more"
	}
	return text
}

// gone reports whether the server has no such session: the protocol wants another one then, whatever the server says.
func (r *refused) gone() bool { return r.inside && r.status == http.StatusNotFound }

// busy reports whether the server is well, and takes nothing now.
func (r *refused) busy() bool {
	return r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
}

// denied reports whether the server does not let in who asks.
func (r *refused) denied() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// Unwrap gives it a kind.
func (r *refused) Unwrap() error {
	if r.denied() {
		return protocol.Errorf(protocol.KindDenied, "the server lets nobody in without a name that it knows")
	}
	return nil
}

// ofSession reports whether the server speaks of the session.
func (r *refused) ofSession() bool {
	return r.inside && strings.Contains(strings.ToLower(r.said), "session")
}

// ofRequest reports whether the server answers the request, and does not refuse it: an error of it comes with a status
// that says nothing of the session, or of who asks.
func (r *refused) ofRequest() bool {
	return r.own && !r.busy() && !r.denied() && !r.gone() && (r.status != http.StatusBadRequest || !r.ofSession())
}

// refusalOf is the refusal that an answer to a message is, and nil if it is none: 503, or 4xx that does not answer the message
// itself. Whether a server has no sessions (server/discover) the library finds out.
func refusalOf(q *http.Request, a *http.Response) *refused {
	r := &refused{status: a.StatusCode, inside: q.Header.Get(sessionID) != ""}
	if q.Method != http.MethodPost || !r.busy() && (r.status < 400 || r.status >= 500 || q.Header.Get(methodHeader) == discovers) {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(a.Body, maxError))
	r.own, r.said = answers(q, said), string(said[:min(len(said), maxRefusal)])
	if r.ofRequest() {
		a.Body = readCloser{io.MultiReader(bytes.NewReader(said), a.Body), a.Body}
		return nil
	}
	_ = a.Body.Close()
	r.after = httpcall.RetryAfter(a.Header.Get("Retry-After"), time.Now())
	return r
}

// later reports that a server takes no session now, and when it may be asked again.
func later(err error) (after time.Duration, later bool) {
	r, ok := errors.AsType[*refused](err)
	if !ok || !r.busy() && !r.denied() {
		return 0, false
	}
	return r.after, true
}

// proof reports whether the status says that nothing of a call began. The others may follow work: 409, 422 and 424
// are answers of what carries calls out, and 400 is unless it speaks of the session. So is 404 that is the error of the call.
func (r *refused) proof() bool {
	switch r.status {
	case http.StatusBadRequest:
		return r.ofSession()
	case http.StatusNotFound:
		return r.inside && !r.own || r.ofSession()
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired,
		http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusTooEarly,
		http.StatusUpgradeRequired, http.StatusRequestHeaderFieldsTooLarge:
		return true
	}
	return false
}

// means reports whether a refusal of an attempt that begins now means the call, and not the session: the session follows one
// that was refused so, and no other call was judged in it, or this one was refused before.
func (o *session) means(attempt int) bool { return o.second && (attempt > 1 || !o.judged.Load()) }

// refused is the result of a call that the server did not take. The session ends that the server may not know. call says
// that a refusal which does not say what it means (400, or 404 that is the error of the call) means the call.
func (s *server) refused(open *session, why *refused, call bool, repeat manifest.Repeat) tools.Result {
	kind, unsent, lost := protocol.KindTransient, why.proof(), false
	bad := why.inside && why.status == http.StatusBadRequest || why.gone() && why.own
	switch {
	case why.gone() && !bad, bad && !call:
		if bad {
			open.doubted.Store(true)
		}
		if s.Gone(open); !unsent && repeat == manifest.Never {
			kind = tools.KindTool
		}
	case why.busy():
		if unsent = why.said == ""; why.status == http.StatusTooManyRequests {
			kind = tools.KindRateLimited
		}
	case why.denied():
		kind = protocol.KindDenied
	case why.status == http.StatusRequestTimeout:
		lost = true
	case why.status == http.StatusTooEarly:
	default:
		if kind = tools.KindTool; bad {
			open.judged.Store(true)
		}
	}
	s.Answered(open)
	said := ""
	if why.said != "" {
		said = ": " + why.said
	}
	r := tools.Quote(kind, fmt.Sprintf("the MCP server %s: %s", s.ID, why), said)
	r.Error.RetryAfter = protocol.Duration(why.after)
	r.Unsent, r.Lost, r.Carried, r.Size = unsent, lost, !unsent, int64(len(why.said))
	return r
}
