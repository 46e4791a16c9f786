package deadletters

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
)

// Kinds of facts that tell of messages that were refused, in order. A new one is
// a line here and one in [Of].
func Kinds() []string {
	return []string{agentfact.FactDropped, agentfact.FactUnacknowledged, agenda.FactDeadLettered, bus.FactRefused, bus.FactRouted}
}

// NamesOnly reports whether facts of a kind name events and hold nothing of them:
// [Letter.Complete] takes the rest from the fact that routed the event.
func NamesOnly(kind string) bool {
	return kind == agentfact.FactDropped || kind == agentfact.FactUnacknowledged || kind == agenda.FactDeadLettered
}

// Of are the letters that a fact tells of. name is an agent's by its ordinal.
func Of(fact protocol.Fact, name func(uint32) string) []Letter {
	switch x := fact.(type) {
	case *bus.Refused:
		return []Letter{refused(x)}
	case *bus.Routed:
		return marked(x)
	case *agenda.DeadLettered:
		return []Letter{ofMailbox(x)}
	case *agentfact.Dropped:
		return dropped(x, name(x.Agent))
	case *agentfact.Unacknowledged:
		return []Letter{unacknowledged(x, name(x.Agent))}
	}
	return nil
}

func refused(x *bus.Refused) Letter {
	l := Letter{Event: x.ID, Type: x.Type, Source: x.Source, Reason: string(x.Reason), Detail: secret.Text(x.Detail), Priority: x.Priority.String(), Trace: x.TraceID, Chain: Chain(x.Chain), Payload: factjson.Value(x.Body)}
	if len(x.Targets) == 1 {
		l.Agent = x.Targets[0]
	}
	if x.Body != nil || !x.Ephemeral && x.Reason != bus.ReasonSize && x.Reason != bus.ReasonInvalid { // else there was no payload
		l.draft, l.Sendable = x.Draft(), true
	}
	return l
}

// marked are deliveries of an event that others heard.
func marked(x *bus.Routed) (list []Letter) {
	for _, m := range x.Marks {
		if m.Action != bus.LoopDrop {
			continue
		}
		l := Letter{Event: x.ID, Agent: m.Agent, Reason: string(m.Reason)}
		l.Complete(x)
		list = append(list, l)
	}
	return list
}

func ofMailbox(x *agenda.DeadLettered) Letter {
	return Letter{Event: x.Event, Type: x.Type, Agent: x.Receiver, Reason: x.Reason, Trace: x.TraceID, Chain: Chain(x.Chain), Count: x.Count}
}

// dropped are what did not fit into an inbox: the named ones, and how many
// more for each reason.
func dropped(x *agentfact.Dropped, who string) (list []Letter) {
	more := map[agentfact.DropReason]int64{agentfact.DropInboxFull: x.InboxFull, agentfact.DropQueueFull: x.QueueFull}
	for _, d := range x.Events {
		more[d.Reason]--
		list = append(list, Letter{Event: d.Event, Source: d.Source, Agent: who, Reason: string(d.Reason)})
	}
	for _, reason := range []agentfact.DropReason{agentfact.DropInboxFull, agentfact.DropQueueFull} {
		if n := more[reason]; n > 0 {
			list = append(list, Letter{Agent: who, Reason: string(reason), Count: n})
		}
	}
	return list
}

func unacknowledged(x *agentfact.Unacknowledged, who string) Letter {
	return Letter{Event: x.Event, Type: x.Type, Source: x.Source, Agent: who, Reason: string(x.Reason), Trace: x.TraceID, Chain: Chain(x.Chain)}
}

// Complete takes what the letter's own fact does not hold from the one that routed
// the event. An ephemeral event has no content there.
func (l *Letter) Complete(x *bus.Routed) {
	l.Type, l.Source, l.Priority, l.Trace, l.Chain = x.Type, x.Source, x.Priority.String(), x.TraceID, Chain(x.Chain)
	l.Payload = factjson.Value(x.Body)
	if !x.Ephemeral || len(x.Body) > 0 {
		l.Sendable, l.draft = true, x.Draft(l.Agent)
	}
}
