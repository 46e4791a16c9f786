package rpc

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/child"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
)

// Service is what is started.
type Service struct {
	Name  string
	Words []string        // of its command
	Files []manifest.File // that it finds beside itself
	// Servers are those that it may reach, "host:port".
	Servers []string
	Config  map[string]any // that it is told at its start
	// Concurrency is how many requests it works on at once; 0 = one.
	Concurrency int
}

// Options of an Executor.
type Options struct {
	Sandbox *sandbox.Box // nil = no program is started
	// Mounts are folders that every program sees, beside those of the system.
	Mounts []sandbox.Mount
	// Mask takes secrets out of what a service wrote to its standard error; nil = there are none.
	Mask func(string) string
	// Failed is told of each failure of a service; off says why it does not start again, "" = it
	// does. nil = nobody is.
	Failed func(service, off string)
	// Resolve finds the service that another one calls by a name, or says why it may not; nil =
	// none calls another.
	Resolve func(from, name string) (service string, err error)
	// Start bounds the time in which a service must be ready, Ping that for the answer to a
	// ping, and Shutdown that in which it may end by itself; 0 = 10 s, 5 s, 2 s.
	Start, Ping, Shutdown time.Duration
	// Pause and Group are those of child.Of.
	Pause time.Duration
	Group *child.Group
}

// Executor carries out the tools of all services of a scene.
type Executor struct{ services map[string]*service }

type service struct {
	child.Keeper[*session]
	Service
	opt Options
	all *Executor
}

// New makes an executor. It starts nothing.
func New(services []Service, opt Options) *Executor {
	opt.Start, opt.Ping, opt.Shutdown = cmp.Or(opt.Start, 10*time.Second), cmp.Or(opt.Ping, 5*time.Second), cmp.Or(opt.Shutdown, 2*time.Second)
	x := &Executor{map[string]*service{}}
	for _, of := range services {
		s := &service{Service: of, opt: opt, all: x}
		s.Keeper = child.Keep(child.Of[*session]{Name: "the service " + of.Name, Start: opt.Start, Pause: opt.Pause, Group: opt.Group, Open: s.open, End: (*session).end, Final: final, Failed: func(off string) {
			if opt.Failed != nil {
				opt.Failed(of.Name, off)
			}
		}})
		x.services[of.Name] = s
	}
	return x
}

// final reports failures that another start would not repair.
func final(err error) bool {
	kind := protocol.KindOf(err)
	return kind == protocol.KindInvalid || kind == protocol.KindNotFound || kind == protocol.KindDenied || errors.Is(err, child.ErrNoSandbox)
}

// Close implements tools.Executor. It returns when no service is left.
func (x *Executor) Close() error {
	for _, s := range x.services {
		s.Close()
	}
	return nil
}

// toolCall are the parameters of tool/call.
type toolCall struct {
	Tool    string         `json:"tool"`
	Method  string         `json:"method,omitempty"`
	Params  map[string]any `json:"params"`
	Key     string         `json:"key"`
	Attempt int            `json:"attempt"`
	Timeout int64          `json:"timeout_ms,omitempty"`

	// Of executor/call.
	Implementation *manifest.Implementation `json:"implementation,omitempty"`
}

// The methods by which a service carries a call out: of a tool that is its own, and of one
// whose executor it replaces.
const (
	methodTool     = "tool/call"
	methodExecutor = "executor/call"
)

// toolResult is the answer to tool/call.
type toolResult struct {
	Output json.RawMessage `json:"output"`
	Files  []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Data string `json:"data"` // base64
	} `json:"files"`
}

// Of carries out the tools of one service. Its Close does nothing.
func (x *Executor) Of(service string) tools.Executor {
	return tools.Func(func(ctx context.Context, c *tools.Call) tools.Result { return x.call(ctx, service, c) })
}

