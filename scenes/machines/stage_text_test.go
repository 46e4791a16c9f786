package machines_test

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
)

// text is an effect in a script.
func (p *stagePlayer) text(e *machines.Effect) string {
	switch e.Act {
	case machines.ActKeep:
		return "keep " + e.Kind + " of " + e.Actor + p.detail(e.Fact)
	case machines.ActClose:
		return fmt.Sprint("close ", e.Wave)
	case machines.ActWake:
		text := fmt.Sprintf("wake %s wave %d at %s", p.made.Name(e.Agent), e.Wave, p.at(e.At))
		if e.Kind != "" {
			text += " workflow " + e.Kind
		}
		if e.Priority == protocol.Critical {
			text += " critical"
		}
		return text
	case machines.ActAsk:
		in, err := packed.Read(e.Data)
		if err != nil {
			p.t.Fatal(err)
		}
		return fmt.Sprintf("ask %s %d requests at %s", machines.Services()[e.Service].Actor(), in.Left, p.at(e.At))
	case machines.ActTell:
		return "tell " + p.made.Name(e.Agent) + " " + e.Kind
	case machines.ActPack:
		return "pack " + p.made.Name(e.Agent)
	case machines.ActRestart:
		return "restart " + p.made.Name(e.Agent)
	case machines.ActStart:
		return "start " + p.made.Name(e.Agent)
	case machines.ActStop:
		return "end " + p.made.Name(e.Agent)
	case machines.ActRestartService:
		return "restart " + e.Actor
	case machines.ActServiceFailed:
		return fmt.Sprintf("%s failed, given up: %v", e.Actor, e.GivenUp)
	case machines.ActGather:
		return fmt.Sprint("gather ", e.Wave)
	case machines.ActDropSnapshot:
		return "drop snapshot: " + e.Actor
	case machines.ActTick:
		return "tick at " + p.at(e.At)
	case machines.ActTickBeside:
		return "tick beside at " + p.at(e.At)
	case machines.ActRest:
		return "rest"
	case machines.ActGate:
		return fmt.Sprintf("wave %d waits, at %s", e.Wave, p.at(e.At))
	case machines.ActGoOn:
		return "go on"
	case machines.ActWarn:
		return "warn: " + e.Err.Error()
	case machines.ActGrant:
		if e.Grant.Refused != nil {
			return fmt.Sprintf("refuse %s %d", p.made.Name(e.Agent), e.Grant.Number)
		}
		return fmt.Sprintf("grant %s %d", p.made.Name(e.Agent), e.Grant.Number)
	case machines.ActFinish:
		o := p.stage.Outcome()
		text := "finish reason=" + o.Reason
		if o.Final {
			text += " final"
		}
		if o.Err != nil {
			text += " error: " + o.Err.Error()
		}
		return text
	}
	p.t.Fatalf("an effect without a text: %d", e.Act)
	return ""
}

