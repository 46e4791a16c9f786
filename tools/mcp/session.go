package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/child"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp/sound"
)

// session is one connection to a server.
type session struct {
	client *sdk.ClientSession
	wire   wire

	looking chan struct{}      // holds who lists the tools again, and guards bad and holds
	bad     map[string]refusal // tools that may not be called, and why; nil = not known
	holds   time.Time          // until when the list of its tools does; zero = until it says otherwise
	pin     *manifest.Pin
	id      string

	// Many servers answer 400 in the place of 404 when they do not know a session.
	doubted atomic.Bool // it was refused with 400, and ended for that
	second  bool        // it follows a doubted one
	judged  atomic.Bool // a call was answered in it, or was itself what 400 meant

	asking   calls // that are out
	calls    atomic.Int64
	progress sync.Map // func(tools.Progress) of the calls that want to know, by token
}

// wire is what lies below a session.
type wire interface {
	transport() sdk.Transport
	// fault is why the connection ended, if the wire knows; nil = it does not.
	fault() error
	// changed reports, once, that the server says that its tools are others.
	changed() bool
	// left reports whether anything of a call was handed on; ctx is that of the call.
	left(ctx context.Context) bool
	// cancelled notes a call that was cancelled, and goodbye waits a moment until the server
	// was told of all of them.
	cancelled()
	goodbye()
	// leave lets a program end by itself until a time.
	leave(until time.Time)
	// cut ends everything below; it returns when nothing is left.
	cut()
}

func isViolation(err error) bool {
	_, broken := errors.AsType[child.Violation](err)
	return broken
}

func final(err error) bool {
	return isViolation(err) || protocol.KindOf(err) == protocol.KindInvalid || protocol.KindOf(err) == protocol.KindNotFound || protocol.KindOf(err) == protocol.KindDenied || errors.Is(err, child.ErrNoSandbox)
}

// wire makes what a session speaks over.
func (s *Server) wire(opt Options) (wire, error) {
	if s.Definition.URL != "" {
		return newWeb(s.Definition, opt.Secrets)
	}
	p := &program{}
	var env []string
	if opt.Env != nil {
		env = opt.Env(s.Definition.ID)
	}
	var err error
	p.Process, err = child.Start(child.Program{
		Words: s.Definition.Words(), Files: s.Definition.Script().Files(), Env: env, Servers: s.Definition.Script().Servers(), Mounts: opt.Mounts, Sandbox: opt.Sandbox, Mask: opt.Mask, Mend: sound.Mend, GivesUp: "notifications/cancelled", GivenUp: "requestId",
		Wanted: func(q *jsonrpc.Request) bool {
			if q.Method == toolsChanged {
				p.other.Store(true)
			}
			return q.IsCall() || q.Method == "notifications/progress" // the client refuses a call
		},
	})
	return p, err
}

// program is a server that runs in the sandbox.
type program struct {
	*child.Process
	other atomic.Bool // it says that its tools are others
}

func (p *program) transport() sdk.Transport  { return p.Process }
func (p *program) fault() error              { return p.Fault() }
func (p *program) left(context.Context) bool { return true } // it may have been
func (p *program) cancelled()                {}              // it ends with its session
func (p *program) goodbye()                  {}
func (p *program) cut()                      { p.Cut() }
func (p *program) leave(until time.Time)     { p.Leave(min(time.Until(until), leaving)) }
func (p *program) changed() bool             { return p.other.Swap(false) }

func newSession(w wire, s *Server) *session {
	return &session{wire: w, pin: s.Pin, id: s.Definition.ID, looking: make(chan struct{}, 1)}
}

// connect opens a session and looks at the tools.
func (s *Server) connect(ctx context.Context, opt Options) (*session, error) {
	w, err := s.wire(opt)
	if err != nil {
		return nil, err
	}
	o := newSession(w, s)
	client := sdk.NewClient(&sdk.Implementation{Name: "simd", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}, // nil would offer roots
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Logger:         slog.New(slog.DiscardHandler),
		ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) {
			o.hear(q.Params)
		},
		// Without one the library subscribes to nothing at a server without sessions. The wire has heard it before.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
	})
	client.AddReceivingMiddleware(o.hears)
	if opt.Asked != nil {
		client.AddSendingMiddleware(Counting(opt.Asked))
	}
	if o.client, err = client.Connect(ctx, w.transport(), nil); err == nil {
		err = o.look(ctx)
	}
	if err != nil {
		if f := o.cause(err); isViolation(f) || lostWire(err) {
			err = f // else the library ended the connection, and so the program
		}
		o.end(time.Time{})
		return nil, err
	}
	return o, nil
}

