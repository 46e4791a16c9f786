package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/proxy"
	"tavernsim/tools/sandbox"
)

// Bounds.
const (
	MaxMessage  = 8 << 20        // bytes of one
	maxMended   = 2 * MaxMessage // Mend may write values as texts
	maxUnasked  = 10_000         // messages between two answers
	maxUnaskedB = 64 << 20       // bytes of them
	moreUnasked = 100            // messages for each second between them, of moreBytes all together
	moreBytes   = 64 << 10
	maxLate     = 1000 // requests that were given up and may still be answered
	maxWrite    = 5 * time.Second
	maxStderr   = 64 << 10
	maxSaid     = 400
	lifetime    = 10 * 365 * 24 * time.Hour
)

// ErrNoSandbox: a program runs in a sandbox, else not at all.
var ErrNoSandbox = errors.New("this program has no sandbox to run it in")

// Violation is a program that breaks the protocol.
type Violation struct{ error }

// Violated makes one.
func Violated(format string, args ...any) Violation { return Violation{fmt.Errorf(format, args...)} }

// Program says what is started.
type Program struct {
	Words  []string
	Files  []manifest.File // that it finds beside itself
	Env    []string
	Mounts []sandbox.Mount
	// Servers are those that it may reach, "host:port".
	Servers []string
	Sandbox *sandbox.Box // nil = none: nothing is started
	// Wanted reports whether the other side of the wire gets a request or notification of the
	// program. It must return soon.
	Wanted func(*jsonrpc.Request) bool
	// GivesUp is the notification by which the program is told that nobody waits for a request any
	// more, and GivenUp its parameter that has the id of the request.
	GivesUp, GivenUp string
	// Mend is that of NewLines for what the program writes.
	Mend func([]byte) ([]byte, error)
	// Mask makes what the program wrote to its standard error one that can be shown; nil = it
	// is shown as it is.
	Mask func(string) string
}

// Process is a program that runs in the sandbox and speaks JSON-RPC, a message a line. It is
// an sdk.Transport.
type Process struct {
	of      Program
	in, out *os.File // our ends of its pipes
	stop    context.CancelFunc
	gone    chan struct{}

	mu      sync.Mutex          // guards the following fields
	broken  error               // the first violation of the protocol
	ended   error               // how it ended
	waiting map[jsonrpc.ID]bool // requests without an answer
	late    []jsonrpc.ID        // those that were given up, the oldest first; some have their answers
	unasked Unasked             // since the last answer, or the start
}

// Start starts a program. Its end shows in the pipes. You must call Cut.
func Start(of Program) (*Process, error) {
	if of.Sandbox == nil {
		return nil, ErrNoSandbox
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, err
	}
	limits := sandbox.DefaultLimits()
	limits.Time, limits.CPU, limits.Output = lifetime, 24*time.Hour, maxStderr
	cmd := sandbox.Command{Argv: of.Words, Env: of.Env, Dir: sandbox.Files, In: theirIn, Out: theirOut, Mounts: of.Mounts, Limits: limits}
	if len(of.Servers) > 0 {
		cmd.Profile, cmd.Proxy = sandbox.Net, func(l net.Listener) { proxy.Serve(l, of.Servers) }
	}
	for _, f := range of.Files {
		cmd.Files = append(cmd.Files, sandbox.File{Path: f.Path, Data: f.Data, Exec: true})
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{of: of, in: in, out: out, stop: stop, gone: make(chan struct{}), waiting: map[jsonrpc.ID]bool{}, unasked: NewUnasked()}
	go func() {
		defer close(p.gone)
		r, err := of.Sandbox.Run(ctx, cmd)
		p.mu.Lock()
		p.ended = of.endOf(&r, err)
		p.mu.Unlock()
		_, _ = theirIn.Close(), theirOut.Close() // now the reader sees the end
	}()
	return p, nil
}

// endOf says how a program ended.
func (of *Program) endOf(r *sandbox.Result, err error) error {
	if err != nil {
		return err
	}
	how := fmt.Sprintf("it ended with exit code %d", r.Exit)
	switch {
	case r.End == sandbox.OutOfMem:
		how = "it was ended: all its processes together had too much memory"
	case r.End == sandbox.TooManyFiles:
		how = "it was ended: it made too many files"
	case r.Signal != "":
		how = "it was ended by " + r.Signal
	}
	said := strings.TrimSpace(string(r.Stderr.Bytes))
	if of.Mask != nil {
		said = of.Mask(said)
	}
	if said != "" {
		how += ": " + strings.ToValidUTF8(said[max(0, len(said)-maxSaid):], "\ufffd")
	}
	return errors.New(how)
}

// Fault is why the program broke the protocol, or how it ended; nil = it has not. It waits a moment for a program whose pipe has ended, to tell how it did.
func (p *Process) Fault() error {
	p.mu.Lock()
	broken := p.broken
	p.mu.Unlock()
	if broken != nil {
		return broken
	}
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case <-p.gone:
	case <-late.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// Leave lets the program see the end of its input, and waits until it has ended by itself, or so long.
func (p *Process) Leave(most time.Duration) {
	p.in.Close()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-p.gone:
	case <-late.C:
	}
}

// Cut ends the program: it sees the end of its input, then TERM, then KILL.
func (p *Process) Cut() {
	p.in.Close()
	p.stop()
	<-p.gone
	p.out.Close()
}

// Connect implements sdk.Transport.
func (p *Process) Connect(ctx context.Context) (sdk.Connection, error) {
	lines := NewLines(p.out, MaxMessage, p.of.Mend)
	lines.Instead = func(m *Long) ([]byte, error) {
		if !m.Answer {
			return nil, m.Error()
		}
		return m.Fails(), p.long(m)
	}
	below, err := (&sdk.IOTransport{Reader: lines, Writer: p.in, MaxLineLength: maxMended}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &guard{Connection: below, Process: p}, nil
}

// guard lets through what the client waits for, and counts the rest.
type guard struct {
	sdk.Connection
	*Process
	write sync.Mutex // the deadline of one write is not that of another
}

// Read implements sdk.Connection.
func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := g.Connection.Read(ctx)
		if err != nil {
			return nil, g.lost(err)
		}
		wanted, err := g.judge(m)
		if err != nil {
			return nil, err
		}
		if wanted {
			return m, nil
		}
	}
}

