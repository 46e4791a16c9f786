package serve

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
)

// lingers is how long an answer waits for a call that was ended. A program is killed before
// (tools/sandbox): only a tool that does not heed its context takes longer.
const lingers = 5 * time.Second

// ending ends the requests of a session with it. The library waits for them when it closes a session.
type ending struct {
	all    context.Context // ends with the server
	endAll context.CancelFunc

	mu sync.Mutex
	of map[*sdk.ServerSession]*lasting // those that somebody holds
}

// lasting is the context of the requests of a session, kept while some are under way or the session is being closed.
type lasting struct {
	context.Context
	end  context.CancelFunc
	held int
}

func newEnding() *ending {
	e := &ending{of: map[*sdk.ServerSession]*lasting{}}
	e.all, e.endAll = context.WithCancel(context.Background())
	return e
}

// hold is the context of a session; the caller owes the release.
func (e *ending) hold(x *sdk.ServerSession) (l *lasting, release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l = e.of[x]; l == nil {
		l = &lasting{}
		l.Context, l.end = context.WithCancel(e.all)
		e.of[x] = l
	}
	l.held++
	return l, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if l.held--; l.held == 0 {
			l.end()
			delete(e.of, x)
		}
	}
}

// end ends the requests of a session, also those that come until the caller has closed it and calls closed.
func (e *ending) end(x *sdk.ServerSession) (closed func()) {
	l, release := e.hold(x)
	l.end()
	return release
}

// within ends a request with its session.
func (e *ending) within(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		x, ok := q.GetSession().(*sdk.ServerSession)
		if !ok {
			return next(ctx, method, q)
		}
		l, release := e.hold(x)
		defer release()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(l, cancel)()
		return next(ctx, method, q)
	}
}

// answered is what a call answers. One that goes on although it was ended is left alone after a while.
func answered(ctx context.Context, call func() *sdk.CallToolResult) *sdk.CallToolResult {
	answer := make(chan *sdk.CallToolResult, 1)
	go func() { answer <- call() }()
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
	}
	late := time.NewTimer(lingers)
	defer late.Stop()
	select {
	case a := <-answer:
		return a
	case <-late.C:
		return answerOf(new(tools.Fail(protocol.KindCancelled, "the call was cancelled, and the tool goes on")))
	}
}