// Instead lets a service carry out tools whose executor it replaces. It has no secrets, and
// finds no files. Its Close does nothing.
func (x *Executor) Instead(service string) tools.Executor {
	return tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
		switch {
		case len(c.Secrets) > 0:
			return *unsent(tools.Fail(protocol.KindDenied, "the tool "+c.Tool.ID+" needs secrets, and the service "+service+", which carries it out, is given none"))
		case len(c.Binds) > 0:
			return *unsent(tools.Fail(protocol.KindDenied, "a parameter of the tool "+c.Tool.ID+" is a file (x-uri: path), and the service "+service+", which carries it out, is given none"))
		}
		q := ask(c)
		q.Implementation = &c.Tool.Implementation
		return x.result(ctx, service, methodExecutor, q, c.Progress)
	})
}

// Call implements tools.Executor, for tools whose implementation names the service.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	return x.call(ctx, c.Tool.Implementation.Name, c)
}

func (x *Executor) call(ctx context.Context, service string, c *tools.Call) tools.Result {
	return x.result(ctx, service, methodTool, ask(c), c.Progress)
}

func ask(c *tools.Call) *toolCall {
	q := &toolCall{Tool: c.Tool.ID, Method: c.Tool.Implementation.Method, Params: c.Params, Key: c.Key, Attempt: c.Attempt}
	if q.Params == nil {
		q.Params = map[string]any{}
	}
	return q
}

func (x *Executor) result(ctx context.Context, service, method string, q *toolCall, progress func(tools.Progress)) tools.Result {
	raw, failed := x.Ask(ctx, &Request{Service: service, Method: method, Params: q, progress: progress, Begins: func() {
		if end, ok := ctx.Deadline(); ok {
			q.Timeout = max(1, time.Until(end).Milliseconds())
		}
	}})
	if failed != nil {
		return *failed
	}
	return resultOf(raw)
}

// Request is what a service is asked.
type Request struct {
	Service, Method string
	Params          any
	// Turn bounds the start of the service and the wait for a place, and Answer the time from
	// when the request was written; 0 = the context alone does.
	Turn, Answer time.Duration

	progress func(tools.Progress) // nil = nobody wants to know
	Begins   func()               // called when the request has its place, before Params are written; nil = nobody is told
}

// Ask asks a service and gives the result, or why there is none. It waits while the service
// works on as many requests as it has places for; what has not left then is unsent.
func (x *Executor) Ask(ctx context.Context, q *Request) (json.RawMessage, *tools.Result) {
	s := x.services[q.Service]
	if s == nil {
		return nil, unsent(tools.Fail(protocol.KindNotFound, "there is no service "+q.Service))
	}
	open, failed := s.turn(ctx, q.Turn)
	if failed != nil {
		return nil, unsent(*failed)
	}
	if q.Begins != nil {
		q.Begins()
	}
	raw, err := open.ask(ctx, q)
	if l, ok := errors.AsType[*abandoned](err); ok {
		s.doubt(ctx, open, l)
	} else {
		open.leave()
	}
	if err != nil {
		r := s.failed(ctx, open, err)
		return nil, &r
	}
	s.Answered(open)
	return raw, nil
}

// turn waits for a place of the open session, at most for the given time; 0 = as long as ctx.
func (s *service) turn(ctx context.Context, limit time.Duration) (*session, *tools.Result) {
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	for {
		open, failed := s.Session(ctx)
		if failed != nil {
			return nil, failed
		}
		switch err := open.enter(ctx); {
		case err == nil:
			return open, nil
		case errors.Is(err, errEnded): // those that it worked for have left
			s.Broken(open, open.cause(err))
		default:
			kind := protocol.KindCancelled
			if errors.Is(err, context.DeadlineExceeded) {
				kind = protocol.KindTimeout
			}
			r := tools.Fail(kind, fmt.Sprintf("the service %s: it works on %d requests, as many as its concurrency says, and none was done in time", s.Name, cap(open.places)))
			return nil, &r
		}
	}
}

func unsent(r tools.Result) *tools.Result {
	r.Unsent = true
	return &r
}

