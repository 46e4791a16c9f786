package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

// The test's own program is the worker of the sandbox and every program.
func TestMain(m *testing.M) {
	toolstest.Main(m, func(args []string) int { play(args[0]); return 0 })
}

// play is a program that does one thing.
func play(act string) {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var q struct{ ID json.RawMessage }
		_ = json.Unmarshal(in.Bytes(), &q)
		switch act {
		case "answers twice":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":99,"result":"wrong"}`+"\n")
			for _, text := range []string{"right", "wrong"} {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%q}`+"\n", q.ID, text)
			}
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"wanted"}`+"\n"+`{"jsonrpc":"2.0","method":"other"}`)
		case "floods":
			for range 2 * maxUnasked {
				fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"other"}`)
			}
		case "a long line":
			for range 9 {
				fmt.Fprint(out, strings.Repeat("x", 1<<20))
			}
		case "talks":
			fmt.Fprint(os.Stderr, strings.Repeat("x", 100<<10)+"the end of it")
			syscall.Exit(4)
		}
		out.Flush()
	}
}

// playing starts a program of the test.
func playing(t *testing.T, act string) (*Process, wire) {
	t.Helper()
	path, mount := toolstest.Program(t)
	p, err := Start(Program{
		Words: []string{path, "serve", act}, Mounts: []sandbox.Mount{mount}, Sandbox: toolstest.Sandbox(t),
		Wanted: func(q *jsonrpc.Request) bool { return q.Method == "wanted" }, Mask: func(s string) string { return strings.ReplaceAll(s, "end", "***") },
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, w
}

type wire interface {
	Read(ctx context.Context) (jsonrpc.Message, error)
	Write(ctx context.Context, m jsonrpc.Message) error
	Close() error
}

func asks(t *testing.T, w wire) {
	t.Helper()
	id, err := jsonrpc.MakeID(1.0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "m"}); err != nil {
		t.Error(err)
	}
}

// Promise 1.
func TestNoSandbox(t *testing.T) {
	if _, err := Start(Program{Words: []string{"true"}}); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
}

// Promise 3: an answer comes once; what nobody asked for does not come.
func TestAnswersComeOnce(t *testing.T) {
	p, w := playing(t, "answers twice")
	asks(t, w)
	m, err := w.Read(t.Context())
	if x, ok := m.(*jsonrpc.Response); err != nil || !ok || string(x.Result) != `"right"` {
		t.Errorf("%+v %v", m, err)
	}
	m, err = w.Read(t.Context())
	if x, ok := m.(*jsonrpc.Request); err != nil || !ok || x.Method != "wanted" {
		t.Errorf("%+v %v", m, err)
	}
	p.Cut()
	_ = w.Close()
}

// Promise 2: bounds of what a program sends, and of what it says to people.
func TestBounds(t *testing.T) {
	for act, want := range map[string]string{"floods": "nobody asked for", "a long line": "what is no message", "talks": "ended with exit code 4: " + strings.Repeat("x", 10)} {
		t.Run(act, func(t *testing.T) {
			p, w := playing(t, act)
			asks(t, w)
			if m, err := w.Read(t.Context()); err == nil {
				t.Errorf("%+v", m)
			}
			err := p.Fault()
			_, violated := errors.AsType[Violation](err)
			if err == nil || !strings.Contains(err.Error(), want) || violated != (act != "talks") || act == "talks" && !strings.HasSuffix(err.Error(), "the *** of it") {
				t.Errorf("%v", err)
			}
			p.Cut()
			_ = w.Close()
		})
	}
}

// Promise 5: pauses are doubled up to a minute, an answer begins anew, and five failures in a
// row are the end.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, offs := 0, 0
		var ended atomic.Int64 // ends have goroutines of their own
		fails := errors.New("no")
		k := Keep(Of[int]{
			Name: "x", Start: time.Second, End: func(int, time.Time) { ended.Add(1) }, Final: func(err error) bool { return protocol.KindOf(err) == protocol.KindInvalid },
			Open: func(context.Context) (int, error) { opened++; return opened, fails },
			Failed: func(off string) {
				if off != "" {
					offs++
				}
			},
		})
		call := func() *tools.Result { _, r := k.Session(t.Context()); return r }
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			r := call()
			if r == nil || r.Error.Kind != protocol.KindTransient || r.Error.RetryAfter.Std() != pause || !strings.Contains(r.Error.Message, fmt.Sprintf("x failed and starts again after %s: no", pause)) {
				t.Fatalf("%+v", r)
			}
			<-time.After(pause / 2)
			if again := call(); again.Error.Message != r.Error.Message || again.Error.RetryAfter.Std() != pause/2 {
				t.Fatalf("%+v", again.Error)
			}
			<-time.After(pause / 2)
		}
		fails = nil
		if r := call(); r != nil || opened != 5 {
			t.Fatalf("%+v after %d", r, opened)
		}
		k.Answered(5)
		k.Broken(4, errors.New("an old one")) // it has ended long ago
		for i := range 5 {
			open, r := k.Session(t.Context())
			if r != nil {
				t.Fatalf("%d: %+v", i, r.Error)
			}
			k.Broken(open, errors.New("gone"))
			<-time.After(time.Minute)
		}
		if r := call(); r == nil || r.Error.Kind != protocol.KindUnknown || !strings.Contains(r.Error.Message, "x is off: it failed 5 times in a row; the last time: gone") || offs != 1 {
			t.Errorf("%+v", r)
		}
		k.Close()
		if opened != 9 || ended.Load() != 5 {
			t.Errorf("%d opened, %d ended", opened, ended.Load())
		}
		if r := call(); r == nil || r.Error.Kind != protocol.KindCancelled {
			t.Errorf("%+v", r)
		}
	})
}

// into is a connection that takes everything in time.
type into struct{ sdk.Connection }

func (into) Write(ctx context.Context, _ jsonrpc.Message) error { return ctx.Err() }

// guarded is the guard of a connection, without a program.
func guarded(below sdk.Connection, gives, given string) *guard {
	return &guard{Connection: below, Process: &Process{of: Program{GivesUp: gives, GivenUp: given, Wanted: func(*jsonrpc.Request) bool { return true }}, waiting: map[jsonrpc.ID]bool{}, unasked: NewUnasked()}}
}

// Promise 2: what was given up takes bounded memory. The answer to one of the last may come late; that to an
// older one was not asked for. What was not given up is waited for however long.
func TestGivenUp(t *testing.T) {
	g := guarded(into{}, "$/cancel", "id")
	id := func(n int) jsonrpc.ID {
		id, err := jsonrpc.MakeID(float64(n))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	const n = 3 * maxLate
	for i := range n {
		if err := g.Write(t.Context(), &jsonrpc.Request{ID: id(i), Method: "m"}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		if err := g.Write(t.Context(), &jsonrpc.Request{Method: "$/cancel", Params: fmt.Appendf(nil, `{"id": %d}`, i)}); err != nil {
			t.Fatal(err)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := g.Write(left, &jsonrpc.Request{ID: id(n), Method: "m"}); err == nil {
		t.Error("it was written")
	}
	if len(g.waiting) != maxLate+1 || len(g.late) != maxLate {
		t.Errorf("%d and %d", len(g.waiting), len(g.late))
	}
	for i, want := range map[int]bool{0: true, 1: false, n - maxLate - 1: false, n - maxLate: true, n - 1: true} {
		if got, err := g.judge(&jsonrpc.Response{ID: id(i)}); got != want || err != nil {
			t.Errorf("%d: %v %v", i, got, err)
		}
	}
}

// guarding is a transport with a guard.
type guarding struct {
	sdk.Transport
	guard *guard
}

func (g *guarding) Connect(ctx context.Context) (sdk.Connection, error) {
	below, err := g.Transport.Connect(ctx)
	g.guard.Connection = below
	return g.guard, err
}

// The client of MCP gives up as its programs are told to.
func TestTheClientGivesUp(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	begun, told := make(chan struct{}), make(chan struct{})
	s.AddTool(&sdk.Tool{Name: "hangs", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(begun)
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	})
	theirs, ours := sdk.NewInMemoryTransports()
	above, err := s.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := guarded(nil, "notifications/cancelled", "requestId")
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &guarding{ours, g}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "hangs"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-told
	g.mu.Lock()
	if len(g.late) != 1 {
		t.Errorf("%v was given up", g.late)
	}
	g.mu.Unlock()
	_ = c.Close()
	_ = above.Wait()
}