// reporting gives a call a token, by which the server says how far it is until end.
func (o *session) reporting(to *sdk.CallToolParams, tell func(tools.Progress)) (end func()) {
	if tell == nil {
		return func() {}
	}
	token := strconv.FormatInt(o.calls.Add(1), 10)
	to.SetProgressToken(token)
	o.progress.Store(token, tell)
	return func() { o.progress.Delete(token) }
}

// hear tells who waits for a call how far it is.
func (o *session) hear(p *sdk.ProgressNotificationParams) {
	if tell, ok := o.progress.Load(fmt.Sprint(p.ProgressToken)); ok {
		tell.(func(tools.Progress))(tools.Progress{Done: p.Progress, Total: p.Total, Message: p.Message}) //nolint:forcetypeassert // nothing else is stored
	}
}

// leaving is how long a program may take to end, at most, when its input has ended.
const leaving = time.Second

// end ends the session; it returns when nothing is left of it.
func (o *session) end(until time.Time) {
	if o.client == nil {
		o.wire.cut()
		return
	}
	if o.wire.goodbye(); !until.IsZero() {
		o.wire.leave(until)
	}
	go func() { _ = o.client.Close() }() // it may wait for the server, which cut ends
	o.wire.cut()
	_ = o.client.Wait()
}

// cause is why a session failed.
func (o *session) cause(err error) error {
	if f := o.wire.fault(); f != nil {
		return f
	}
	return err
}

// lostWire reports whether an error of the library is that there is no connection any more: the wire knows why.
func lostWire(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// look compares the tools of the server with the pin.
func (o *session) look(ctx context.Context) error {
	found, lasts, err := list(ctx, o.client)
	if err != nil {
		return fmt.Errorf("its tools cannot be listed: %w", err)
	}
	if o.holds = (time.Time{}); lasts > 0 {
		o.holds = time.Now().Add(lasts)
	}
	there := map[string]*offered{}
	for i := range found {
		there[found[i].Name] = &found[i]
	}
	o.bad = map[string]refusal{}
	for i := range o.pin.Tools {
		p := &o.pin.Tools[i]
		switch now := there[p.Name]; {
		case now == nil:
			o.bad[p.Name] = refusal{own: fmt.Sprintf("the MCP server %s has no tool %s any more", o.id, p.Name)}
		case now.taskOnly:
			o.bad[p.Name] = refusal{own: fmt.Sprintf("the tool %s of the MCP server %s cannot be used: %s", p.Name, o.id, TaskOnly)}
		case now.Hash() != p.Hash():
			o.bad[p.Name] = refusal{own: fmt.Sprintf("the MCP server %s describes the tool %s otherwise than the project has pinned it; look at the difference, then run simd mcp pin", o.id, p.Name), said: ": " + p.Differs(&now.Pinned)}
		}
	}
	return nil
}

// refusal is why a tool may not be called: in words of this program, and with those of the server behind them.
type refusal struct {
	own, said string
	kind      protocol.ErrorKind // "" = unknown
	err       error              // why the tools could not be listed; nil = they were
}

// refuses says why a tool may not be called; nil = it may.
func (o *session) refuses(ctx context.Context, tool string) *refusal {
	select {
	case o.looking <- struct{}{}:
		defer func() { <-o.looking }()
	case <-ctx.Done():
		return o.unknown(ctx, "another call waits for the list of its tools")
	}
	if o.wire.changed() || !o.holds.IsZero() && time.Now().After(o.holds) {
		o.bad = nil
	}
	if o.bad == nil {
		if err := o.look(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				o.wire.cancelled() // the list, too
			}
			why := o.unknown(ctx, err.Error())
			why.err = err
			return why
		}
	}
	if why, bad := o.bad[tool]; bad {
		return &why
	}
	return nil
}