// detail is what a rule of the stage decided in a fact.
func (p *stagePlayer) detail(fact protocol.Fact) string {
	switch f := fact.(type) {
	case *agenda.WaveClosed:
		return fmt.Sprintf(" turns %d events %d", f.Turns, f.Events)
	case *agenda.EffectsDeferred:
		return fmt.Sprintf(" %s until %s", p.made.Name(f.Agent), p.at(f.Due))
	case *agenda.EffectsRefused:
		return fmt.Sprintf(" %s requests %d", f.By, f.Requests)
	case *agenda.AgentFailed:
		if f.WakeAt == 0 {
			return fmt.Sprintf(" %s %q failures %d given up", p.made.Name(f.Agent), f.Error, f.Failures)
		}
		return fmt.Sprintf(" %s %q failures %d again at %s", p.made.Name(f.Agent), f.Error, f.Failures, p.at(f.WakeAt))
	case *agenda.ActorFailed:
		return fmt.Sprintf(" %s %q failures %d", f.Actor, f.Error, f.Failures)
	case *agenda.Interrupted:
		return fmt.Sprintf(" %s effects %d", p.made.Name(f.Agent), f.Effects)
	case *agenda.Blocked:
		return fmt.Sprintf(" %s for %s", p.made.Name(f.Agent), p.names(f.Receivers))
	case *agenda.Rested:
		return " " + p.names(f.Agents)
	case *agenda.RestEnded:
		return " " + p.names(f.Agents)
	case *agenda.Spawned:
		text := " " + p.names([]uint32{f.Agent})
		if f.Turns > 0 {
			text += fmt.Sprintf(" turns %d", f.Turns)
		}
		return text
	case *agenda.Removed:
		return " " + p.names([]uint32{f.Agent})
	case *agenda.ChangeRefused:
		return fmt.Sprintf(" %q", f.Error)
	case *agenda.OrderRefused:
		return fmt.Sprintf(" %q", f.Error)
	case *travel.Arrived:
		return fmt.Sprintf(" %s turns %d elsewhere %d", p.names([]uint32{f.Agent}), f.Turns, f.Elsewhere)
	case *travel.Returned:
		return fmt.Sprintf(" %s turns %d elsewhere %d %q", p.names([]uint32{f.Agent}), f.Turns, f.Elsewhere, f.Error)
	case *travel.TurnedAway:
		return fmt.Sprintf(" %s %q", f.Agent, f.Error)
	case *agenda.Ended:
		return " " + f.Reason
	case *agenda.Paused:
		if f.Reason != machines.PausedByRequest {
			return " " + f.Reason
		}
	case *agenda.TurnAbandoned:
		return fmt.Sprintf(" %s took %d calls", p.made.Name(f.Agent), f.Took[0].Calls)
	case *agenda.DeadLettered:
		return fmt.Sprintf(" reason %s count %d", f.Reason, max(1, f.Count))
	case *turns.Began:
		return fmt.Sprintf(" %d %s %s%s", f.Round, f.Policy, p.names(f.Order), given(f.By))
	case *turns.Granted:
		text := fmt.Sprintf(" %d.%d %s turns %d at %s%s", f.Round, f.Turn, p.names(f.Agents), f.Turns, p.at(f.Due), given(f.By))
		if f.Until != 0 {
			text += " until " + p.at(f.Until)
		}
		return text
	case *turns.Forfeited:
		return fmt.Sprintf(" %d %s %s out %v", f.Round, p.names(f.Agents), f.Reason, f.Out)
	case *turns.Ended:
		return fmt.Sprintf(" %d turns %d forfeited %d over %v", f.Round, f.Turns, f.Forfeited, f.Over)
	case *turns.Stalled:
		return fmt.Sprintf(" after %d since %s: %s", f.Round, p.at(f.Since), f.Fallback)
	case *bus.Routed:
		var to []uint32
		for o := range f.Receivers.All() {
			to = append(to, o)
		}
		return fmt.Sprintf(" %s %s to %s", f.ID, f.Type, p.names(to))
	}
	return ""
}

func given(by string) string {
	if by == "" {
		return ""
	}
	return " by " + by
}

func (p *stagePlayer) names(list []uint32) string {
	var names []string
	for _, o := range list {
		names = append(names, p.made.Name(o))
	}
	return fmt.Sprint(names)
}

func (p *stagePlayer) at(t protocol.Time) string { return "+" + t.Sub(p.start).String() }

func (p *stagePlayer) ordinal(id string) uint32 {
	o, ok := p.made.Ordinal(id)
	if !ok {
		p.t.Fatalf("no agent %q", id)
	}
	return o
}

func (p *stagePlayer) path(text string) world.Path {
	path, err := world.ParsePath(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *stagePlayer) number(text string) int64 {
	n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *stagePlayer) priority(text string) protocol.Priority {
	priority, err := protocol.ParsePriority(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return priority
}

func (p *stagePlayer) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}
