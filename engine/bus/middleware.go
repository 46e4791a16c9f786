package bus

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/bus/ordinals"
	"tavernsim/protocol"
)

// maxReasonBytes bounds the reason of a middleware; the rest is cut off.
const maxReasonBytes = 64

// said is the reason of a middleware's mark.
func said(reason string) Reason {
	if len(reason) > maxReasonBytes {
		reason = reason[:maxReasonBytes]
	}
	if reason = strings.ToValidUTF8(reason, ""); reason == "" {
		return ReasonMiddleware
	}
	return ReasonMiddleware + ":" + Reason(reason)
}

// Class is the reason without the text of a middleware: one of the constants.
func (r Reason) Class() Reason {
	class, _, _ := strings.Cut(string(r), ":")
	return Reason(class)
}

// judged gathers the verdicts of middleware for single receivers.
type judged struct {
	gone  Ranges // dropped or held
	holds map[heldFor]*Ranges
}

// heldFor is the key by which receivers are held together.
type heldFor struct {
	key   string
	until protocol.Time
}

// judge asks the scene's middleware about every receiver that is left. until is the
// delay of a throttle rule.
func (r *routing) judge(f *Routed, until protocol.Time) {
	if len(r.state.cfg.Middleware) == 0 {
		return
	}
	all := []Ranges{f.Receivers}
	for _, w := range r.waits {
		all = append(all, w.receivers.Minus(r.dropped))
	}
	j := judged{holds: map[heldFor]*Ranges{}}
	for o := range ordinals.Union(all).All() {
		r.judgeOne(f, o, until, &j)
	}
	r.holdJudged(f, &j)
	r.dropped = ordinals.Union([]Ranges{r.dropped, j.gone})
	f.Receivers = f.Receivers.Minus(j.gone)
}

func (r *routing) judgeOne(f *Routed, o uint32, until protocol.Time, j *judged) {
	id := r.state.subscribers.Name(o)
	v := r.state.cfg.Middleware.Decide(delivery.Message{Envelope: r.event, Receiver: id, Now: r.now})
	mark := func(a LoopAction) { f.Marks = append(f.Marks, Mark{Agent: id, Reason: said(v.Reason), Action: a}) }
	switch {
	case v.Action == delivery.Drop:
		mark(LoopDrop)
		j.gone.Push(o)
		return
	case v.Lane.Priority() != f.Priority:
		mark(LoopAction(v.Lane.Priority().String()))
	case v.Reason != "" && v.Action != delivery.Merge:
		mark(LoopWarn)
	}
	if v.Until <= r.now || v.Action != delivery.Delay && v.Action != delivery.Merge {
		return // now
	}
	at := heldFor{key: v.Key(), until: max(until, v.Until)}
	if j.holds[at] == nil {
		j.holds[at] = &Ranges{}
	}
	j.holds[at].Push(o)
}

// holdJudged holds the deliveries that fit; the other receivers hear the event at once.
func (r *routing) holdJudged(f *Routed, j *judged) {
	order := make([]heldFor, 0, len(j.holds))
	for at := range j.holds {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b heldFor) int { return cmp.Or(cmp.Compare(a.until, b.until), strings.Compare(a.key, b.key)) })
	for _, at := range order {
		h := Held{Key: at.key, Until: at.until, Reason: ReasonMiddleware, Receivers: *j.holds[at]}
		if r.fits(&h, len(f.Body)) {
			f.Held = append(f.Held, h)
			j.gone = ordinals.Union([]Ranges{j.gone, h.Receivers})
		}
	}
}
