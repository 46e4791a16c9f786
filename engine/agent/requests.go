package agent

import (
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/repeat"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// maxResults is how many bytes the outputs of one block may have, about.
const maxResults = 16 << 10

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
	d.requests = newest(d.requests, repeat.Answered{ID: f.ID, Body: f.Body, At: at, Results: f.Results}, repeat.MaxKept)
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
	if len(q.RequestID) > repeat.MaxID {
		t.refuseRequest(i, to, protocol.Errorf(protocol.KindInvalid, "request_id has %d bytes; at most %d", len(q.RequestID), repeat.MaxID))
		return true
	}
	body := repeat.Body(to-i, func(k int) (protocol.Call, time.Duration) { return t.queue[i+k].Call, t.queue[i+k].timeout })
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
func (t *Turn) answered(id, body string) (same *repeat.Answered, other bool) {
	if more := t.m.State.more; more != nil {
		same, other = repeat.Find(more.requests, len(more.requests), id, body, t.wake.Now)
	}
	mine, reused := repeat.Find(t.requests, t.requestsBefore, id, body, t.wake.Now)
	if mine != nil {
		same = mine
	}
	return same, (other || reused) && same == nil
}

// repeatRequest gives the calls of a block the results that it had.
func (t *Turn) repeatRequest(from, to int, r *repeat.Answered) {
	v, _ := r.Results.Value()
	list, _ := v.([]any)
	for i := from; i < to; i++ {
		res := protocol.CallResult{Status: protocol.CallNotRun}
		if i-from < len(list) {
			res = repeat.Result(list[i-from])
		}
		t.keep(&t.queue[i].Call, res)
	}
	t.done = to
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
	t.out.Note(f)
	t.requests = append(t.requests, repeat.Answered{ID: f.ID, Body: f.Body, At: t.wake.Now, Results: f.Results})
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