// unknown refuses a call before which nobody could look at the tools.
func (o *session) unknown(ctx context.Context, why string) *refusal {
	r := &refusal{own: fmt.Sprintf("the MCP server %s", o.id), said: ": " + why}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.kind = protocol.KindTimeout
	case ctx.Err() != nil:
		r.kind = protocol.KindCancelled
	}
	return r
}

const (
	maxPages = 100
	maxHolds = 24 * time.Hour // that a list of tools does
)

// offered is a tool of a server, as a pin has it.
type offered struct {
	manifest.Pinned
	taskOnly bool
}

// TaskOnly is why a tool cannot be used that a server carries out as a task alone.
const TaskOnly = "the server offers it as a task only (execution.taskSupport: required), and simd makes no tasks of MCP"

// list is all tools of a server, and how long the list holds; 0 = the server does not say.
func list(ctx context.Context, c *sdk.ClientSession) (found []offered, lasts time.Duration, err error) {
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := c.ListTools(ctx, params)
		if err != nil {
			return nil, 0, err
		}
		if ms, _ := page.Meta[sound.Holds].(float64); ms > 0 {
			lasts = min(cmp.Or(lasts, maxHolds), time.Duration(min(ms, float64(maxHolds/time.Millisecond)))*time.Millisecond)
		}
		for _, t := range page.Tools {
			p, err := pinned(t)
			if err != nil {
				return nil, 0, err
			}
			found = append(found, offered{p, t.Meta[sound.TaskOnly] == true})
		}
		if len(found) > manifest.MaxPinned {
			return nil, 0, child.Violated("it has more than %d tools", manifest.MaxPinned)
		}
		if page.NextCursor == "" {
			return found, lasts, nil
		}
		params.Cursor = page.NextCursor
	}
	return nil, 0, child.Violated("its list of tools has more than %d pages", maxPages)
}

func pinned(t *sdk.Tool) (p manifest.Pinned, err error) {
	p = manifest.Pinned{Name: t.Name, Description: t.Description}
	if p.InputSchema, err = object(t.InputSchema); err == nil {
		p.OutputSchema, err = object(t.OutputSchema)
	}
	if err != nil {
		err = child.Violated("the schema of the tool %s: %w", protocol.Short(t.Name, 80), err)
	}
	return p, err
}

// object is a schema as a value; nil stays nil.
func object(schema any) (map[string]any, error) {
	if schema == nil {
		return nil, nil
	}
	v, err := protocol.Normalize(schema)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("a schema is an object")
	}
	return m, nil
}

// Look starts a server, lists its tools and ends it. unusable says by name why simd cannot call some of them.
func Look(ctx context.Context, d *manifest.Server, opt Options) (pin *manifest.Pin, unusable map[string]string, err error) {
	if opt.Start <= 0 {
		opt.Start = startTime
	}
	s := &Server{Definition: d, Pin: &manifest.Pin{}}
	ctx, stop := context.WithTimeout(ctx, opt.Start)
	defer stop()
	o, err := s.connect(ctx, opt)
	if err != nil {
		return nil, nil, lookFailed(d, opt, err)
	}
	defer o.end(time.Time{})
	found, _, err := list(ctx, o.client)
	if err != nil {
		return nil, nil, lookFailed(d, opt, err)
	}
	pin, unusable = &manifest.Pin{Server: d.ID, Tools: []manifest.Pinned{}}, map[string]string{} // a pin has its list also if that is empty
	for i := range found {
		pin.Tools = append(pin.Tools, found[i].Pinned)
		if found[i].taskOnly {
			unusable[found[i].Name] = TaskOnly
		}
	}
	return pin, unusable, nil
}

// lookFailed is why nobody could look, without secrets: a server has those that it was given.
func lookFailed(d *manifest.Server, opt Options, err error) error {
	text := err.Error()
	if opt.Mask != nil {
		text = opt.Mask(text)
	}
	return protocol.Errorf(kindOf(err), "the MCP server %s: %s", d.ID, text)
}

func kindOf(err error) protocol.ErrorKind {
	if k := protocol.KindOf(err); k != "" {
		return k
	}
	return protocol.KindTransient
}
