package agent

import (
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/record"
	"tavernsim/engine/agent/repeat"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// answered are the blocks with a request_id that were carried out.
func (s *State) answered() []repeat.Answered {
	if s.more == nil {
		return nil
	}
	return s.more.requests
}

func (s *State) answerRequest(f *agentfact.RequestAnswered, at protocol.Time) {
	d := s.change()
	d.requests = newest(d.requests, repeat.Answered{ID: f.ID, Body: f.Body, At: at, Results: f.Results}, repeat.MaxKept)
}

// beginRequest looks at the request_id of the block that begins with call i. It keeps the
// results of a block that was carried out before; true = the block is done with.
func (t *Turn) beginRequest(i int) bool {
	q := &t.queue[i]
	if q.RequestID == "" || q.Block == 0 || t.repeats.IsOpen(q.Block) {
		return false
	}
	to := i
	for to < len(t.queue) && t.queue[to].Block == q.Block {
		to++
	}
	if len(q.RequestID) > repeat.MaxID {
		t.keepBlock(to, failed(protocol.Errorf(protocol.KindInvalid, "request_id has %d bytes; at most %d", len(q.RequestID), repeat.MaxID)))
		return true
	}
	body := repeat.Body(to-i, func(k int) (protocol.Call, time.Duration) { return t.queue[i+k].Call, t.queue[i+k].timeout })
	same, other := t.repeats.Find(t.m.State.answered(), q.RequestID, body, t.wake.Now)
	switch {
	case same != nil:
		t.keepBlock(to, same.Repeated()...)
		return true
	case other:
		t.keepBlock(to, failed(protocol.Errorf(protocol.KindConflict, "request_id_reused: a block with the request_id %s and other calls was carried out before; choose a new one", tool.Cut(q.RequestID))))
		return true
	}
	t.repeats.Open(q.RequestID, body, q.Block, to-i)
	return false
}

// keepBlock keeps results of the calls up to a place of the queue, of which none is carried out. Those
// beyond the results are not run, whatever they say about errors.
func (t *Turn) keepBlock(to int, results ...protocol.CallResult) {
	for from := t.done; t.done < to; t.done++ {
		r := protocol.CallResult{Status: protocol.CallNotRun}
		if i := t.done - from; i < len(results) {
			r = results[i]
		}
		t.keep(&t.queue[t.done].Call, r)
	}
}

// noteRequest keeps the result of a call of the open request, and the request when it was
// the last one.
func (t *Turn) noteRequest(c *protocol.Call, r *protocol.CallResult) {
	if results := t.repeats.Take(c, r); results != nil {
		a := t.repeats.Close(slices.Clone(record.Value(results, &t.out)), t.wake.Now)
		t.out.Note(&agentfact.RequestAnswered{ID: a.ID, Body: a.Body, Results: a.Results})
	}
}
