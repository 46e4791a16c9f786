package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// answeredRequest is a block with a request_id that was carried out, and its results.
type answeredRequest struct {
	ID      string
	Body    string // hash of its calls
	At      protocol.Time
	Results protocol.Raw // list of {tool, status, output, error, kind}
}

// Bounds of what is kept of such blocks.
const (
	maxRequests  = 64        // the newest
	requestsLast = time.Hour // of scene time
	maxResults   = 16 << 10  // bytes of the outputs of one block, about
	maxRequestID = 256       // bytes
)

// openRequest is the block with a request_id that is being carried out.
type openRequest struct {
	id, body string
	block    int
	calls    int
	results  []any
	places   []int // among results, of the calls that had waited; nil = these are all new
}

func (s *State) answerRequest(f *agentfact.RequestAnswered, at protocol.Time) {
	d := s.change()
	d.requests = newest(d.requests, answeredRequest{f.ID, f.Body, at, f.Results}, maxRequests)
}

// beginRequest looks at the request_id of the block that begins with call i. It keeps the
// results of a block that was carried out before; true = the block is done with.
func (t *Turn) beginRequest(i int) bool {
	q := &t.queue[i]
	if q.RequestID == "" || q.Block == 0 || t.idempotent != nil && t.idempotent.block == q.Block {
		return false
	}
	to := i
	for to < len(t.queue) && t.queue[to].Block == q.Block {
		to++
	}
	if len(q.RequestID) > maxRequestID {
		t.refuseRequest(i, to, protocol.Errorf(protocol.KindInvalid, "request_id has %d bytes; at most %d", len(q.RequestID), maxRequestID))
		return true
	}
	body := bodyOf(t.queue[i:to])
	same, other := t.answered(q.RequestID, body)
	switch {
	case same != nil:
		t.repeatRequest(i, to, same)
		return true
	case other:
		t.refuseRequest(i, to, protocol.Errorf(protocol.KindConflict, "request_id_reused: a block with the request_id %s and other calls was carried out before; choose a new one", tool.Cut(q.RequestID)))
		return true
	}
	t.idempotent = &openRequest{id: q.RequestID, body: body, block: q.Block, calls: to - i}
	return false
}

// answered finds a block with this id and body that was carried out. other reports whether
// an earlier answer had the id for other calls; blocks of one answer are independent.
func (t *Turn) answered(id, body string) (same *answeredRequest, other bool) {
	look := func(list []answeredRequest, earlier int) {
		for i := range list {
			r := &list[i]
			if r.ID != id || t.wake.Now.Sub(r.At) > requestsLast {
				continue
			}
			if r.Body == body {
				same = r
			}
			other = other || i < earlier
		}
	}
	if more := t.m.State.more; more != nil {
		look(more.requests, len(more.requests))
	}
	look(t.requests, t.requestsBefore)
	return same, other && same == nil
}

// bodyOf is a hash of all that the calls of a block say.
func bodyOf(calls []queued) string {
	h := sha256.New()
	for i := range calls {
		c := calls[i].Call
		c.ID, c.Block, c.RequestID = "", 0, ""
		v := callvalue.Of(&c)
		v["timeout"] = int64(calls[i].timeout)
		h.Write(protocol.Encode(v))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// repeatRequest gives the calls of a block the results that it had.
func (t *Turn) repeatRequest(from, to int, r *answeredRequest) {
	v, _ := r.Results.Value()
	list, _ := v.([]any)
	for i := from; i < to; i++ {
		res := protocol.CallResult{Status: protocol.CallNotRun}
		if i-from < len(list) {
			res = storedResult(list[i-from])
		}
		t.keep(&t.queue[i].Call, res)
	}
	t.done = to
}

func storedResult(v any) protocol.CallResult {
	m, _ := v.(map[string]any)
	text := func(name string) string { s, _ := m[name].(string); return s }
	out := map[string]any{"repeated": true}
	if m["output"] != nil {
		out["output"] = m["output"]
	}
	r := protocol.CallResult{Status: protocol.CallStatus(text("status")), Output: out}
	if message := text("error"); message != "" {
		r.Error = &protocol.Error{Kind: protocol.ErrorKind(text("kind")), Message: message}
	}
	return r
}

// refuseRequest refuses the calls of a block, whatever they say about errors.
func (t *Turn) refuseRequest(from, to int, err *protocol.Error) {
	t.keep(&t.queue[from].Call, failed(err))
	for i := from + 1; i < to; i++ {
		t.keep(&t.queue[i].Call, protocol.CallResult{Status: protocol.CallNotRun})
	}
	t.done = to
}

// noteRequest keeps the result of a call of the open request, and the request when it was
// the last one.
func (t *Turn) noteRequest(c *protocol.Call, r *protocol.CallResult) {
	q := t.idempotent
	if q == nil || c.Block != q.block {
		return
	}
	v := map[string]any{"tool": c.Tool, "status": string(r.Status)}
	if out := readable(r.Output); out != nil {
		most := max(maxResults/q.calls, 256)
		if b := template.AppendJSON(nil, out); len(b) > most {
			out = tool.Excerpt(string(b), most)
		}
		v["output"] = out
	}
	if r.Error != nil {
		v["error"], v["kind"] = r.Error.Message, string(r.Error.Kind)
	}
	if !q.take(v) {
		return
	}
	f := &agentfact.RequestAnswered{ID: q.id, Body: q.body, Results: slices.Clone(t.reported(q.results))}
	t.idempotent = nil
	t.facts = append(t.facts, f)
	t.requests = append(t.requests, answeredRequest{f.ID, f.Body, t.wake.Now, f.Results})
}

// take adds a result; true = it was the last one.
func (q *openRequest) take(v any) bool {
	if q.places == nil {
		q.results = append(q.results, v)
		return len(q.results) == q.calls
	}
	q.results[q.places[0]] = v
	q.places = q.places[1:]
	return len(q.places) == 0
}

// reopen takes up the request of a block whose steps had waited, if its results are still
// kept.
func (t *Turn) reopen(r *resumed) {
	same, _ := t.answered(r.Request, r.Body)
	if r.Request == "" || same == nil {
		return
	}
	v, _ := same.Results.Value()
	list, _ := v.([]any)
	q := &openRequest{id: r.Request, body: r.Body, block: r.block, calls: len(list), results: slices.Clone(list)}
	for i := range r.Steps {
		if p := int(r.Steps[i].Place); p < len(list) {
			q.places = append(q.places, p)
		}
	}
	if len(q.places) == len(r.Steps) {
		t.idempotent = q
	}
}
