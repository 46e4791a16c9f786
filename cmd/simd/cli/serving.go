package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tavernsim/protocol"
)

// Listen takes a port for [ServeHTTP].
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindTransient, "listen on %s: %w; name another port, or 0 for a free one", addr, err)
	}
	return l, nil
}

// ServeHTTP serves until a signal or the end of ctx, and closes the listener. begun hears the address, errw of faults of the server.
func ServeHTTP(ctx context.Context, h *http.Server, errw io.Writer, listener net.Listener, begun func(addr string)) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	h.ErrorLog = log.New(errw, "simd: ", 0)
	h.BaseContext = func(net.Listener) context.Context { return ctx } // its end ends every wait
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	begun(listener.Addr().String())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop() // a second signal ends the process at once
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if h.Shutdown(grace) != nil {
		h.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ReadKey reads a key, or a token, that clients must show.
func ReadKey(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", protocol.Errorf(protocol.KindNotFound, "key: %w", err)
	}
	key := string(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) // a mark that some editors begin a file with
	switch {
	case key == "":
		return "", protocol.Errorf(protocol.KindInvalid, "key: %s is empty; want the key alone", file)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", protocol.Errorf(protocol.KindInvalid, "key: %s has characters that no header can hold; want the key alone, in ASCII", file)
	}
	return key, nil
}
