package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
)

// whyField is the field of _meta that tells a server why nobody answered.
const whyField = "simd/reason"

// asking is a call of which the server may ask a person.
type asking struct {
	of   *tools.Call
	ctx  context.Context // of the attempt
	mu   sync.Mutex
	said []string // why questions were not answered
	time bool     // a person was asked, which takes time that is not the server's
}

type askingKey struct{}

// asks lets the server ask a person about a call, until end.
func (o *session) asks(ctx context.Context, c *tools.Call) (_ context.Context, a *asking, end func()) {
	a = &asking{of: c}
	a.ctx = context.WithValue(ctx, askingKey{}, a)
	o.asking.mu.Lock()
	o.asking.of = append(o.asking.of, a)
	o.asking.mu.Unlock()
	return a.ctx, a, func() {
		o.asking.mu.Lock()
		defer o.asking.mu.Unlock()
		o.asking.of = slices.DeleteFunc(o.asking.of, func(x *asking) bool { return x == a })
	}
}

// calls are those that are out.
type calls struct {
	mu sync.Mutex
	of []*asking
}

// one is the call of a question: the one in whose answer it came, or the only one that is out.
func (o *session) one(ctx context.Context) (*asking, error) {
	if a, ok := ctx.Value(askingKey{}).(*asking); ok {
		return a, nil
	}
	o.asking.mu.Lock()
	defer o.asking.mu.Unlock()
	if n := len(o.asking.of); n != 1 {
		err := fmt.Errorf("%d calls of the server are out, and the question does not say which of them it is for; with concurrency: 1 there is one", n)
		for _, a := range o.asking.of {
			a.note(err.Error())
		}
		return nil, err
	}
	return o.asking.of[0], nil
}

// hears answers the questions of a server to a person that it sends as requests. The library's
// own handler would also open pages, and send calls again after errors.
func (o *session) hears(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		if x, ok := q.(*sdk.ElicitRequest); ok {
			return o.elicit(ctx, x.Params)
		}
		return next(ctx, method, q)
	}
}

// maxRounds bounds how often a server asks for input before it answers a call.
const maxRounds = 10

// call makes a call. A server may answer with questions: then it gets the answers with the
// call, whose state it keeps; that is no second call.
func (o *session) call(ctx context.Context, q *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	for range maxRounds {
		answer, err := o.client.CallTool(ctx, q)
		if err != nil || !answer.NeedsInput() || len(answer.InputRequests) == 0 {
			return answer, err
		}
		again := *q
		again.RequestState, again.InputResponses = answer.RequestState, sdk.InputResponseMap{}
		for _, id := range protocol.SortedKeys(answer.InputRequests) {
			form, ok := answer.InputRequests[id].(*sdk.ElicitParams)
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it asks for what is no form: simd gives it no samples of models and no roots"}
			}
			if again.InputResponses[id], err = o.elicit(ctx, form); err != nil {
				return nil, err
			}
		}
		q = &again
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it asks for input again and again"}
}

// elicit answers a server that wants to know something from a person.
func (o *session) elicit(ctx context.Context, q *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	no := func(action string, why string) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: action, Meta: sdk.Meta{whyField: why}}, nil
	}
	a, err := o.one(ctx)
	if err != nil {
		return no("decline", err.Error())
	}
	if q.Mode == "url" || q.URL != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: a.note("it wants a page to be opened; simd answers forms alone")}
	}
	if a.of.Ask == nil {
		return no("decline", a.note("nobody can be asked here"))
	}
	schema, err := object(q.RequestedSchema)
	if err != nil {
		return no("decline", a.note(err.Error()))
	}
	both, stop := context.WithCancel(a.ctx) // the call's, and the server's
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	a.mu.Lock()
	a.time = true
	a.mu.Unlock()
	f := a.of.Ask(both, tools.Form{Message: q.Message, Schema: schema})
	switch {
	case f.Given:
		return &sdk.ElicitResult{Action: "accept", Content: f.Answer}, nil
	case f.Silent:
		return no("cancel", a.note(f.Why))
	}
	return no("decline", a.note(f.Why))
}

// waited reports whether a person was asked.
func (a *asking) waited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.time
}

// note keeps why a question was not answered, for who made the call.
func (a *asking) note(why string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.said) < 3 {
		a.said = append(a.said, protocol.Short(why, 200))
	}
	return why
}

// told adds to a failure which questions of the server had no answer.
func (a *asking) told(r tools.Result) tools.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Error != nil {
		for _, why := range a.said {
			r.Error.Message += "; it asked, and had no answer: " + why
		}
	}
	return r
}
