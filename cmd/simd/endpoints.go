package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tavernsim/llm/endpoint"
)

// endpointsFile is the user's file of endpoints: the given one, or the one that is looked
// for without a name; "" = there is none.
func endpointsFile(given string) string {
	if given != "" {
		return given
	}
	dir, _ := os.UserConfigDir() // without a home there is no default file
	return endpoint.DefaultFile(os.Getenv, dir)
}

// openEndpoints reads the user's file of endpoints. Without a file there are none.
func openEndpoints(given string) (to map[string]*endpoint.Endpoint, stop func(), err error) {
	file := endpointsFile(given)
	if file == "" {
		return nil, func() {}, nil
	}
	to, err = endpoint.Load(file, os.Getenv)
	return to, func() {
		for _, e := range to {
			_ = e.Close() // it closes idle connections and cannot fail
		}
	}, err
}

// reloadEndpoints reads the file again at each signal SIGUSR1, until stop is called.
func reloadEndpoints(w io.Writer, given string, to map[string]*endpoint.Endpoint) (stop func()) {
	c, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		defer close(done)
		for range c {
			if err := endpoint.Reload(endpointsFile(given), os.Getenv, to); err != nil {
				fmt.Fprintf(w, "warning: the endpoints stay as they were: %s\n", err)
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
