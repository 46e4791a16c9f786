package run

import "tavernsim/cmd/simd/cli"

// checkMetrics refuses an address that nothing can listen on.
func (o *runOptions) checkMetrics() error {
	if o.metrics == "" && o.pprof {
		return cli.Usagef("--pprof needs --metrics ADDR: profiles are served there")
	}
	return cli.CheckMetrics(o.metrics)
}
