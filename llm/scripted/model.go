package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"tavernsim/engine/expr"
	"tavernsim/engine/stub"
	"tavernsim/engine/template"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// providerName stands in metrics and errors.
const providerName = "scripted"

// maxProfiles bounds the index; requests of further profiles test every rule.
const maxProfiles = 4096

// Model is a compiled script: an llm.Instant.
type Model struct {
	name     string
	timeout  time.Duration
	rules    []*rule
	fallback *Model // asked when no rule answers; nil in the default script itself

	// byProfile holds the rules that a profile can match, in order. It grows by
	// copying, as profiles are met.
	byProfile atomic.Pointer[map[string][]*rule]
	grow      sync.Mutex
	envs      sync.Pool
	closed    atomic.Bool

	mu      sync.Mutex                   // guards waiting
	waiting map[*context.CancelFunc]bool // of the calls that wait
}

var _ llm.Instant = (*Model)(nil)

// answer is a compiled answer.
type answer struct {
	text, reasoning *template.Template
	json            stub.Maker
	calls           []call
	finish          protocol.FinishReason
	fail            string
}

type call struct {
	tool   *template.Template
	params stub.Maker     // nil = they are the same in every answer
	fixed  map[string]any // then
	tokens int64          // of fixed
	when   *expr.Program
}

// Name is "scripted".
func (m *Model) Name() string { return providerName }

// Close ends requests that wait, and makes further ones fail.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed.Store(true)
	for cancel := range m.waiting {
		(*cancel)()
	}
	return nil
}

// NeverFails reports whether no answer is a failure that the script simulates.
func (m *Model) NeverFails() bool {
	for _, r := range m.rules {
		if r.failures != nil {
			return false
		}
	}
	return m.fallback == nil || m.fallback.NeverFails()
}

// Complete answers after the answer's latency has really passed.
func (m *Model) Complete(ctx context.Context, req *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	if err := llm.Stopped(ctx, providerName); err != nil {
		return protocol.ModelAnswer{}, err
	}
	a, err := m.Answer(req)
	wait := a.Latency
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		wait = f.Latency
	}
	if wait > 0 {
		if err := m.pass(ctx, wait); err != nil {
			return protocol.ModelAnswer{}, err
		}
	}
	if err == nil {
		err = llm.Deliver(&a, sink)
	}
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	return a, nil
}

// pass waits, at most until the call is cancelled or the model is closed.
func (m *Model) pass(ctx context.Context, wait time.Duration) error {
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	if m.waiting == nil {
		m.waiting = map[*context.CancelFunc]bool{}
	}
	m.waiting[&cancel] = true
	if m.closed.Load() {
		cancel()
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, &cancel)
	}()
	err := llm.Wait(waits, providerName, wait)
	if err != nil && ctx.Err() == nil {
		return errClosed()
	}
	return err
}

func errClosed() error {
	return &llm.Failure{Outcome: llm.OutcomeClosed, Message: providerName + ": closed"}
}

// Answer computes an answer at once.
func (m *Model) Answer(req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	if m.closed.Load() {
		return protocol.ModelAnswer{}, errClosed()
	}
	e, _ := m.envs.Get().(*env)
	if e == nil {
		e = &env{}
	}
	e.begin(req)
	a, err := m.answer(e)
	*e = env{buf: e.buf[:0]}
	m.envs.Put(e)
	return a, err
}

// answer finds the rule and lets it speak.
func (m *Model) answer(e *env) (protocol.ModelAnswer, error) {
	for _, r := range m.candidates(e.req.Profile) {
		ok, err := r.holds(e)
		if err != nil {
			return protocol.ModelAnswer{}, r.fault(err)
		}
		if ok {
			return m.speak(e, r)
		}
	}
	if m.fallback != nil {
		return m.fallback.answer(e)
	}
	return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: providerName + ": no rule matches"}
}

// candidates are the rules whose profile patterns match.
func (m *Model) candidates(profile string) []*rule {
	known := m.byProfile.Load()
	if list, ok := (*known)[profile]; ok {
		return list
	}
	var list []*rule
	for _, r := range m.rules {
		if r.profile.Match(profile) {
			list = append(list, r)
		}
	}
	m.grow.Lock()
	defer m.grow.Unlock()
	if known = m.byProfile.Load(); len(*known) < maxProfiles {
		next := maps.Clone(*known)
		next[strings.Clone(profile)] = list
		m.byProfile.Store(&next)
	}
	return list
}

func (r *rule) fault(err error) error {
	return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: providerName + ": " + r.name + ": " + err.Error(), Cause: err}
}

