package machines_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/machines/span"
)

// turn makes the end of a deliberation in which an agent perceived everything that
// had reached it when it was woken.
func (p *stagePlayer) turn(o uint32, words []string) machines.Input {
	id := p.made.Name(o)
	in, at := &machines.TurnsEnded{Span: &span.Span{}}, p.now.Time
	if p.made.Clock == agenda.Virtual {
		at = p.begun[o]
	}
	for _, w := range words {
		if wave, is := strings.CutPrefix(w, "wave="); is {
			p.woken[o] = uint64(p.number(wave))
		}
	}
	in.Open(p.made.Budgets != nil, p.woken[o], at)
	var facts []protocol.KindData
	var requests []protocol.Sequenced
	p.turns[o]++
	end := &agentfact.TurnEnded{Agent: o, Turn: p.turns[o], Wave: p.woken[o], Outcome: agentfact.OutcomeOK, Through: p.through[o]}
	draft := &protocol.Draft{EventHeader: protocol.EventHeader{Type: "talk.word", Source: id, Turn: p.turns[o]}, Body: protocol.Encode("hello")}
	request := worldstate.Request{Change: world.Request{ID: fmt.Sprint(id, "/", p.turns[o]), By: id, Profile: "person"}}
	asks, says := false, false
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "say":
			says, draft.Priority = true, p.priority(value)
		case "bytes":
			draft.Body = protocol.Encode(strings.Repeat("x", int(p.number(value))))
		case "type":
			draft.Type = value
		case "to":
			draft.Targets = []string{value}
		case "world":
			asks, request.Change.Op, request.Change.Path, request.Change.Value = true, world.OpAdd, p.path("n"), protocol.Encode(int64(1))
		case "lock":
			asks, request.Kind, request.Lease, request.For = true, worldstate.Lock, "lease", p.duration(value)
			request.Paths = []world.Path{p.path("n")}
		case "ttl":
			b, refused := command.Decode(fmt.Sprintf(`[{"action":"set","key":"world.m","value":1,"options":{"ttl":%g}}]`, p.duration(value).Seconds()))
			if refused != nil {
				p.t.Fatal(refused)
			}
			asks, request.Kind, request.Batch = true, worldstate.Commands, &b
		case "asks":
			requests = append(requests, p.asks(value, id, p.turns[o]))
		case "tokens":
			end.TokensIn, end.TokensOut = 1, p.number(value)-1
		case "nano":
			facts = append(facts, p.data(&agentfact.ModelAnswered{Model: "m", Finish: protocol.FinishStop, Request: 1, Origin: &effect.Origin{Endpoint: "e", Cost: p.number(value), Priced: true}}))
		case "refused":
			facts = append(facts, p.data(&agentfact.ModelAnswered{Model: "m", Request: 1, ErrorKind: protocol.KindLimit, Error: "no", Origin: &effect.Origin{Budget: &protocol.ModelBudget{Ledger: budget.OfRun}}}))
		case "elapsed":
			end.Elapsed = p.duration(value)
		case cast.Rest, cast.Wake, cast.Remove, cast.Travel:
			do := map[string]any{"agents": value}
			if name == cast.Travel {
				do["to"] = "inn"
			}
			q := &cast.Request{ID: fmt.Sprint(id, "/", p.turns[o]), By: id, Do: protocol.Encode([]any{map[string]any{name: do}})}
			requests = append(requests, protocol.Sequenced{To: cast.Stage, Data: q.AppendMsg(nil)})
		case "asked":
			end.Outcome = agentfact.OutcomeAsked
		case "urgent":
			in.Urgent = true
		case "wave": // it was taken before
		case "dropped":
			facts = append(facts, p.data(&agentfact.Dropped{Agent: o, QueueFull: 1, Events: []agentfact.Drop{{Event: "e0", Source: value, Reason: agentfact.DropQueueFull}}}))
		default:
			p.t.Fatalf("unknown word %q of a turn", w)
		}
	}
	facts = append(facts, p.data(end))
	if says {
		requests = append(requests, protocol.Sequenced{To: bus.Service, Data: draft.AppendMsg(nil)})
	}
	if asks {
		requests = append(requests, protocol.Sequenced{To: worldstate.Service, Data: request.AppendMsg(nil)})
	}
	if err := in.Add(machines.NewCodec(), o, id, facts, requests); err != nil {
		p.t.Fatal(err)
	}
	return in
}

// asks is a request of a turn to a service that has no word of its own.
func (p *stagePlayer) asks(service, by string, turn uint64) protocol.Sequenced {
	id := fmt.Sprint(by, "/", turn)
	switch service {
	case knowledge.Service:
		q := knowledge.Request{ID: id, By: by, KB: "none"}
		return protocol.Sequenced{To: service, Data: protocol.Encode(q.Value())}
	case tooltask.Service:
		q := tooltask.Request{Task: tooltask.Task{ID: id, Agent: by, Tool: "Dig"}, After: time.Second, Most: 1}
		return protocol.Sequenced{To: service, Data: q.AppendMsg(nil)}
	case space.Service:
		q := space.Request{ID: id, By: by, Agent: by, To: "stay"}
		return protocol.Sequenced{To: service, Data: q.AppendMsg(nil)}
	}
	p.t.Fatalf("no request to %q", service)
	return protocol.Sequenced{}
}

// data is a fact as it is kept.
func (p *stagePlayer) data(f protocol.Fact) protocol.KindData {
	raw, err := machines.NewCodec().Marshal(f)
	if err != nil {
		p.t.Fatal(err)
	}
	return protocol.KindData{Kind: f.FactKind(), Data: raw}
}

// answer has the service that was asked decide. With a part alone it is as it was
// before: it fails next, and is restored.
func (p *stagePlayer) answer(part bool) machines.Input {
	if p.asked.Act != machines.ActAsk {
		p.t.Fatalf("no service is asked; the script so far:\n%s", p.b.String())
	}
	service, out := p.state.Services[p.asked.Service], &machines.ServiceAnswered{More: part}
	before, err := service.Snapshot(machines.NewCodec())
	if err != nil {
		p.t.Fatal(err)
	}
	in, err := packed.Read(bytes.Clone(p.asked.Data))
	if err != nil {
		p.t.Fatal(err)
	}
	err = service.Decide(in, p.asked.At, func(facts []protocol.Fact, _ bool) error {
		for _, f := range facts {
			raw, err := machines.NewCodec().Marshal(f)
			if err != nil {
				return err
			}
			out.Facts = append(out.Facts, protocol.KindData{Kind: f.FactKind(), Data: raw})
		}
		return nil
	})
	if part {
		err = errors.Join(err, service.Load(machines.NewCodec(), before))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if !part {
		out.View, p.asked = p.state.View.With(machines.Services()[p.asked.Service].Name, service.Publish()), machines.Effect{}
	}
	return out
}
