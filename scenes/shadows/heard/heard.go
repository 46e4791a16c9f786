// Package heard predicts which agents hear the events of turns that run ahead, for scenes/shadows.
//
// It has a copy of the scene's event channel, folded from its facts, and asks the copy to
// route an event. Rates, middleware, holds and groups are not
// predicted: an agent that may hear such an event waits for the fact.
//
// # Promises
//
//  1. An agent hears an event in advance only if [Events.Unsure] is false for it, and then as the
//     fact will say, unless the channel's rules change until then or a wave has no room.
//  2. [Events.Committed] confirms an agent only if the facts of the wave name the events that it heard.
package heard

import (
	"bytes"
	"math"
	"slices"
	"sort"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/engine/schedule"
	"tavernsim/protocol"
)

// Publication is an event that a turn published and that is no fact yet.
type Publication struct {
	By      uint32
	Of, At  schedule.Tick // of the turn, and when it takes effect
	Kind    string
	Targets []string
	Bounded bool // it reaches only who is near

	fact  *bus.Routed     // but for who is near; nil = it is not foretold
	given map[uint32]bool // agents that had a turn ahead with it
}

// Options say what is known of a scene.
type Options struct {
	Codec   *protocol.Codec
	Config  bus.Config
	Names   bus.Subscribers
	Channel *bus.State // as the committed run has it; it is copied
	Nothing bool       // is foretold
	InSpace bool
	Near    func(o uint32, p *Publication) bool      // it reaches an agent; asked of bounded ones
	Ran     func(o uint32, after schedule.Tick) bool // the agent had a turn ahead, after a moment
	May     func(o uint32, p *Publication) bool      // an agent may hear one that is not foretold
}

// Events are those that are no facts yet, in one scene.
type Events struct {
	Options
	channel *bus.State
	list    []*Publication // by At
	wrong   []uint32
}

// New copies the channel.
func New(opt Options) (*Events, error) {
	raw, err := opt.Channel.Snapshot(opt.Codec)
	if err != nil {
		return nil, err
	}
	channel, err := bus.Restore(opt.Config, opt.Names, opt.Codec, raw)
	return &Events{Options: opt, channel: channel}, err
}

// Publish adds an event. draft is that of the n-th one of a turn, from 1; nil = nobody is told of it in advance.
func (e *Events) Publish(p Publication, draft *protocol.Draft, n uint64, now protocol.Time) {
	if draft != nil && !e.Nothing {
		p.fact = e.foretell(draft, n, now)
	}
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].At > p.At })
	e.list = slices.Insert(e.list, i, &p)
}

// foretell is the fact of the n-th event of a turn, but for who is near; nil = more decides than the event and the
// subscriptions.
func (e *Events) foretell(d *protocol.Draft, n uint64, now protocol.Time) *bus.Routed {
	if d.Turn == 0 || d.ID != "" || d.Ephemeral || d.Priority != protocol.Normal || !e.channel.Plain(e.InSpace) {
		return nil
	}
	f, ok := e.decide(d, n, now).(*bus.Routed)
	if !ok || len(f.Held) > 0 || f.FilterErrors > 0 { // a reach of its own the copy refuses, which knows no space
		return nil
	}
	return f
}

func (e *Events) decide(d *protocol.Draft, n uint64, now protocol.Time) protocol.Fact {
	e.channel.Names.Seek(d.Source, d.Turn, n-1)
	return e.channel.Decide(now, d, nil).Facts[0]
}

// Refuses reports whether the channel may refuse the n-th event of a turn, of which its publisher is told. bounded = it reaches
// only who is near, whom the copy does not know.
func (e *Events) Refuses(d *protocol.Draft, n uint64, now protocol.Time, bounded bool) bool {
	if len(e.Config.Middleware) > 0 || slices.ContainsFunc(e.Config.Throttle, func(r throttle.Rule) bool { return r.Drops(d.Type, d.Source, now) }) {
		return true
	}
	f, ok := e.decide(d, n, now).(*bus.Routed)
	return !ok || bounded && (len(d.Targets) > 0 || len(f.Marks) > 0)
}

// sure reports whether it is foretold whether an agent hears it, and whether it does.
func (e *Events) sure(o uint32, p *Publication) (known, hears bool) {
	switch {
	case p.fact == nil:
		return false, false
	case !p.fact.Receivers.Contains(o):
		return true, false
	}
	return true, p.By == o || !p.Bounded || e.Near(o, p)
}

// Any reports whether an event that takes effect before a moment is one that f finds.
func (e *Events) Any(before schedule.Tick, f func(*Publication) bool) bool {
	for _, p := range e.list {
		if p.At >= before {
			return false
		}
		if f(p) {
			return true
		}
	}
	return false
}

// Late reports whether one that f finds takes effect at a moment, of a turn before it.
func (e *Events) Late(at schedule.Tick, f func(*Publication) bool) bool {
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].At >= at })
	for ; i < len(e.list) && e.list[i].At == at; i++ {
		if p := e.list[i]; p.Of < at && f(p) {
			return true
		}
	}
	return false
}

