package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler serves clients over HTTP (streamable). With a token, each request needs it; then any Host
// will do, since a page that leads a browser here by another name does not have the token.
func (s *Server) Handler(token string) http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk },
		&sdk.StreamableHTTPOptions{SessionTimeout: idle, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true})
	return &guarded{of: s, next: h, patience: patience, want: sha256.Sum256([]byte("Bearer " + token)), token: token != ""}
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// guarded refuses what comes from pages of other sites, and who does not have the token.
type guarded struct {
	of       *Server
	patience time.Duration
	next     http.Handler
	want     [sha256.Size]byte
	token    bool
}

// ServeHTTP implements http.Handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	got := sha256.Sum256([]byte(q.Header.Get("Authorization")))
	switch {
	case !sameSite(q):
		http.Error(w, "requests from pages of other sites are refused (Origin)", http.StatusForbidden)
	case !g.token && !loopback(hostOf(q.Host)):
		http.Error(w, "without a token the host is 127.0.0.1, [::1] or localhost (Host)", http.StatusForbidden)
	case g.token && subtle.ConstantTimeCompare(got[:], g.want[:]) == 0:
		w.Header().Set("WWW-Authenticate", `Bearer realm="simd"`)
		http.Error(w, "the token is missing or wrong (Authorization: Bearer TOKEN)", http.StatusUnauthorized)
	case q.ContentLength > MaxMessage:
		http.Error(w, "the body is larger than 4 MiB", http.StatusRequestEntityTooLarge)
	default:
		done, ok := g.of.clients.use(g.of.sdk, w, q)
		if !ok {
			http.Error(w, "there are too many clients", http.StatusServiceUnavailable)
			return
		}
		defer done()
		if q.Body != nil && q.Body != http.NoBody {
			c := http.NewResponseController(w)
			_ = c.SetReadDeadline(time.Now().Add(g.patience)) // a server of tests may have none
			q.Body = &timed{q.Body, c}
		}
		g.next.ServeHTTP(w, q)
	}
}

// patience is how long the body of a request may take.
const patience = 30 * time.Second

// timed is a body that has to come in time; the answer may take longer.
type timed struct {
	io.ReadCloser
	c *http.ResponseController
}

// Read implements io.Reader.
func (b *timed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.c.SetReadDeadline(time.Time{})
	}
	return n, err
}

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