// lost notes why nothing more can be read. The end of the pipe is no violation. The error is none of the library, which
// ends all requests with it: as one of JSON-RPC it would be an answer to each.
func (g *guard) lost(err error) error {
	text := err.Error()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil && !errors.Is(err, os.ErrClosed) && !strings.HasSuffix(text, "EOF") && !strings.Contains(text, "closed") {
		g.broken = Violation{fmt.Errorf("it wrote what is no message: %s", protocol.Short(text, maxSaid))}
	}
	if g.broken != nil {
		return g.broken
	}
	return err
}

// judge reports whether the client gets a message.
func (g *guard) judge(m jsonrpc.Message) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch x := m.(type) {
	case *jsonrpc.Response:
		if g.waiting[x.ID] {
			delete(g.waiting, x.ID)
			g.unasked = NewUnasked()
			return true, nil
		}
		return false, g.tooMuch(len(x.Result))
	case *jsonrpc.Request:
		return g.of.Wanted(x), g.tooMuch(len(x.Params))
	}
	return false, g.tooMuch(0)
}

func (p *Process) tooMuch(bytes int) error {
	err := p.unasked.More(bytes)
	if err != nil {
		p.broken = err
	}
	return err
}

// long counts an answer that is too long with all its bytes if nobody waits for it: what stands in its place has few.
func (p *Process) long(m *Long) error {
	var of any
	_ = json.Unmarshal(m.ID, &of) // Lines has read it
	id, err := jsonrpc.MakeID(of)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.waiting[id] {
		return nil
	}
	return p.tooMuch(m.Bytes)
}

// Unasked counts messages that nobody asked for.
type Unasked struct {
	since           time.Time
	messages, bytes int
}

// NewUnasked begins to count.
func NewUnasked() Unasked { return Unasked{since: time.Now()} }

// More counts one more; an error is a [Violation]: there were too many.
func (u *Unasked) More(bytes int) error {
	seconds := int(time.Since(u.since) / time.Second)
	u.bytes += bytes
	if u.messages++; u.messages <= maxUnasked+seconds*moreUnasked && u.bytes <= maxUnaskedB+seconds*moreBytes {
		return nil
	}
	return Violated("it sent %d messages with %d bytes that nobody asked for", u.messages, u.bytes)
}

// note notes what is asked, and what is given up. An answer to that may still come: the other side of
// the wire knows whether it is of use. Of the oldest ones it is one that nobody asked for.
func (g *guard) note(q *jsonrpc.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.IsCall() {
		g.waiting[q.ID] = true
		return
	}
	if q.Method != g.of.GivesUp {
		return
	}
	var of map[string]any
	_ = json.Unmarshal(q.Params, &of) // we wrote them
	id, err := jsonrpc.MakeID(of[g.of.GivenUp])
	if err != nil || !g.waiting[id] {
		return
	}
	if g.late = append(g.late, id); len(g.late) > maxLate {
		delete(g.waiting, g.late[0])
		g.late = g.late[1:]
	}
}

// Write implements sdk.Connection. A program that does not read is not waited for.
func (g *guard) Write(ctx context.Context, m jsonrpc.Message) error {
	if q, ok := m.(*jsonrpc.Request); ok {
		g.note(q)
	}
	g.write.Lock()
	defer g.write.Unlock()
	_ = g.in.SetWriteDeadline(time.Now().Add(maxWrite))
	err := g.Connection.Write(ctx, m)
	if err == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if q, ok := m.(*jsonrpc.Request); ok {
		delete(g.waiting, q.ID) // it was not asked
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		g.broken = Violation{fmt.Errorf("it does not read: a message could not be written within %s", maxWrite)}
	}
	return err
}
