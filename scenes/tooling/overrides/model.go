package overrides

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/rpc"
)

// methodComplete asks a service for the answer of a model.
const methodComplete = "model/complete"

const (
	defaultModelTime = 2 * time.Minute // of a request that has no time of its own
	maxModelDepth    = 64              // how deep parameters of calls are nested
	maxModelCalls    = endpoint.MaxCalls
)

// Model is a provider whose answers are those of a service. It is made before the scene, and
// opened with it.
type Model struct {
	winner *Winner
	asked  Asked // set before the first request
	gate   *gate.Gate
	closed context.Context
	close  context.CancelCauseFunc
}

// NewModel makes a provider. Until it is opened every request fails.
func NewModel(w *Winner) *Model {
	m := &Model{winner: w, gate: gate.New(w.Name(), limit.Options{Fixed: true, Kept: -1})}
	m.closed, m.close = context.WithCancelCause(context.Background())
	return m
}

// Open lets the service be asked. It is called before the first request.
func (m *Model) Open(a Asked) { m.asked = a }

// Name implements llm.Provider.
func (m *Model) Name() string { return m.winner.Name() }

// Price implements models.Priced: the plugin says it.
func (m *Model) Price() (p price.Price, known bool) {
	if said := m.winner.Price; said != nil {
		return (&price.Rate{Input: said.Input, Output: said.Output}).Price(), true
	}
	return p, false
}

// Gate implements gate.Gated: 64 requests are out at once, and each is repeated up to four times.
func (m *Model) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return m.gate, 0 }

var errClosed = errors.New("the models are closed")

// Close implements llm.Provider. The service ends with its scene.
func (m *Model) Close() error {
	m.close(errClosed)
	return nil
}

// Complete implements llm.Provider.
func (m *Model) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	begun := time.Now()
	ctx, stop := context.WithTimeout(ctx, cmp.Or(q.Timeout, defaultModelTime))
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(m.closed, func() { end(errClosed) })()
	raw, asked, err := m.ask(ctx, q)
	if err != nil {
		return protocol.ModelAnswer{}, m.failed(ctx, err, time.Since(begun))
	}
	answer, err := m.read(raw, q)
	if err == nil {
		err = m.mask(&answer)
	}
	if err != nil {
		return protocol.ModelAnswer{}, m.wrong(err, time.Since(begun))
	}
	endpoint.Count(&answer.Usage, q, asked, len(raw))
	answer.Latency = time.Since(begun)
	return answer, llm.Deliver(&answer, sink)
}

// ask sends the question and gives the answer, and how many bytes the question has.
func (m *Model) ask(ctx context.Context, q *protocol.ModelRequest) (raw json.RawMessage, size int, err error) {
	asks, err := questionOf(q)
	if err != nil {
		return nil, 0, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: m.Name() + ": " + err.Error(), Cause: err}
	}
	raw, err = m.call(ctx, methodComplete, asks, &asks.Timeout)
	return raw, asks.size(), err
}

// call asks the service by a method. The time that is left is put into the parameters when the
// question is written.
func (m *Model) call(ctx context.Context, method string, params any, timeout *int64) (json.RawMessage, error) {
	switch {
	case m.closed.Err() != nil:
		return nil, &llm.Failure{Outcome: llm.OutcomeClosed, Message: m.Name() + ": " + errClosed.Error()}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case m.asked.Services == nil:
		return nil, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: m.Name() + ": the service is not open; run with --model scripted, or with --tools live"}
	}
	raw, failed := m.asked.Ask(ctx, &rpc.Request{Service: m.winner.Service, Method: method, Params: params, Begins: func() { *timeout = left(ctx) }})
	if failed != nil {
		return nil, &refusal{failed}
	}
	return raw, nil
}

// refusal is a request that the service did not answer, or refused.
type refusal struct{ *tools.Result }

func (r *refusal) Error() string { return r.Result.Error.Message }

// failed is the failure of a request.
func (m *Model) failed(ctx context.Context, err error, took time.Duration) error {
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return f
	}
	said, ok := errors.AsType[*refusal](err)
	if ok {
		err = errors.New(m.asked.said(err.Error()))
	}
	f := &llm.Failure{Latency: took, Cause: err, Message: m.Name() + ": " + err.Error()}
	switch {
	case errors.Is(context.Cause(ctx), errClosed):
		f.Outcome = llm.OutcomeClosed
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Outcome = llm.OutcomeTimeout
	case ctx.Err() != nil:
		f.Outcome = llm.OutcomeCancelled
	case !ok:
		f.Outcome = llm.OutcomeServerError
	default:
		f.Outcome, f.RetryAfter = outcomeOf(said.Result.Error.Kind), said.Result.Error.RetryAfter.Std()
	}
	return f
}

