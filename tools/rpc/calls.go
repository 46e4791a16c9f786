package rpc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tavernsim/protocol"
	"tavernsim/tools"
)

// serviceCall is the method by which a service calls another one, and by which that is called.
const serviceCall = "service/call"

const (
	maxCalls    = 16               // of one service that are out; more are refused
	maxCallTime = 30 * time.Second // of one, with the start of the other service
)

// outgoing are the parameters of a call that a service makes, and incoming those that the
// other one gets.
type outgoing struct {
	Service string          `json:"service"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Timeout int64           `json:"timeout_ms"`
}

type incoming struct {
	From    string          `json:"from"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Timeout int64           `json:"timeout_ms"`
}

// called makes a call of the service beside everything else. It returns at once.
func (o *session) called(s *service, q *jsonrpc.Request) {
	answer := func(result json.RawMessage, failed *tools.Result) {
		x := &jsonrpc.Response{ID: q.ID, Result: result}
		if failed != nil {
			data, _ := json.Marshal(refusal{Kind: failed.Error.Kind, RetryAfter: failed.Error.RetryAfter.Std().Seconds()}) // plain fields
			x.Error = &jsonrpc.Error{Code: -32000, Message: failed.Error.Message, Data: data}
		}
		_ = o.wire.Write(context.Background(), x) // the end of the wire is seen by the reader
	}
	refuse := func(kind protocol.ErrorKind, why string) {
		r := tools.Fail(kind, why)
		o.aside(func() { answer(nil, &r) })
	}
	select {
	case o.calls <- struct{}{}:
	default:
		refuse(protocol.KindLimit, "more than 16 calls of this service are out")
		return
	}
	o.aside(func() {
		defer func() { <-o.calls }()
		answer(s.callOther(o.ctx, q.Params))
	})
}

// callOther calls another service.
func (s *service) callOther(ctx context.Context, params json.RawMessage) (json.RawMessage, *tools.Result) {
	no := func(kind protocol.ErrorKind, why string) (json.RawMessage, *tools.Result) {
		r := tools.Fail(kind, why)
		return nil, &r
	}
	var q outgoing
	if err := json.Unmarshal(params, &q); err != nil || q.Service == "" || q.Method == "" {
		return no(protocol.KindInvalid, serviceCall+": want {service, method, params, timeout_ms}")
	}
	if s.opt.Resolve == nil {
		return no(protocol.KindDenied, "services call no others in this program")
	}
	to, err := s.opt.Resolve(s.Name, q.Service)
	if err != nil {
		return no(protocol.KindOf(err), err.Error())
	}
	if to == s.Name {
		return no(protocol.KindDenied, "a service does not call itself")
	}
	limit := maxCallTime
	if asked := time.Duration(q.Timeout) * time.Millisecond; asked > 0 && q.Timeout < maxCallTime.Milliseconds() {
		limit = asked
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	sent := &incoming{From: s.Name, Method: q.Method, Params: q.Params}
	return s.all.Ask(ctx, &Request{Service: to, Method: serviceCall, Params: sent, Begins: func() {
		end, _ := ctx.Deadline()
		sent.Timeout = max(1, time.Until(end).Milliseconds())
	}})
}
