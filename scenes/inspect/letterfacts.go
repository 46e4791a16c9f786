package inspect

import (
	"slices"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/fields"
)

// letterKinds is how a fact tells of messages that were refused. A kind of fact
// that does so is one line here.
func letterKinds() map[string]func(*Scene, protocol.Fact) []DeadLetter {
	return map[string]func(*Scene, protocol.Fact) []DeadLetter{
		bus.FactRefused:           refusedLetters,
		bus.FactRouted:            markedLetters,
		director.FactDeadLettered: mailboxLetters,
		agent.FactDropped:         droppedLetters,
		agent.FactUnacknowledged:  unacknowledgedLetters,
	}
}

// byName are the kinds that name events and hold nothing of them.
func byName() []string {
	return []string{director.FactDeadLettered, agent.FactDropped, agent.FactUnacknowledged}
}

func refusedLetters(_ *Scene, f protocol.Fact) []DeadLetter {
	x := f.(*bus.Refused)
	l := DeadLetter{Event: x.ID, Type: x.Type, Source: x.Source, Reason: string(x.Reason), Detail: secret.Text(x.Detail), Priority: x.Priority.String(), Trace: x.TraceID, Chain: chain(x.Chain), Payload: fields.Value(x.Body)}
	if len(x.Targets) == 1 {
		l.Agent = x.Targets[0]
	}
	if x.Body != nil {
		l.draft, l.Sendable = x.Draft(), true
	}
	return []DeadLetter{l}
}

// markedLetters are deliveries of an event that others heard.
func markedLetters(_ *Scene, f protocol.Fact) (list []DeadLetter) {
	x := f.(*bus.Routed)
	for _, m := range x.Marks {
		if m.Action != bus.LoopDrop {
			continue
		}
		l := DeadLetter{Event: x.ID, Agent: m.Agent, Reason: string(m.Reason)}
		l.fill(x)
		list = append(list, l)
	}
	return list
}

func mailboxLetters(_ *Scene, f protocol.Fact) []DeadLetter {
	x := f.(*director.DeadLettered)
	return []DeadLetter{{Event: x.Event, Type: x.Type, Agent: x.Receiver, Reason: x.Reason, Trace: x.TraceID, Chain: chain(x.Chain), Count: x.Count}}
}

// droppedLetters are what did not fit into an inbox: the named ones, and how many
// more for each reason.
func droppedLetters(s *Scene, f protocol.Fact) (list []DeadLetter) {
	x, who := f.(*agent.Dropped), ""
	if s != nil {
		who = s.name(x.Agent)
	}
	more := map[agent.DropReason]int64{agent.DropInboxFull: x.InboxFull, agent.DropQueueFull: x.QueueFull}
	for _, d := range x.Events {
		more[d.Reason]--
		list = append(list, DeadLetter{Event: d.Event, Source: d.Source, Agent: who, Reason: string(d.Reason)})
	}
	for _, reason := range []agent.DropReason{agent.DropInboxFull, agent.DropQueueFull} {
		if n := more[reason]; n > 0 {
			list = append(list, DeadLetter{Agent: who, Reason: string(reason), Count: n})
		}
	}
	return list
}

func unacknowledgedLetters(s *Scene, f protocol.Fact) []DeadLetter {
	x := f.(*agent.Unacknowledged)
	l := DeadLetter{Event: x.Event, Type: x.Type, Source: x.Source, Reason: string(x.Reason), Trace: x.TraceID, Chain: chain(x.Chain)}
	if s != nil {
		l.Agent = s.name(x.Agent)
	}
	return []DeadLetter{l}
}

// fill takes what the letter's own fact does not hold from the one that routed
// the event. An ephemeral event has no content there.
func (l *DeadLetter) fill(x *bus.Routed) {
	l.Type, l.Source, l.Priority, l.Trace, l.Chain = x.Type, x.Source, x.Priority.String(), x.TraceID, chain(x.Chain)
	l.Payload = fields.Value(x.Body)
	if !x.Ephemeral || len(x.Body) > 0 {
		l.Sendable, l.draft = true, draftOf(x, l.Agent)
	}
}

// draftOf is an event as it is sent to one agent again.
func draftOf(x *bus.Routed, agent string) *protocol.Draft {
	d := &protocol.Draft{ID: x.ID, Type: x.Type, Source: x.Source, Targets: []string{agent}, Priority: x.Priority, TraceID: x.TraceID, Chain: x.Chain, Ephemeral: x.Ephemeral, RequiresAck: x.RequiresAck, Body: x.Body}
	if x.Expires != 0 {
		d.TTL = x.Expires.Sub(x.Time)
	}
	return d
}

// maxLookedUp bounds the events that a view looks up by name. Letters of others
// are listed as their fact tells of them, and cannot be sent again.
const maxLookedUp = 100_000

// named finds the facts that routed events.
type named struct {
	scene *Scene
	seq   map[string]uint64 // by event id; 0 = not found
	last  *bus.Routed
}

// lookUp prepares for the letters of a query: it walks over them once, and once
// over what was routed before their end, until all are found.
func (s *Scene) lookUp(q persistence.Query) (*named, error) {
	u := &named{scene: s, seq: map[string]uint64{}}
	q.Kinds = byName()
	read := letterKinds()
	end := uint64(0)
	err := s.scan(q, func(r protocol.Record) error {
		fact, err := s.read(r)
		if err != nil {
			return err
		}
		end = r.Seq
		for _, l := range read[r.Kind](s, fact) {
			if _, known := u.seq[l.Event]; l.Event != "" && (known || len(u.seq) < maxLookedUp) {
				u.seq[l.Event] = 0
			}
		}
		return nil
	})
	if err != nil || len(u.seq) == 0 {
		return u, err
	}
	return u, u.walk(end)
}

func (u *named) walk(end uint64) error {
	missing := len(u.seq)
	return u.scene.scan(persistence.Query{To: end, Kinds: []string{bus.FactRouted}}, func(r protocol.Record) error {
		fact, err := u.scene.read(r)
		if err != nil {
			return err
		}
		if at, wanted := u.seq[eventID(fact)]; !wanted || at != 0 {
			return nil
		}
		u.seq[eventID(fact)] = r.Seq
		if missing--; missing == 0 {
			return errStop
		}
		return nil
	})
}

// complete fills a letter that only names its event.
func (u *named) complete(kind string, l *DeadLetter) error {
	l.Count = max(l.Count, 1)
	seq := u.seq[l.Event]
	if seq == 0 || !slices.Contains(byName(), kind) {
		return nil
	}
	if u.last == nil || u.last.ID != l.Event {
		err := u.scene.journal.Scan(persistence.Query{From: seq, To: seq}, func(r protocol.Record) error {
			fact, err := u.scene.read(r)
			u.last, _ = fact.(*bus.Routed)
			return err
		})
		if err != nil {
			return err
		}
	}
	l.fill(u.last)
	return nil
}