// Unsure reports whether it is not foretold what an agent hears before a moment. deaf = it sleeps,
// and some events wake it.
func (e *Events) Unsure(o uint32, before schedule.Tick, deaf bool) bool {
	var last *Publication
	return e.Any(before, func(p *Publication) bool {
		known, hears := e.sure(o, p)
		switch {
		case !known:
			return e.May(o, p)
		case !hears:
			return false
		case deaf, last != nil && last.At == p.At && (last.By != p.By || last.Of != p.Of):
			return true // whose turn comes first in a wave is not foretold
		}
		last = p
		return false
	})
}

// Held reports whether an agent hears, by a moment, an event that is a fact and held for it: what it is then told is not
// foretold.
func (e *Events) Held(o uint32, by protocol.Time) bool { return e.channel.Holds(o, by) }

// Told are the events that an agent hears from one moment on and before another, in their order.
func (e *Events) Told(o uint32, from, before schedule.Tick) (out []*Publication) {
	if e == nil {
		return nil
	}
	e.Any(before, func(p *Publication) bool {
		if p.At >= from {
			if _, hears := e.sure(o, p); hears {
				out = append(out, p)
			}
		}
		return false
	})
	return out
}

// Give is the event as its receiver gets it, for a turn ahead: behind all that are facts, and in the order of the calls.
func (e *Events) Give(p *Publication, o uint32, scene string) *protocol.Envelope {
	if p.given == nil {
		p.given = map[uint32]bool{}
	}
	p.given[o] = true
	event := p.fact.Event(scene).Envelope
	event.Wave = math.MaxUint64
	return event.At(p.fact.PriorityFor(e.Names.Name(o)))
}

// Forget takes back what turns of an agent published from a time on.
func (e *Events) Forget(by uint32, from schedule.Tick) {
	e.list = slices.DeleteFunc(e.list, func(p *Publication) bool {
		gone := p.By == by && p.Of >= from
		if gone {
			e.blame(p, nil)
		}
		return gone
	})
}

// blame notes who had turns with an event and does not hear it.
func (e *Events) blame(p *Publication, hear bus.Ranges) {
	for o := range p.given {
		if o != p.By && !hear.Contains(o) {
			e.wrong = append(e.wrong, o)
		}
	}
}

// Wrong are agents that were told what is not so: what they did ahead is to be undone. They are given once.
func (e *Events) Wrong() []uint32 {
	list := e.wrong
	e.wrong = nil
	slices.Sort(list)
	return slices.Compact(list)
}

// Committed takes the facts of a wave. It tells who heard in it only what it was told in advance.
func (e *Events) Committed(at schedule.Tick, facts []protocol.Fact) (known map[uint32]bool) {
	known = map[uint32]bool{}
	foretold := map[string]*Publication{}
	for _, p := range e.list {
		if p.At <= at && p.fact != nil {
			foretold[p.fact.ID] = p
		}
	}
	changed, others, unknown := false, false, map[uint32]bool{}
	for _, fact := range facts {
		switch f := fact.(type) {
		case *bus.Routed:
			e.channel.Apply(f)
			p := foretold[f.ID]
			if p != nil && !p.says(f) {
				p = nil
			}
			for o := range f.Receivers.All() {
				if p != nil && e.knew(o, p, f) {
					known[o] = true
				} else {
					unknown[o] = true
				}
			}
			if p != nil {
				delete(foretold, f.ID)
				e.blame(p, f.Receivers)
			}
		case *bus.Refused:
			e.channel.Apply(f)
		case bus.Fact:
			e.channel.Apply(f)
			changed = true
		case *agenda.Interrupted, *agenda.DeadLettered:
			others = true
		default:
			others = others || len(agentfact.Publishers(fact)) > 0
		}
	}
	for _, p := range foretold { // they are no facts
		e.blame(p, nil)
	}
	e.list = slices.DeleteFunc(e.list, func(p *Publication) bool { return p.At <= at })
	for _, p := range e.list {
		if changed { // it was foretold by other rules
			e.blame(p, nil)
			p.fact, p.given = nil, nil
		}
	}
	for o := range unknown {
		delete(known, o)
	}
	if others {
		clear(known)
	}
	return known
}

// knew reports whether an agent's turns ahead know of an event that is a fact now.
func (e *Events) knew(o uint32, p *Publication, f *bus.Routed) bool {
	_, hears := e.sure(o, p)
	name := e.Names.Name(o)
	return hears && (p.given[o] || !e.Ran(o, p.At)) && f.PriorityFor(name) == p.fact.PriorityFor(name)
}

// says reports whether an event is the one that was foretold, but for who hears it.
func (p *Publication) says(f *bus.Routed) bool {
	mine := *p.fact
	mine.Seq, mine.Receivers, mine.Marks = f.Seq, f.Receivers, f.Marks
	return bytes.Equal(mine.AppendMsg(nil), f.AppendMsg(nil))
}