// wrong is the failure of an answer that cannot be used. What is wrong with it has words of the service.
func (m *Model) wrong(err error, took time.Duration) *llm.Failure {
	return &llm.Failure{Outcome: llm.OutcomeBadOutput, Message: m.Name() + ": " + m.asked.said(err.Error()), Latency: took}
}

// mask takes secrets out of an answer: what a service says comes from a program that may have been given one.
func (m *Model) mask(a *protocol.ModelAnswer) error {
	calls := make([]any, len(a.Calls))
	for i, c := range a.Calls {
		calls[i] = map[string]any{"id": c.ID, "tool": c.Tool, "params": c.Params}
	}
	v, err := m.asked.Mask(map[string]any{"model": a.Model, "text": a.Text, "reasoning": a.Reasoning, "calls": calls})
	if err != nil {
		return err
	}
	// What is left of a value with a secret may be another one, or a text.
	said, ok := v.(map[string]any)
	calls, listed := said["calls"].([]any)
	if !ok || !listed || len(calls) != len(a.Calls) || !takeTexts(said, map[string]*string{"model": &a.Model, "text": &a.Text, "reasoning": &a.Reasoning}) {
		return errWithheld
	}
	for i := range a.Calls {
		to := &a.Calls[i]
		c, _ := calls[i].(map[string]any) // of none there is no text
		params, ok := c["params"].(map[string]any)
		if !takeTexts(c, map[string]*string{"id": &to.ID, "tool": &to.Tool}) || !ok && (to.Params != nil || c["params"] != nil) {
			return errWithheld
		}
		to.Params = params
	}
	return nil
}

var errWithheld = protocol.Errorf(protocol.KindDenied, "the answer is withheld: it has a secret")

// takeTexts takes texts out of a value by their names; false = one is missing, or is none.
func takeTexts(of map[string]any, to map[string]*string) bool {
	for name, text := range to {
		said, ok := of[name].(string)
		if !ok {
			return false
		}
		*text = said
	}
	return true
}

func outcomeOf(kind protocol.ErrorKind) llm.Outcome {
	switch kind {
	case tools.KindRateLimited:
		return llm.OutcomeRateLimited
	case protocol.KindTransient:
		return llm.OutcomeServerError
	case protocol.KindTimeout:
		return llm.OutcomeTimeout
	case protocol.KindDenied:
		return llm.OutcomeAuth
	case protocol.KindUnknown, protocol.KindCancelled: // it is off, or the scene ends
		return llm.OutcomeClosed
	case protocol.KindLimit:
		return llm.OutcomeContext
	}
	return llm.OutcomeBadRequest
}

// question are the parameters of model/complete.
type question struct {
	Model       string           `json:"model"`
	Messages    []message        `json:"messages"`
	Tools       []offered        `json:"tools"`
	MaxTokens   int              `json:"max_tokens"`
	Temperature *float64         `json:"temperature"`
	Stop        []string         `json:"stop"`
	JSON        bool             `json:"json"`
	Options     *options         `json:"options"`
	Purpose     protocol.Purpose `json:"purpose"`
	Scene       string           `json:"scene"`
	Agent       string           `json:"agent"`
	Turn        uint64           `json:"turn"`
	Attempt     int64            `json:"attempt"`
	Timeout     int64            `json:"timeout_ms"`
}

type message struct {
	Role   protocol.Role `json:"role"`
	Text   string        `json:"text"`
	Calls  []call        `json:"calls,omitempty"`
	CallID string        `json:"call_id,omitempty"`
	Images []image       `json:"images,omitempty"`
}

type call struct {
	ID     string         `json:"id"`
	Tool   string         `json:"tool"`
	Params map[string]any `json:"params"`
}

type image struct {
	Type string `json:"type"`
	Data string `json:"data"` // base64
}

type offered struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters"`
}

type options struct {
	TopP       *float64       `json:"top_p,omitempty"`
	Seed       *int64         `json:"seed,omitempty"`
	Effort     string         `json:"effort,omitempty"`
	Schema     any            `json:"schema,omitempty"`
	ToolChoice string         `json:"tool_choice,omitempty"`
	Parallel   *bool          `json:"parallel,omitempty"`
	Extra      map[string]any `json:"extra,omitempty"`
}

