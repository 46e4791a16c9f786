package run

import (
	"fmt"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/protocol"
)

// checkMetrics refuses an address that nothing can listen on.
func (o *runOptions) checkMetrics() error {
	if o.metrics == "" {
		if o.pprof {
			return cli.Usagef("--pprof needs --metrics ADDR: profiles are served there")
		}
		return nil
	}
	if _, err := scrape.Addr(o.metrics); err != nil {
		return cli.Usagef("--metrics: %w", err)
	}
	return nil
}

// serveMetrics shows the set until stop is called, if the command line wants it.
func (o *runOptions) serveMetrics(e *cli.Env, set *metrics.Set) (stop func(), err error) {
	if o.metrics == "" {
		return func() {}, nil
	}
	server, err := scrape.Listen(set, scrape.Options{Addr: o.metrics, Pprof: o.pprof})
	if protocol.KindOf(err) == protocol.KindInvalid {
		return nil, cli.Usage(err) // profiles for everybody
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
