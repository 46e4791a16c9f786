package run

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tavernsim/cmd/simd/cli"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
	"tavernsim/scenes/run/answerstore"
	"tavernsim/scenes/run/runner"
)

// openStore opens the store of answers, if there is to be one. A run goes on without one
// that is damaged.
func (o *runOptions) openStore(e *cli.Env, opt *runner.Options) (stop func(), err error) {
	if o.store == "" {
		return func() {}, nil
	}
	tell := func(text string) { cli.Warn(e.Err, text) }
	opt.Store, err = answerstore.Open(o.store, cli.Warnings(e.Err, o.quiet), tell)
	if protocol.KindOf(err) == protocol.KindCorrupt {
		tell(err.Error() + "; the run goes on without it; delete the folder to begin another")
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if err := opt.Store.Close(); err != nil {
			tell(err.Error())
		}
	}, nil
}

// reloadEndpoints reads the file again at each signal SIGUSR1, until stop is called.
func reloadEndpoints(w io.Writer, given string, to map[string]*endpoint.Endpoint) (stop func()) {
	c, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		defer close(done)
		for range c {
			if err := endpoint.Reload(cli.EndpointsFile(given), os.Getenv, to); err != nil {
				cli.Warn(w, fmt.Sprintf("the endpoints stay as they were: %s", err))
				continue
			}
			fmt.Fprintln(w, "the keys of the endpoints were read again")
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
		<-done
	}
}
