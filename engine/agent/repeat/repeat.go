// Package repeat keeps the results of blocks of calls with a request_id, so that a
// repeated block is carried out once.
//
// # Promises
//
//  1. Blocks with equal calls have the same [Body], whatever their ids.
//  2. [Find] finds no block that is older than [Lasts].
//  3. A [Turn] answers a block once, with the results of all its calls in their order.
//
// # Not here
//
// Which calls are carried out, and the facts: package engine/agent.
package repeat

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// Bounds of what is kept of such blocks.
const (
	MaxKept = 64        // blocks, the newest
	Lasts   = time.Hour // of scene time
	MaxID   = 256       // bytes of a request_id
)

// Answered is a block that was carried out, and its results.
type Answered struct {
	ID      string
	Body    string // see [Body]
	At      protocol.Time
	Results protocol.Raw // list of {tool, status, output, error, kind}
}

// Find finds the last block with this id and body that is young enough. other reports
// whether one of the first earlier blocks has the id for other calls, too.
func Find(list []Answered, earlier int, id, body string, now protocol.Time) (same *Answered, other bool) {
	for i := range list {
		r := &list[i]
		if r.ID != id || now.Sub(r.At) > Lasts {
			continue
		}
		if r.Body == body {
			same = r
		}
		other = other || i < earlier
	}
	return same, other
}

// Body is a hash of all that n calls of a block say, in hexadecimal; call gives one of them,
// and how long it may take.
func Body(n int, call func(i int) (protocol.Call, time.Duration)) string {
	h := sha256.New()
	for i := range n {
		c, timeout := call(i)
		c.ID, c.Block, c.RequestID = "", 0, ""
		v := callvalue.Of(&c)
		v["timeout"] = int64(timeout)
		h.Write(protocol.Encode(v))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Result reads one of the results of a block, as that of a call that repeats it.
func Result(v any) protocol.CallResult {
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

// Repeated are the results of a block, as those of calls that repeat it.
func (a *Answered) Repeated() (list []protocol.CallResult) {
	for _, v := range a.values() {
		list = append(list, Result(v))
	}
	return list
}

func (a *Answered) values() []any {
	v, _ := a.Results.Value()
	list, _ := v.([]any)
	return list
}