// failed is the result of a request without an answer, or with an error in its place.
func (s *service) failed(ctx context.Context, open *session, err error) tools.Result {
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok {
		s.Answered(open)
		if said.Code == child.Unsound {
			return bad(0, said.Message)
		}
		return saysNo(said)
	}
	kind, text := protocol.KindTransient, "no answer"
	switch {
	case errors.Is(err, errTooLong):
		return *unsent(tools.Fail(protocol.KindLimit, err.Error()))
	case errors.Is(err, context.DeadlineExceeded):
		kind = protocol.KindTimeout
	case ctx.Err() != nil:
		kind, text = protocol.KindCancelled, "cancelled"
	default:
		err = open.cause(err)
		s.Broken(open, err)
		text = err.Error()
	}
	r := tools.Fail(kind, "the service "+s.Name+": "+text)
	r.Lost = true
	return r
}

// doubt keeps the place of a request that nobody waits for any more: until its answer comes
// late, or the service answers a ping that was sent after it. A service that does neither is
// ended; one whose caller left early has the rest of its time for it.
func (s *service) doubt(caller context.Context, open *session, of *abandoned) {
	limit := s.opt.Ping
	if end, ok := caller.Deadline(); ok && errors.Is(caller.Err(), context.Canceled) {
		limit += max(0, time.Until(end))
	}
	ctx, stop := context.WithTimeout(open.ctx, limit)
	open.aside(func() {
		select {
		case <-of.late:
			stop()
		case <-ctx.Done():
		}
	})
	open.aside(func() {
		defer stop()
		defer open.forget(of.id)
		before := open.heard.Load() // one that answers others is there
		_, err := open.ask(ctx, &Request{Method: "ping", Params: struct{}{}})
		if l, ok := errors.AsType[*abandoned](err); ok {
			open.forget(l.id)
		}
		if errors.Is(err, context.DeadlineExceeded) && open.heard.Load() == before {
			s.Broken(open, fmt.Errorf("it answered neither a request in time, nor a ping within %s", limit.Round(time.Millisecond)))
			return // nobody gets the place of a session that ends
		}
		open.leave()
	})
}

// refusal is the field data of an error.
type refusal struct {
	Kind       protocol.ErrorKind `json:"kind"`
	RetryAfter float64            `json:"retry_after"` // seconds
}

const maxAfter = 24 * 3600 // seconds

// saysNo is an error of a service. It chooses among a few kinds.
func saysNo(e *jsonrpc.Error) tools.Result {
	var more refusal
	_ = json.Unmarshal(e.Data, &more) // it may have none
	switch more.Kind {
	case protocol.KindTransient, tools.KindRateLimited, protocol.KindDenied, protocol.KindInvalid, protocol.KindNotFound:
	default:
		more.Kind = tools.KindTool
	}
	r := tools.Fail(more.Kind, protocol.Short(e.Message, 4<<10))
	if more.RetryAfter > 0 && more.RetryAfter <= maxAfter {
		r.Error.RetryAfter = protocol.Duration(more.RetryAfter * float64(time.Second))
	}
	return r
}

func resultOf(raw json.RawMessage) tools.Result {
	var said toolResult
	if err := ReadAnswer(raw, &said); err != nil {
		return bad(len(raw), "the answer is not {output, files}: "+err.Error())
	}
	if len(said.Output) == 0 {
		return bad(len(raw), "the answer has no output")
	}
	output, err := source.ParseValue("output.json", said.Output, source.Limits{MaxDepth: protocol.MaxNested, MaxBytes: child.MaxMessage, Wide: true})
	if err != nil {
		return bad(len(raw), "the output is no value: "+err.Error())
	}
	r := tools.Output(output)
	for _, f := range said.Files {
		data, err := base64.StdEncoding.DecodeString(f.Data)
		if err != nil {
			return bad(len(raw), "a file in the answer is no base64")
		}
		r.Attach(protocol.Short(f.Name, 200), protocol.Short(cmp.Or(f.Type, "application/octet-stream"), 100), data)
	}
	r.Size = int64(len(raw))
	return r
}

func bad(size int, why string) tools.Result {
	r := tools.Fail(tools.KindBadOutput, protocol.Short(why, 400))
	r.Size = int64(size)
	return r
}
