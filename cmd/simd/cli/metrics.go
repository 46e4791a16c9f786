package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/protocol"
)

// MetricsFlag is --metrics.
func MetricsFlag(f *pflag.FlagSet, addr *string) {
	f.StringVar(addr, "metrics", "", "serve Prometheus metrics at `ADDR`, for example :9464 (loopback unless a host is given)")
}

// CheckMetrics refuses an address that nothing can listen on; "" = nobody wants metrics.
func CheckMetrics(addr string) error {
	if addr == "" {
		return nil
	}
	if _, err := scrape.Addr(addr); err != nil {
		return Usagef("--metrics: %w", err)
	}
	return nil
}

// ServeMetrics shows a set until stop is called, if the command line wants it.
func ServeMetrics(e *Env, set *metrics.Set, addr string, pprof bool) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	server, err := scrape.Listen(set, scrape.Options{Addr: addr, Pprof: pprof})
	if protocol.KindOf(err) == protocol.KindInvalid {
		return nil, Usage(err) // profiles for everybody
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(e.Err, "metrics at %s\n", server.URL())
	return func() {
		if err := server.Close(); err != nil {
			fmt.Fprintf(e.Err, "metrics: %v\n", err)
		}
	}, nil
}
