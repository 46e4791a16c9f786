package repeat

import (
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Turn is what one turn knows of such blocks: of those that it has carried out, and of the one that
// is being carried out.
type Turn struct {
	done   []Answered
	before int   // of done in earlier rounds
	open   *open // nil = none is
}

// open is a block that is being carried out.
type open struct {
	id, body string
	block    int
	calls    int
	results  []any
	places   []int // among results, of the calls that had waited; nil = these are all new
}

// maxResults is how many bytes the outputs of one block may have, about.
const maxResults = 16 << 10

// Round begins a round of the core workflow: its answer knows the blocks before it.
func (t *Turn) Round() { t.before = len(t.done) }

// Find finds a block with this id and body that was carried out, by this turn or among those that the
// agent has kept. other reports whether an earlier answer had the id for other calls; blocks of one
// answer are independent.
func (t *Turn) Find(kept []Answered, id, body string, now protocol.Time) (same *Answered, other bool) {
	same, other = Find(kept, len(kept), id, body, now)
	mine, reused := Find(t.done, t.before, id, body, now)
	if mine != nil {
		same = mine
	}
	return same, (other || reused) && same == nil
}

// IsOpen reports whether a block is being carried out.
func (t *Turn) IsOpen(block int) bool { return t.open != nil && t.open.block == block }

// Open begins a block of some calls.
func (t *Turn) Open(id, body string, block, calls int) {
	t.open = &open{id: id, body: body, block: block, calls: calls}
}

// Reopen takes up a block that was carried out, but for calls that had waited: places are theirs
// in the block. It does nothing if a result of one of them is not kept.
func (t *Turn) Reopen(was *Answered, block int, places []int) {
	list := was.values()
	if slices.ContainsFunc(places, func(p int) bool { return p >= len(list) }) {
		return
	}
	t.open = &open{id: was.ID, body: was.Body, block: block, calls: len(list), results: slices.Clone(list), places: places}
}

// ID is the id and body of the block that is being carried out, if it is this one.
func (t *Turn) ID(block int) (id, body string) {
	if t.IsOpen(block) {
		return t.open.id, t.open.body
	}
	return "", ""
}

// Take takes the result of a call. It gives the results of the open block if the call was its
// last one: the block is answered, see [Turn.Close].
func (t *Turn) Take(c *protocol.Call, r *protocol.CallResult) (results []any) {
	q := t.open
	if q == nil || c.Block != q.block {
		return nil
	}
	v := map[string]any{"tool": c.Tool, "status": string(r.Status)}
	if out := tool.Readable(r.Output); out != nil {
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
		return nil
	}
	return q.results
}

// take adds a result; true = it was the last one.
func (q *open) take(v any) bool {
	if q.places == nil {
		q.results = append(q.results, v)
		return len(q.results) == q.calls
	}
	q.results[q.places[0]] = v
	q.places = q.places[1:]
	return len(q.places) == 0
}

// Close ends the open block, with its results as they are kept.
func (t *Turn) Close(results protocol.Raw, now protocol.Time) Answered {
	a := Answered{ID: t.open.id, Body: t.open.body, At: now, Results: results}
	t.open, t.done = nil, append(t.done, a)
	return a
}
