package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/child"
)

// version of the protocol.
const version = 1

// session is a service that runs.
type session struct {
	program  *child.Process
	wire     sdk.Connection
	shutdown time.Duration
	next     atomic.Int64
	heard    atomic.Int64  // messages that it answered with
	done     chan struct{} // closed when nothing can be read any more
	calls    chan struct{} // holds an element for each call of the service that is out
	places   chan struct{} // holds an element for each request that the service works on
	ctx      context.Context
	stop     context.CancelFunc // ends what the service has called

	mu      sync.Mutex // guards the following fields
	cutting bool
	beside  sync.WaitGroup // what is written or asked although nobody waits; none begins while it is cut
	waiting map[jsonrpc.ID]waiter
}

// waiter is who waits for an answer.
type waiter struct {
	answer   chan *jsonrpc.Response
	progress func(tools.Progress) // nil = it does not want to know
}

// greeting are the parameters of initialize.
type greeting struct {
	Protocol int            `json:"protocol"`
	Service  string         `json:"service"`
	Config   map[string]any `json:"config"`
}

// open starts the service.
func (s *service) open(ctx context.Context) (*session, error) {
	program, err := child.Start(child.Program{
		Words: s.Words, Files: s.Files, Servers: s.Servers, Mounts: s.opt.Mounts, Sandbox: s.opt.Sandbox, Mask: s.opt.Mask, GivesUp: cancelled, GivenUp: "id", Wanted: func(q *jsonrpc.Request) bool {
			return q.Method == serviceCall && q.IsCall() || q.Method == progress && !q.IsCall()
		},
	})
	if err != nil {
		return nil, err
	}
	o := &session{program: program, shutdown: s.opt.Shutdown, done: make(chan struct{}), calls: make(chan struct{}, maxCalls), places: make(chan struct{}, max(1, s.Concurrency)), waiting: map[jsonrpc.ID]waiter{}}
	o.ctx, o.stop = context.WithCancel(context.Background())
	if o.wire, err = program.Connect(ctx); err != nil {
		o.stop()
		program.Cut()
		return nil, err
	}
	go o.read(s)
	if err = o.greet(ctx, s); err != nil {
		err = o.cause(err)
		o.cut()
		return nil, err
	}
	return o, nil
}

func (o *session) greet(ctx context.Context, s *service) error {
	config := s.Config
	if config == nil {
		config = map[string]any{}
	}
	raw, err := o.ask(ctx, &Request{Method: "initialize", Params: greeting{version, s.Name, config}})
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Errorf("it refused to begin: %s", said.Message)
	}
	if err != nil {
		return err
	}
	var said struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(raw, &said); err != nil || said.Protocol != version {
		return child.Violated("it does not speak version %d of the protocol", version)
	}
	return nil
}

// read hands answers to those that wait, and makes calls of the service. What nobody waits for
// did not come here.
func (o *session) read(s *service) {
	defer close(o.done)
	for {
		m, err := o.wire.Read(context.Background())
		if err != nil {
			return
		}
		switch x := m.(type) {
		case *jsonrpc.Request:
			if x.Method == progress {
				o.progress(x.Params)
			} else {
				o.called(s, x)
			}
		case *jsonrpc.Response:
			o.heard.Add(1)
			o.mu.Lock()
			to := o.waiting[x.ID]
			delete(o.waiting, x.ID)
			o.mu.Unlock()
			if to.answer != nil {
				to.answer <- x
			}
		}
	}
}

// progress is the method by which a service says how far a call of a tool is.
const progress = "$/progress"

// progress tells who waits for a call how far it is. What is no report, or about nothing that
// is out, is dropped.
func (o *session) progress(params json.RawMessage) {
	var said struct {
		ID       float64 `json:"id"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	id, err := jsonrpc.ID{}, json.Unmarshal(params, &said)
	if err == nil {
		id, err = jsonrpc.MakeID(said.ID)
	}
	if err != nil {
		return
	}
	o.mu.Lock()
	to := o.waiting[id]
	o.mu.Unlock()
	if to.progress != nil {
		to.progress(tools.Progress{Done: said.Progress, Total: said.Total, Message: said.Message})
	}
}

var (
	errEnded   = errors.New("it ended")
	errTooLong = fmt.Errorf("the parameters have more than %d bytes", child.MaxMessage)
)

// abandoned is the error of a request that nobody waits for any more. Its answer may still come,
// until it is forgotten.
type abandoned struct {
	error
	id   jsonrpc.ID
	late <-chan *jsonrpc.Response
}

func (l *abandoned) Unwrap() error { return l.error }

// enter waits for a place: the service works on no more requests at once than it has places.
func (o *session) enter(ctx context.Context) error {
	select {
	case o.places <- struct{}{}:
		return nil
	case <-o.done:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives a place back.
func (o *session) leave() { <-o.places }

// ask sends a request and waits for the answer. An error of the service is a *jsonrpc.Error.
func (o *session) ask(ctx context.Context, q *Request) (json.RawMessage, error) {
	raw, err := json.Marshal(q.Params)
	if err != nil {
		return nil, err
	}
	if len(raw) > child.MaxMessage-1024 {
		return nil, errTooLong
	}
	id, err := jsonrpc.MakeID(float64(o.next.Add(1)))
	if err != nil {
		return nil, err
	}
	answer := make(chan *jsonrpc.Response, 1)
	o.mu.Lock()
	o.waiting[id] = waiter{answer, q.progress}
	o.mu.Unlock()
	if err := o.wire.Write(ctx, &jsonrpc.Request{ID: id, Method: q.Method, Params: raw}); err != nil {
		o.forget(id)
		return nil, err
	}
	if q.Answer > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, q.Answer)
		defer stop()
	}
	select {
	case x := <-answer:
		return x.Result, x.Error
	case <-ctx.Done():
		o.cancel(id)
		return nil, &abandoned{ctx.Err(), id, answer}
	case <-o.done:
		select {
		case x := <-answer: // it was the last
			return x.Result, x.Error
		default:
			return nil, errEnded
		}
	}
}

func (o *session) forget(id jsonrpc.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, id)
}

// cancelled is the method by which a service is told that nobody waits for a request any more.
const cancelled = "$/cancel"

// cancel tells the service that nobody waits for an answer any more.
func (o *session) cancel(id jsonrpc.ID) {
	o.aside(func() {
		raw, _ := json.Marshal(map[string]any{"id": id.Raw()})
		_ = o.wire.Write(context.Background(), &jsonrpc.Request{Method: cancelled, Params: raw}) // the end of the wire is seen by the reader
	})
}

// aside does something for which nobody waits but the end of the session.
func (o *session) aside(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.cutting {
		o.beside.Go(do)
	}
}

// cause is why the session failed.
func (o *session) cause(err error) error {
	if f := o.program.Fault(); f != nil {
		return f
	}
	return err
}

// end lets the service end by itself, then ends it; it returns when nothing is left.
func (o *session) end(until time.Time) {
	ctx, stop := context.WithTimeout(context.Background(), o.shutdown)
	defer stop()
	if !until.IsZero() {
		ctx, stop = context.WithDeadline(ctx, until)
		defer stop()
	}
	_, _ = o.ask(ctx, &Request{Method: "shutdown", Params: struct{}{}}) // it is ended either way
	o.cut()
}

func (o *session) cut() {
	o.mu.Lock()
	o.cutting = true
	o.mu.Unlock()
	o.stop()
	o.program.Cut()
	_ = o.wire.Close()
	<-o.done
	o.beside.Wait()
}