// speak makes the answer of the rule that holds.
func (m *Model) speak(e *env, r *rule) (protocol.ModelAnswer, error) {
	a := &r.answers[0]
	if len(r.answers) > 1 { // a stream takes time
		a = &r.answers[r.choice.Of(e.stream(r.index, useWeight))]
	}
	e.at(r.index, useDraw)
	e.text = e.stream(r.index, useText)
	out := protocol.ModelAnswer{Model: m.name, Finish: a.finish}
	if err := a.fill(e, &out); err != nil {
		return protocol.ModelAnswer{}, r.fault(err)
	}
	cut(&out, e.req)
	out.Usage = usage(e, &out)
	out.Latency = r.latency.Draw(e.stream(r.index, useLatency), out.Usage.Output)
	fail := a.fail
	if fail == "" {
		fail = r.failures.of(e.stream(r.index, useFailure))
	}
	limit := m.timeout
	if e.req.Timeout > 0 {
		limit = e.req.Timeout
	}
	if out.Latency > limit {
		fail = failTimeout
	}
	if fail != "" {
		return r.failed(e, out, fail, limit)
	}
	return out, r.asked(e.req, &out)
}

// fill computes text, reasoning and calls.
func (a *answer) fill(e *env, out *protocol.ModelAnswer) (err error) {
	if out.Text, err = e.render(a.text); err != nil {
		return err
	}
	if out.Reasoning, err = e.render(a.reasoning); err != nil {
		return err
	}
	if a.json != nil {
		v, err := a.json(e)
		if err != nil {
			return err
		}
		out.Text = string(template.AppendJSON(nil, v))
	}
	if len(a.calls) > 0 {
		err = a.makeCalls(e, out)
	}
	return err
}

func (a *answer) makeCalls(e *env, out *protocol.ModelAnswer) error {
	out.Calls = make([]protocol.Call, 0, len(a.calls))
	for i := range a.calls {
		c := &a.calls[i]
		if c.when != nil {
			if ok, err := c.when.EvalBool(e); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		out.Calls = append(out.Calls, protocol.Call{Origin: protocol.OriginNative})
		made, err := &out.Calls[len(out.Calls)-1], error(nil)
		if made.Tool, err = e.render(c.tool); err != nil {
			return err
		}
		tokens := c.tokens
		if made.Params = c.fixed; c.params != nil {
			v, err := c.params(e)
			if err != nil {
				return err
			}
			made.Params, _ = v.(map[string]any)
			tokens = valueTokens(made.Params)
		}
		e.tokens += tokensPerCall + EstimateTokens(made.Tool) + tokens
	}
	if len(out.Calls) == 0 && out.Finish == protocol.FinishToolCalls {
		out.Finish = protocol.FinishStop
	}
	name(out.Calls, e.stream(e.rule, useID))
	return nil
}

// name gives calls their ids, which share memory.
func name(calls []protocol.Call, d protocol.Draw) {
	var room [64]byte
	var ends [4]int
	b, at := room[:0], ends[:0]
	for range calls {
		b = appendCallID(b, d.Uint64())
		at = append(at, len(b))
	}
	ids, from := string(b), 0
	for i, end := range at {
		calls[i].ID, from = ids[from:end], end
	}
}

// appendCallID appends a name that is unique within an answer and, but for chance, within a run:
// a draw in digits of base 36.
func appendCallID(b []byte, draw uint64) []byte {
	var digits [13]byte // of the largest draw
	i := len(digits)
	for more := true; more; more = draw > 0 { // strconv divides by a base that it does not know
		i--
		digits[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[draw%36]
		draw /= 36
	}
	return append(append(b, "call_"...), digits[i:]...)
}

// asked holds the answer to the form that was asked for.
func (r *rule) asked(req *protocol.ModelRequest, out *protocol.ModelAnswer) error {
	if !req.JSON || out.Finish == protocol.FinishLength || out.Text == "" && len(out.Calls) > 0 || json.Valid([]byte(out.Text)) {
		return nil
	}
	*out = protocol.ModelAnswer{}
	return &llm.Failure{Outcome: llm.OutcomeBadOutput, Message: providerName + ": " + r.name + ": a JSON document was asked for; the answer is other text"}
}

// failed makes the failure that was drawn. A bad output of an answer with text
// is an answer, whose text breaks off.
func (r *rule) failed(e *env, out protocol.ModelAnswer, fail string, limit time.Duration) (protocol.ModelAnswer, error) {
	if fail == failBad && out.Text != "" {
		draw := e.stream(r.index, useSpoil)
		end := draw.IntN(len(out.Text))
		for end > 0 && !utf8.RuneStart(out.Text[end]) {
			end--
		}
		out.Text, out.Calls, out.Finish = out.Text[:end], nil, protocol.FinishStop
		out.Usage = usage(e, &out)
		return out, nil
	}
	f := &llm.Failure{Message: providerName + ": " + r.name + ": simulated " + fail, Latency: out.Latency}
	switch fail {
	case failTimeout:
		f.Outcome, f.Latency = llm.OutcomeTimeout, limit
	case failServer:
		f.Outcome = llm.OutcomeServerError
	case failRate:
		f.Outcome, f.RetryAfter = llm.OutcomeRateLimited, time.Second
		if r.failures != nil {
			f.RetryAfter = r.failures.retryAfter
		}
	default:
		f.Outcome = llm.OutcomeBadOutput
	}
	return protocol.ModelAnswer{}, f
}
