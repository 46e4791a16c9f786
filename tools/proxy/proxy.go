// Package proxy lets a program in the sandbox reach its granted servers, and
// nothing else. The proxy is the only address that the program can connect to.
//
// # Promises
//
//  1. A request goes only to a server of the list, "host:port", whether it is
//     forwarded (http) or a tunnel (CONNECT). Other requests get status 403 and the reason.
//  2. A connection goes to the checked address. Of the special addresses, a name may resolve
//     only to private ones and those of this machine; link-local addresses, where clouds serve the
//     credentials of their machines, cannot be reached by a name.
//  3. When Serve returns, no connection and no goroutine is left.
//
// # Not here
//
// Which tools may have which servers (tools/manifest, grants); blocking every other connection
// (tools/sandbox).
package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/internal/noswitch"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/reach"
)

// Bounds.
const (
	maxHeader = 64 << 10 // bytes
	maxAtOnce = 64       // connections of a program; more are closed as soon as they come
	headTime  = 10 * time.Second
	idleTime  = time.Minute
)

// Serve serves the connections of one program until the listener is closed.
func Serve(l net.Listener, servers []string) {
	p := &proxy{servers: servers}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.transport = &http.Transport{
		DialContext: p.dial, DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: idleTime, TLSHandshakeTimeout: reach.DialTime, MaxResponseHeaderBytes: maxHeader,
	}
	p.forward = &httputil.ReverseProxy{
		Transport: noswitch.Transport{Transport: p.transport}, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.In.URL.Host
			if _, ok := r.In.Header["User-Agent"]; !ok {
				r.Out.Header["User-Agent"] = nil // else net/http names itself
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { refuse(w, r.URL.Host, err) },
	}
	s := &http.Server{
		Handler: p, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		ConnState: func(_ net.Conn, now http.ConnState) {
			if now == http.StateClosed {
				p.open.Done()
			}
		},
	}
	_ = s.Serve(bounded{l, &places{}, &p.open}) // it ends with the listener
	p.stop()
	_ = s.Close()
	p.open.Wait()
	p.transport.CloseIdleConnections()
}

type proxy struct {
	servers   []string // "host:port", as manifest.Host writes them
	ctx       context.Context
	stop      context.CancelFunc
	transport *http.Transport
	forward   *httputil.ReverseProxy
	open      sync.WaitGroup // connections of the program
}

// bounded is a listener that counts its connections, and closes those beyond the bound.
type bounded struct {
	net.Listener
	places *places
	open   *sync.WaitGroup
}

func (b bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.places.take() {
			b.open.Add(1)
			return &counted{Conn: c, of: b.places}, nil
		}
		_ = c.Close()
	}
}

// places are those of the connections of a program. A tunnel whose side the program has ended keeps its place while the server
// goes on, until another connection needs it. Nobody can see whether the program still reads, so its end is a reset: what
// was read until then is not taken for all.
type places struct {
	mu    sync.Mutex
	taken int
	ended []*counted // tunnels whose side the program has ended, the earliest first
}

// take takes a place. One goroutine calls it.
func (p *places) take() bool {
	p.mu.Lock()
	if p.taken >= maxAtOnce && len(p.ended) > 0 {
		earliest := p.ended[0]
		p.mu.Unlock()
		if c, ok := earliest.Conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
		earliest.end()
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	if p.taken >= maxAtOnce {
		return false
	}
	p.taken++
	return true
}

// counted is a connection that has a place.
type counted struct {
	net.Conn
	of   *places
	left bool   // the lock of places guards it
	end  func() // of its tunnel
}

func (c *counted) Close() error {
	p := c.of
	p.mu.Lock()
	if !c.left {
		c.left = true
		p.taken--
		p.ended = slices.DeleteFunc(p.ended, func(x *counted) bool { return x == c })
	}
	p.mu.Unlock()
	return c.Conn.Close()
}

// endedByProgram notes a tunnel that nothing but what the server sends may go through.
func (c *counted) endedByProgram(end func()) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.end = end; !c.left {
		c.of.ended = append(c.of.ended, c)
	}
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "simd: this is a proxy; it forwards requests of http and makes tunnels (CONNECT) for the rest", http.StatusBadRequest)
	case !p.may(server(r.URL.Host, "80")):
		refuse(w, r.URL.Host, &unlisted{server(r.URL.Host, "80")})
	default:
		p.forward.ServeHTTP(plain{w}, r)
	}
}

// plain is an answer whose connection stays the server's: nothing is upgraded.
type plain struct{ http.ResponseWriter }

// Flush implements http.Flusher.
func (p plain) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }

// server gives a host the port that its scheme stands for, if it has none.
func server(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	return manifest.Host(host)
}

func (p *proxy) may(server string) bool { return slices.Contains(p.servers, server) }

// unlisted is the error of a server that the program was not granted.
type unlisted struct{ server string }

func (u *unlisted) Error() string {
	return "the tool may not reach " + protocol.Short(u.server, 300) + "; it needs net:" + protocol.Short(u.server, 300)
}

func refuse(w http.ResponseWriter, host string, err error) {
	_, other := errors.AsType[*unlisted](err)
	_, special := errors.AsType[*reach.Denied](err)
	if other || special {
		http.Error(w, "simd: "+err.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "simd: "+protocol.Short(host, 300)+" cannot be reached: "+protocol.Short(err.Error(), 300), http.StatusBadGateway)
}

// dial connects to a server of the list; for whoever asks, it is the last fence.
func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	to := manifest.Host(address)
	if !p.may(to) {
		return nil, &unlisted{to}
	}
	host, _, _ := net.SplitHostPort(to)
	_, notAddress := netip.ParseAddr(host)
	return reach.Dial(ctx, network, to, func(a netip.Addr) bool { return notAddress == nil || byName(a) })
}

// byName reports whether a name may lead to a special address.
func byName(a netip.Addr) bool {
	const metadata = "fd00:ec2::254" // what IPv4 has in 169.254.0.0/16
	return (a.IsPrivate() || a.IsLoopback()) && a != netip.MustParseAddr(metadata)
}

// tunnel carries bytes between the program and a server.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		refuse(w, r.Host, err)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		http.Error(w, "simd: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer p.open.Done() // the server counts it no more
	end := func() { _, _ = here.Close(), there.Close() }
	defer end()
	defer context.AfterFunc(p.ctx, end)()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { pass(here, there) })
	pass(there, io.MultiReader(io.LimitReader(buffered, int64(buffered.Reader.Buffered())), here))
	here.(*counted).endedByProgram(end)
	back.Wait()
}

// pass copies until the end, and tells the other side of it.
func pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(*counted); ok {
		to = c.Conn
	}
	if c, ok := to.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
}
