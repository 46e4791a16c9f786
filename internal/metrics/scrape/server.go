// Package scrape serves metrics over HTTP: /metrics, /livez, /readyz (docs/metrics.md).
// [Listen] returns a [Server]; you must close it.
//
// # Promises
//
//  1. Histograms are classic and native at once: a scraper that asks for the
//     protobuf format gets both, every other one the fixed buckets.
//  2. After [Server.Close] no goroutine of this package runs.
package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
)

// Options of a Server.
type Options struct {
	// Addr is "host:port", or a port alone: then it is loopback's. Port 0 takes a
	// free one. Without a host nobody from outside reaches it; "0.0.0.0:9100"
	// says that somebody shall.
	Addr string
	// Pprof serves /debug/pprof too, on loopback only: it shows memory.
	Pprof bool
	// Log is told of scrapes that failed; nil = nobody.
	Log *slog.Logger
}

// Bounds of the server.
const (
	maxScrapes   = 4 // at once; beyond it a scrape is answered 503
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second // not of /debug/pprof, whose answers take as long as asked
	closeTimeout = 2 * time.Second  // for answers under way
	maxHeader    = 32 << 10
)

// Server shows a Set over HTTP: /metrics, /livez, /readyz.
type Server struct {
	set    *metrics.Set
	opts   Options
	http   *http.Server
	listen net.Listener
	cancel context.CancelFunc // ends answers that would take long
	done   chan struct{}      // closed when the accepting goroutine is gone
	err    error              // of that goroutine; read after done
}

// Listen starts a server. It listens when Listen returns.
func Listen(set *metrics.Set, opts Options) (*Server, error) {
	addr, err := Addr(opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if opts.Pprof && !Loopback(addr) {
		return nil, protocol.Errorf(protocol.KindInvalid, "metrics: listen on %s: /debug/pprof is served on loopback only; name 127.0.0.1, or leave pprof out", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindTransient, "metrics: listen on %s: %w; name another port, or 0 for a free one", addr, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{set: set, opts: opts, listen: l, cancel: cancel, done: make(chan struct{})}
	s.http = &http.Server{
		Handler: Handler(set, opts), ReadTimeout: readTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(logOf(opts).Handler(), slog.LevelWarn),
	}
	if !opts.Pprof {
		s.http.WriteTimeout = writeTimeout
	}
	go s.serve()
	return s, nil
}

func (s *Server) serve() {
	defer close(s.done)
	if err := s.http.Serve(s.listen); !errors.Is(err, http.ErrServerClosed) {
		s.err = err
	}
}

func logOf(o Options) *slog.Logger {
	return cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

// Addr is the address it listens on, with the port that was taken.
func (s *Server) Addr() string { return s.listen.Addr().String() }

// URL is where the metrics are.
func (s *Server) URL() string { return "http://" + s.Addr() + "/metrics" }

// Close lets the answers under way finish, for two seconds at most, then cuts
// them off, and returns when nobody listens any more. A second Close does
// nothing.
func (s *Server) Close() error {
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return errors.Join(err, s.err)
}

// Addr reads the value of a flag: an address, or a port of loopback.
func Addr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = "", addr
	}
	n, numErr := strconv.Atoi(port)
	if numErr != nil || n < 0 || n > 65535 {
		return "", protocol.Errorf(protocol.KindInvalid, "address %q: want a port, \":port\" or \"host:port\"", addr)
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), strconv.Itoa(n)), nil
}

// Loopback reports whether nobody from outside reaches an address.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Handler is the server without its listener, for a program that has one. It
// looks at Pprof and Log.
func Handler(set *metrics.Set, opts Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(set.Registry, promhttp.HandlerOpts{
		ErrorLog: scrapeLog{logOf(opts)}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true,
	}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) { answer(w, "alive", set.Alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, "ready", set.WhyNotReady()) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "/metrics\n/livez\n/readyz") })
	if opts.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// scrapeLog adapts a logger to what promhttp wants.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	l.log.Warn("metrics: a scrape failed in part", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}

func answer(w http.ResponseWriter, good string, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "not %s: %s\n", good, err)
		return
	}
	fmt.Fprintln(w, good)
}
