package metrics

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Kept counts a fact that needs nothing else to be counted; others it leaves out. [Set.Fact]
// counts all, by kind.
func (s *Scene) Kept(f protocol.Fact) {
	switch x := f.(type) {
	case *bus.Routed:
		s.routed(x)
	case *bus.Refused:
		s.Dropped(string(x.Reason.Class()))
	case *agenda.Blocked:
		s.Blocked()
	case *travel.Posted, *travel.Received, *travel.Delivered: // counted by kind
	case *agenda.Spawned, *agenda.Removed, travel.Fact:
		s.plays.presence.inc(lastWord(f.FactKind()))
	case *agentfact.Dropped:
		s.Lost(string(agentfact.DropQueueFull), x.QueueFull)
	case *agentfact.Unacknowledged:
		s.Dropped(string(x.Reason))
	case *world.Committed, *statecmd.Committed:
		s.changed(x)
	case *world.Refused:
		s.WorldRefused(string(x.Op), string(x.Code))
	case *knowledge.Written:
		s.KnowledgeWritten(x.KB, "written")
	case *knowledge.Suggested:
		s.KnowledgeWritten(x.KB, "suggested")
	case *knowledge.Reviewed:
		s.KnowledgeWritten(x.KB, "reviewed")
	case *knowledge.Refused:
		s.KnowledgeWritten(x.KB, "refused")
	case space.Fact:
		s.moved(x)
	case tooltask.Fact:
		s.settled(x)
	case script.Fact:
		s.scripted(x)
	case turns.Fact:
		s.inTurn(x)
	}
}

// Lost counts deliveries that reached an agent's inbox and were not perceived.
func (s *Scene) Lost(reason string, n int64) {
	for range n {
		s.Dropped(reason)
	}
}

// routed counts an event, or the release of a held one.
func (s *Scene) routed(f *bus.Routed) {
	if f.Released == 0 {
		s.Published(f.Type, SourceOf(f.Source), f.Receivers.Len())
	} else {
		s.Released(f.Type, f.Receivers.Len())
	}
	for i := range f.Held {
		s.Held(string(f.Held[i].Reason.Class()), f.Held[i].Receivers.Len())
	}
	for i := range f.Marks {
		if f.Marks[i].Action == bus.LoopDrop {
			s.Dropped(string(f.Marks[i].Reason.Class()))
		}
	}
}

func (s *Scene) changed(f protocol.Fact) {
	if c, ok := worldstate.CommitOf(f); ok {
		s.WorldCommitted()
		for i := range c.Changes {
			s.WorldApplied(string(c.Changes[i].Op))
		}
	}
	b, ok := f.(*statecmd.Committed)
	for i := 0; ok && b.Request != "" && i < len(b.Audit); i++ {
		if a := &b.Audit[i]; a.Status == statecmd.Rejected {
			s.WorldRefused(string(a.Action), string(a.Code))
		}
	}
}
