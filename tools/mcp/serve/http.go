package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/internal/wirejson"
)

// Handler serves clients over HTTP (streamable). With a token, each request needs it; then any Host
// will do, since a page that leads a browser here by another name does not have the token.
func (s *Server) Handler(token string) http.Handler {
	form := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
		})
	}
	return &guarded{of: s, sessions: form(false), stateless: form(true), patience: patience, want: sha256.Sum256([]byte(token)), token: token != ""}
}

// The stateless form of the protocol begins with this version. The library serves it and the older ones,
// which have sessions, by different handlers.
const (
	statelessFrom = "2026-07-28"
	versionHeader = "Mcp-Protocol-Version"
)

func isStateless(q *http.Request) bool { return q.Header.Get(versionHeader) >= statelessFrom }

func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// guarded refuses what comes from pages of other sites, and who does not have the token.
type guarded struct {
	of                  *Server
	patience            time.Duration
	sessions, stateless http.Handler
	want                [sha256.Size]byte
	token               bool
}

// ServeHTTP implements http.Handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	scheme, given, _ := strings.Cut(q.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(given))
	switch {
	case !sameSite(q):
		g.refuse(w, http.StatusForbidden, "requests from pages of other sites are refused (Origin)")
	case !g.token && !loopback(hostOf(q.Host)):
		g.refuse(w, http.StatusForbidden, "without a token the host is 127.0.0.1, [::1] or localhost (Host)")
	case g.token && (!strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], g.want[:]) == 0):
		w.Header().Set("WWW-Authenticate", `Bearer realm="simd"`)
		g.refuse(w, http.StatusUnauthorized, "the token is missing or wrong (Authorization: Bearer TOKEN)")
	case q.ContentLength > MaxMessage:
		if q.ContentLength <= dropped && q.Header.Get("Expect") == "" {
			g.drop(w, q)
		}
		g.refuse(w, http.StatusRequestEntityTooLarge, tooLarge)
	default:
		g.admit(w, q)
	}
}

// drop reads what is too large, before the answer: a client that reads nothing before it has sent all would see
// a broken connection in its place. A client that asks before it sends (Expect) gets the answer at once.
func (g *guarded) drop(w http.ResponseWriter, q *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.patience)) // a server of tests may have none
	_, _ = io.CopyN(io.Discard, q.Body, dropped)                                  // the answer is the same
}

// refuse answers a request whose body nobody reads. What the server drops of it for the next request must
// come soon.
func (g *guarded) refuse(w http.ResponseWriter, code int, why string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.patience)) // a server of tests may have none
	http.Error(w, why, code)
}

// admit takes a request for which there is room. A session that is not there, or a body that means nothing,
// needs no reading.
func (g *guarded) admit(w http.ResponseWriter, q *http.Request) {
	id := q.Header.Get(sessionHeader)
	if isStateless(q) {
		id = ""
	}
	switch {
	case id != "" && !g.of.clients.has(g.of.sdk, id):
		g.refuse(w, http.StatusNotFound, "there is no such session ("+sessionHeader+"): begin one with initialize")
	case q.Method == http.MethodPost:
		held := g.of.clients.hold(q.ContentLength, id)
		if held == nil {
			g.refuse(w, http.StatusServiceUnavailable, "there are too many requests at a time")
			return
		}
		defer held.done()
		g.pass(w, q, id, held)
	case q.Body != nil && q.Body != http.NoBody:
		g.refuse(w, http.StatusBadRequest, "only POST has a body")
	case q.Method == http.MethodDelete && id != "":
		if x := open(g.of.sdk, id); x != nil {
			defer g.of.ending.end(x)()
		}
		g.sessions.ServeHTTP(w, q)
	default:
		g.formOf(q, nil).ServeHTTP(w, q) // the stream of a session, which has one at a time
	}
}

// pass reads a request and hands it to the handler of its form. Its session is in use from now on: a body
// may take long.
func (g *guarded) pass(w http.ResponseWriter, q *http.Request, id string, held *holding) {
	defer g.of.clients.busy(id, 1)()
	body, ok := g.heard(w, q)
	if !ok {
		return
	}
	held.read(len(body))
	form := g.formOf(q, body)
	switch {
	case form == nil:
		http.Error(w, "a session begins with initialize; later requests name it ("+sessionHeader+")", http.StatusBadRequest)
		return
	case form == g.sessions && id == "":
		done, ok := g.of.begin(w, q)
		if !ok {
			http.Error(w, "there are too many clients", http.StatusServiceUnavailable)
			return
		}
		defer done()
	}
	form.ServeHTTP(w, q)
}

// formOf is the handler of the form that a request has; nil = of none: the library would begin a session for it,
// with which nothing could be done. A body that names its version is of the stateless form also where the
// header lacks or names an older one; its handler says so.
func (g *guarded) formOf(q *http.Request, body []byte) http.Handler {
	if isStateless(q) {
		return g.stateless
	}
	switch {
	case q.Method != http.MethodPost || q.Header.Get(sessionHeader) != "" || textIn(body, "method") == "initialize":
		return g.sessions
	case textIn(body, "params", "_meta", sdk.MetaKeyProtocolVersion) >= statelessFrom:
		return g.stateless
	}
	return nil
}

// textIn is the text to which names lead in a message; "" = there is none, as in a list of messages.
func textIn(body []byte, names ...string) (text string) {
	_ = wirejson.Read(body, func(r *wirejson.Reader) { text = textAt(r, names) }) // heard has read it
	return text
}

func textAt(r *wirejson.Reader, names []string) (text string) {
	switch {
	case len(names) == 0 && r.Is('"'):
		return r.Text()
	case len(names) > 0 && r.Is('{'):
		r.Object(func(name []byte) {
			if string(name) == names[0] {
				text = textAt(r, names[1:])
			}
		})
	}
	return text
}

// heard reads the body of a request; false = it is answered: the body is no message.
func (g *guarded) heard(w http.ResponseWriter, q *http.Request) (body []byte, ok bool) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(g.patience)) // a server of tests may have none
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, MaxMessage))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		g.drop(w, q)
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
		return nil, false
	}
	_ = c.SetReadDeadline(time.Time{}) // the answer may take longer
	if err == nil {
		err = message(body)
	}
	if err != nil {
		http.Error(w, "the body is no message: "+err.Error(), http.StatusBadRequest)
		return nil, false
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// dropped is how many bytes are read of a body that is too large.
const dropped = 16 << 20

const tooLarge = "the body is larger than 4 MiB"

// patience is how long the body of a request may take.
const patience = 30 * time.Second

// sameSite reports whether a request comes from no page, or from a page of its own host.
func sameSite(q *http.Request) bool {
	origin := q.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (strings.EqualFold(u.Host, q.Host) || loopback(u.Hostname()) && loopback(hostOf(q.Host)))
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// HTTPServer is a server with bounds for slow and endless clients.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}