// questionOf is a request as the service is told it.
func questionOf(q *protocol.ModelRequest) (*question, error) {
	x := &question{
		Model: q.Model, Messages: []message{}, Tools: []offered{}, MaxTokens: q.MaxTokens, Temperature: q.Temperature, Stop: append([]string{}, q.Stop...), JSON: q.JSON,
		Purpose: q.Purpose, Scene: q.Scene, Agent: q.Agent, Turn: q.Turn, Attempt: max(q.Attempt, 1), Options: &options{},
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		told := message{Role: m.Role, Text: m.Text, CallID: m.CallID}
		for _, c := range m.Calls {
			told.Calls = append(told.Calls, call{c.ID, c.Tool, c.Params})
		}
		for k := range m.Images {
			data, err := llm.AppendPicture(nil, q, &m.Images[k])
			if err != nil {
				return nil, err
			}
			told.Images = append(told.Images, image{m.Images[k].Type, string(data)})
		}
		x.Messages = append(x.Messages, told)
	}
	for _, t := range q.Tools {
		x.Tools = append(x.Tools, offered{t.Name, t.Description, t.Parameters})
	}
	if o := q.Options; o != nil {
		x.Options = &options{o.TopP, o.Seed, o.Effort, o.Schema, o.ToolChoice, o.Parallel, o.Extra}
	}
	return x, nil
}

// size is about how many bytes a model reads of a question.
func (x *question) size() (n int) {
	for i := range x.Messages {
		n += len(x.Messages[i].Text)
	}
	for i := range x.Tools {
		n += len(x.Tools[i].Description)
	}
	return n
}

// completion is the result of model/complete.
type completion struct {
	Model     string `json:"model"`
	Text      string `json:"text"`
	Reasoning string `json:"reasoning"`
	Calls     []struct {
		ID     string          `json:"id"`
		Tool   string          `json:"tool"`
		Params json.RawMessage `json:"params"`
	} `json:"calls"`
	Finish protocol.FinishReason `json:"finish"`
	Usage  struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
	} `json:"usage"`
}

// read checks an answer.
func (m *Model) read(raw json.RawMessage, q *protocol.ModelRequest) (a protocol.ModelAnswer, err error) {
	var said completion
	if err := rpc.ReadAnswer(raw, &said); err != nil {
		return a, fmt.Errorf("the answer is no object with text, reasoning, calls, finish, usage and model: %w", err)
	}
	a = protocol.ModelAnswer{Model: protocol.Short(cmp.Or(said.Model, q.Model, m.Name()), 200), Text: said.Text, Reasoning: said.Reasoning, Finish: said.Finish}
	a.Usage = protocol.Usage{Input: said.Usage.Input, Output: said.Usage.Output}
	a.Origin = &protocol.ModelOrigin{Endpoint: m.Name(), Attempts: max(q.Attempt, 1)}
	if len(said.Calls) > maxModelCalls {
		return a, fmt.Errorf("the answer has %d calls, more than %d", len(said.Calls), maxModelCalls)
	}
	for i, c := range said.Calls {
		params, err := paramsOf(c.Params)
		if err == nil && c.Tool == "" {
			err = errors.New("it names no tool")
		}
		if err != nil {
			return a, fmt.Errorf("calls[%d]: %w", i, err)
		}
		a.Calls = append(a.Calls, protocol.Call{ID: protocol.Short(c.ID, 200), Tool: c.Tool, Params: params, Origin: protocol.OriginNative})
	}
	toolcall.Unique(a.Calls)
	switch a.Finish {
	case protocol.FinishStop, protocol.FinishLength, protocol.FinishToolCalls, protocol.FinishFiltered:
	case "":
		if a.Finish = protocol.FinishStop; len(a.Calls) > 0 {
			a.Finish = protocol.FinishToolCalls
		}
	default:
		return a, fmt.Errorf("finish is %q; want stop, length, tool_calls or filtered", protocol.Short(string(a.Finish), 80))
	}
	return a, nil
}

// paramsOf reads the parameters of a call: an object, or nothing.
func paramsOf(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	v, err := source.ParseValue("params.json", raw, source.Limits{MaxDepth: maxModelDepth, MaxBytes: len(raw) + 1})
	if err != nil {
		return nil, fmt.Errorf("the parameters are no value: %w", err)
	}
	params, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the parameters are no object")
	}
	return params, nil
}
