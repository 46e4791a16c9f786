package scenes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/script"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/template"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/factjson"
)

// trace prints the facts after the given one, and says which was the last.
func trace(t testing.TB, s *scenestest.Scene, after uint64, kinds ...string) (text string, last uint64) {
	t.Helper()
	tr := newTracer(s)
	tr.keep = func(r protocol.Record) bool { return len(kinds) == 0 || slices.Contains(kinds, r.Kind) }
	last = after
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Waves(1, func(w persistence.Wave) error {
			tr.ends = append(tr.ends, w)
			return nil
		})
		if err == nil && after < j.Durable().Last {
			err = j.Read(after+1, func(r protocol.Record) error {
				last = r.Seq
				return tr.record(r)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return tr.b.String(), last
}

// has reports whether the journal holds a fact of the kind.
func has(t testing.TB, s *scenestest.Scene, kind string) bool {
	text, _ := trace(t, s, 0, kind)
	return text != ""
}

// tracer prints facts, one line each, under a headline for every wave.
type tracer struct {
	scene *scenestest.Scene
	codec *protocol.Codec
	ids   []string
	ends  []persistence.Wave
	wave  uint64
	begun protocol.Time
	keep  func(protocol.Record) bool
	b     strings.Builder
}

func newTracer(s *scenestest.Scene) *tracer {
	tr := &tracer{scene: s, codec: machines.NewCodec()}
	if agents, err := s.Def.Agents(0); err == nil {
		for in := range agents.All() {
			tr.ids = append(tr.ids, in.ID)
		}
	}
	tr.begun = protocol.TimeOf(s.Def.Definition.Simulation.StartTime)
	return tr
}

func (tr *tracer) record(r protocol.Record) error {
	if !tr.keep(r) {
		return nil
	}
	text, err := tr.text(r)
	if err != nil {
		return err
	}
	if text == "" {
		return nil
	}
	for _, w := range tr.ends {
		if r.Seq >= w.First && r.Seq <= w.Last && w.Number != tr.wave {
			tr.wave = w.Number
			fmt.Fprintf(&tr.b, "wave %d at %s\n", w.Number, tr.at(w.MaxTime))
		}
	}
	fmt.Fprintf(&tr.b, "  %s %s\n", r.Actor, text)
	return nil
}

// at is a moment as a span from the scene's start.
func (tr *tracer) at(t protocol.Time) string { return "+" + t.Sub(tr.begun).String() }

func (tr *tracer) id(o uint32) string {
	if int(o) < len(tr.ids) {
		return tr.ids[o]
	}
	return "$scene"
}

func (tr *tracer) idList(list []uint32) (ids []string) {
	for _, o := range list {
		ids = append(ids, tr.id(o))
	}
	return ids
}

// whole is a fact that has no line of its own here.
func whole(f protocol.Fact) string {
	b, err := json.Marshal(factjson.Of(f))
	if err != nil {
		return err.Error()
	}
	return f.FactKind() + " " + string(b)
}

func show(r protocol.Raw) string {
	v, err := r.Value()
	if err != nil {
		return err.Error()
	}
	return string(template.AppendJSON(nil, v))
}

// tail joins what says something.
func tail(parts ...string) string {
	out := ""
	for _, p := range parts {
		if p != "" {
			out += " " + p
		}
	}
	return out
}

func when(yes bool, format string, args ...any) string {
	if !yes {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (tr *tracer) text(r protocol.Record) (string, error) {
	f, err := tr.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return "", err
	}
	switch x := f.(type) {
	case agentfact.Fact:
		return tr.agent(x), nil
	case agenda.Fact:
		return tr.agenda(x), nil
	case bus.Fact:
		return tr.event(x), nil
	case knowledge.Fact:
		return tr.knowledge(x), nil
	case tooltask.Fact:
		return tr.task(x), nil
	case script.Fact:
		return tr.script(x), nil
	}
	return tr.world(f), nil
}

func (tr *tracer) script(f script.Fact) string {
	switch x := f.(type) {
	case *script.Entered:
		return fmt.Sprintf("enters %s by %s", x.State, x.Why) + tail(when(x.From != "", "from %s", x.From))
	case *script.Set:
		return fmt.Sprintf("sets %s %s by %s", x.Variable, show(x.Value), x.Why)
	case *script.Fired:
		return fmt.Sprintf("fires %s of %s", x.Schedule, tr.at(x.Moment))
	case *script.Failed:
		return fmt.Sprintf("action %s failed: %s", x.Where, x.Error)
	case *script.Opened:
		return fmt.Sprintf("collects %s in %s from %v", x.Collection, x.State, slices.Collect(x.Asked.All())) + tail(when(x.Due != 0, "until %s", tr.at(x.Due)))
	case *script.Answered:
		return fmt.Sprintf("%s: %s answered %s with %s", x.Collection, tr.id(x.Agent), show(x.Value), x.Event)
	case *script.Refused:
		return fmt.Sprintf("%s: %s of %s does not count: %s %q", x.Collection, x.Event, x.By, x.Code, x.Message)
	case *script.Closed:
		return fmt.Sprintf("%s closed by %s: %d of %d", x.Collection, x.Why, x.Answers, x.Asked) + tail(when(x.Winner != "", "winner %s", x.Winner))
	case *script.Outcome:
		return fmt.Sprintf("outcome %s of %v because %q", x.Outcome, x.Winners, x.Reason) + tail(when(x.Ends, "ends"))
	}
	return ""
}

func (tr *tracer) task(f tooltask.Fact) string {
	switch x := f.(type) {
	case *tooltask.Opened:
		t := &x.Task
		return fmt.Sprintf("opened %s %s %s", t.ID, t.Tool, show(t.Params)) + tail(when(t.Due != 0, "due %s", tr.at(t.Due)))
	case *tooltask.Sent:
		return "sent " + x.ID
	case *tooltask.Ended:
		return fmt.Sprintf("ended %s %s %s", x.ID, x.Status, show(x.Output)) + tail(when(x.Error != "", "error %q", x.Error))
	case *tooltask.Uncharged:
		return fmt.Sprintf("uncharged %s: %d, %s, %d bytes", x.ID, x.Cost, x.Time, x.Bytes)
	case *tooltask.Cancelled:
		return fmt.Sprintf("cancelled %s: %s", x.ID, x.Reason) + tail(when(x.Unknown, "unknown outcome"))
	case *tooltask.TakenOver:
		return fmt.Sprintf("%s plays %s, %s, %s %s %q", x.Player.By, x.Player.Agent, x.Player.Timeout, x.Player.Wait, x.Player.OnTimeout, x.Reason)
	case *tooltask.Released:
		return fmt.Sprintf("%s releases %s %q", x.By, x.Agent, x.Reason)
	case *tooltask.Reported:
		return fmt.Sprintf("%s of %s is %s's: %s %v %q", x.ID, x.Agent, x.By, x.Status, x.Progress, x.Note)
	case *tooltask.Refused:
		return fmt.Sprintf("refused %s of %s: %s", x.ID, x.Agent, x.Message)
	}
	return ""
}

func (tr *tracer) agent(f protocol.Fact) string {
	switch x := f.(type) {
	case *agentfact.Said:
		return fmt.Sprintf("said %q", x.Text)
	case *agentfact.CallMade:
		return fmt.Sprintf("call %s %s %s %s", x.ID, x.Tool, x.Origin, x.Status) + tail(when(len(x.Params) > 0, "%s", show(x.Params)),
			when(len(x.Output) > 0, "-> %s", show(x.Output)), when(x.Error != "", "error %q", x.Error), when(x.Observe, "observed"))
	case *agentfact.ModelAnswered:
		return fmt.Sprintf("model %q", x.Text) + tail(when(len(x.Calls) > 0, "calls %s", show(x.Calls)),
			when(x.Latency > 0, "after %v", x.Latency), when(x.Error != "", "error %q", x.Error))
	case *agentfact.CallAsked:
		return fmt.Sprintf("asks for leave %d: %s %s by rule %q", x.Request, x.ID, x.Tool, x.Rule) + tail(when(len(x.Params) > 0, "%s", show(x.Params)), when(x.Reason != "", "because %q", x.Reason))
	case *agentfact.CallJudged:
		return fmt.Sprintf("judged %s %s allowed %v by %s, rule %q", x.ID, x.Tool, x.Allowed, x.By, x.Rule) + tail(when(x.Reason != "", "because %q", x.Reason))
	case *agentfact.HookAnswered:
		return fmt.Sprintf("hooks %s %s", x.Place, x.Subject) + tail(when(len(x.Output) > 0, "-> %s", show(x.Output)), when(x.Veto != "", "veto %q", x.Veto), when(x.Error != "", "error %q", x.Error))
	case *agentfact.CallAnswered:
		return fmt.Sprintf("answer of %s %d", x.Kind, x.Request) + tail(when(len(x.Output) > 0, "-> %s", show(x.Output)),
			when(x.Latency > 0, "after %v", x.Latency), when(x.Error != "", "error %q", x.Error))
	case *agentfact.StateUpdated:
		return fmt.Sprintf("state %s %q %s", x.Op, x.Path, show(x.Value))
	case *agentfact.GoalsUpdated:
		return fmt.Sprintf("goal %s %s %v %q", x.Goal.ID, x.Goal.Status, x.Goal.Priority, x.Goal.Description) + tail(when(x.Removed, "removed"))
	case *agentfact.GoalChanged:
		return fmt.Sprintf("goal %s %s, was %q, %s", x.Goal.ID, x.Goal.Status, x.From, x.Cause) + tail(when(x.More.Why != "", "%q", x.More.Why), when(x.More.Deadline != 0, "until %s", tr.at(x.More.Deadline)), when(x.By != "", "by %s", x.By), when(x.Observe, "observed"))
	case *agentfact.DriveMet:
		return fmt.Sprintf("drive %s met at %d", x.Drive, x.Level)
	case *agentfact.Reflected:
		return fmt.Sprintf("reflected %s %q", x.Workflow, x.Reason) + tail(when(x.Error != "", "error %q", x.Error))
	case *agentfact.RequestAnswered:
		return fmt.Sprintf("answered request %s %s", x.ID, show(x.Results))
	case *agentfact.StepsHeld:
		return fmt.Sprintf("held %s and %d more for %s until %s", x.Held.ID, len(x.Held.Steps)-1, strings.Join(x.Held.Waits, " "), tr.at(x.Held.Until))
	case *agentfact.StepsResumed:
		return "resumed " + x.ID
	case *agentfact.EntriesActivated:
		var list []string
		for _, e := range x.Entries {
			list = append(list, fmt.Sprintf("%s/%s since %d stays %d rests %d", e.KB, e.ID, e.Since, e.Stays, e.Rests))
		}
		return "entries " + strings.Join(list, ", ")
	case *agentfact.OutcomeUnknown:
		return fmt.Sprintf("unknown outcome of %s %d: %q", x.Effect, x.Request, x.Error)
	case *agentfact.TurnEnded:
		return tr.turn(x)
	}
	return tr.delivery(f)
}

func (tr *tracer) delivery(f protocol.Fact) string {
	switch x := f.(type) {
	case *agentfact.Dropped:
		text := fmt.Sprintf("dropped %d refused %d", x.InboxFull, x.QueueFull) + when(x.Expired > 0, " expired %d", x.Expired)
		for _, d := range x.Events {
			text += fmt.Sprintf("; %s of %s: %s", d.Event, d.Source, d.Reason)
		}
		return text
	case *agentfact.Unacknowledged:
		return fmt.Sprintf("gives up event %s of %s: %s", x.Event, x.Source, x.Reason) + tail(when(x.Redelivered > 0, "redelivered %d", x.Redelivered))
	case *agentfact.TaskOpened:
		return fmt.Sprintf("asks task %s %s of %v until %s", x.Task.ID, x.Task.Type, x.Task.Targets, tr.at(x.Task.Deadline))
	case *agentfact.TaskClosed:
		return fmt.Sprintf("task %s %s", x.Task, x.How) + tail(when(x.Event != "", "by %s", x.Event))
	}
	return whole(f)
}

func (tr *tracer) turn(x *agentfact.TurnEnded) string {
	sleep := when(x.SleepUntil != 0, "asleep until %s", tr.at(x.SleepUntil))
	if x.Asleep && x.SleepUntil == 0 {
		sleep = "asleep"
	}
	return fmt.Sprintf("turn %d %s", x.Turn, x.Outcome) + tail(when(x.Error != "", "%q", x.Error),
		when(x.Perceived > 0, "events %d", x.Perceived), when(x.Seen > 0, "observations %d", x.Seen), when(x.Calls > 0, "calls %d", x.Calls),
		when(x.Elapsed > 0, "took %v", x.Elapsed), when(x.Lost > 0, "lost %d", x.Lost), when(x.WakeAt != 0, "again at %s", tr.at(x.WakeAt)), sleep, when(x.Asleep, "woken by %s", x.WakeAbove), when(x.Reflections > 0, "reflections %d", x.Reflections))
}

func (tr *tracer) agenda(f protocol.Fact) string {
	switch x := f.(type) {
	case *agenda.Started:
		return fmt.Sprintf("started %s seed %d %s tick %v agents %d", x.Scene, x.Seed, x.Clock, x.Tick, x.Agents)
	case *agenda.EffectsDeferred:
		return fmt.Sprintf("defers %d effects of %s to %s", len(x.Effects), tr.id(x.Agent), tr.at(x.Due))
	case *agenda.EffectsRefused:
		return fmt.Sprintf("refuses all %d requests of %s: %d bytes, the wave has at most %d", x.Requests, x.By, x.Bytes, x.Limit)
	case *agenda.AgentFailed:
		return fmt.Sprintf("agent %s failed %d: %q", tr.id(x.Agent), x.Failures, x.Error) + tail(when(len(x.Stack) > 0, "in %s", function(x.Stack)),
			when(x.WakeAt != 0, "again at %s", tr.at(x.WakeAt)), when(x.WakeAt == 0, "given up"))
	case *agenda.ActorFailed:
		return fmt.Sprintf("actor %s failed %d: %q", x.Actor, x.Failures, x.Error) + tail(when(len(x.Stack) > 0, "in %s", function(x.Stack)), when(x.GivenUp, "given up"))
	case *agenda.Interrupted:
		return fmt.Sprintf("%s interrupts %s, %d effects cancelled", x.Event, tr.id(x.Agent), x.Effects)
	case *agenda.Blocked:
		return fmt.Sprintf("%s blocks %s for %v", x.Event, tr.id(x.Agent), tr.idList(x.Receivers))
	case *agenda.Intervened:
		return fmt.Sprintf("order %s of %q because %q: %s", x.ID, x.By, x.Reason, show(x.Do))
	case *agenda.OrderRefused:
		return fmt.Sprintf("order %s refused: %s", x.ID, x.Error)
	case *agenda.Rested:
		return fmt.Sprintf("%s lets %v rest because %q", x.By, tr.idList(x.Agents), x.Reason)
	case *agenda.RestEnded:
		return fmt.Sprintf("%s ends the rest of %v because %q", x.By, tr.idList(x.Agents), x.Reason)
	case *agenda.Spawned:
		return fmt.Sprintf("%s lets %s come behind %d turns with %s because %q", x.By, tr.id(x.Agent), x.Turns, show(x.State), x.Reason)
	case *agenda.Removed:
		return fmt.Sprintf("%s takes %s away with %d unread because %q", x.By, tr.id(x.Agent), x.Unread, x.Reason)
	case *agenda.TurnAbandoned:
		return fmt.Sprintf("a turn of %s that leaves no facts took %v", tr.id(x.Agent), x.Took)
	case *agenda.ChangeRefused:
		return fmt.Sprintf("refuses %s of %s: %s", show(x.Do), x.By, x.Error)
	case *agenda.Paused:
		return "paused by " + x.Reason
	case *agenda.Resumed:
		return "resumed"
	case *agenda.Ended:
		return "ended by " + x.Reason
	case *agenda.DeadLettered:
		return deadLetter(x)
	}
	return "" // the end of a wave is where the next headline stands
}

func deadLetter(x *agenda.DeadLettered) string {
	if x.Event == "" {
		return fmt.Sprintf("dead letters %d %s %s: %s", x.Count, x.Kind, x.Type, x.Reason)
	}
	return fmt.Sprintf("dead letter %s %s to %s: %s", x.Event, x.Type, x.Receiver, x.Reason)
}

// function is the innermost frame without its line, which moves.
func function(stack []string) string {
	name, _, _ := strings.Cut(stack[0], " ")
	return name
}

func (tr *tracer) event(f bus.Fact) string {
	switch x := f.(type) {
	case *bus.Listener:
		return fmt.Sprintf("%s listens: %v, %d dropped", tr.id(x.Agent), x.Here, x.Dropped)
	case *bus.Routed:
		return tr.routed(x)
	case *bus.Refused:
		return fmt.Sprintf("refuses %s of %s: %s %q", x.Type, x.Source, x.Reason, x.Detail)
	case *bus.SubscriptionChanged:
		return fmt.Sprintf("%s hears%s", tr.id(x.Agent), subscriptions(" more", x.Add)+subscriptions(" less", x.Remove))
	case *bus.ThrottleChanged:
		return fmt.Sprintf("throttles %s%s: %d in %v per %s, else %s", x.Rule.Type, when(x.Rule.Source != "", " of %s", x.Rule.Source), x.Rule.Max, x.Rule.Window, x.Rule.Per, x.Rule.Action) +
			tail(when(x.Rule.Until != 0, "until %s", tr.at(x.Rule.Until)), when(x.Removed, "no more"))
	case *bus.NotDone:
		return fmt.Sprintf("refuses to %s %s for %s: %s %q", x.What, x.Subject, x.By, x.Code, x.Message)
	}
	return whole(f)
}

func subscriptions(how string, list []bus.Subscription) string {
	out := ""
	for _, sub := range list {
		out += how + " " + sub.Type + tail(when(sub.Path != "", "at %s", sub.Path), when(sub.FilterCondition != "", "if %s", sub.FilterCondition),
			when(sub.Quiet > 0, "%s after %v of %v", sub.Debounce, sub.Quiet, sub.Most))
	}
	return out
}

func (tr *tracer) routed(x *bus.Routed) string {
	var to []string
	for o := range x.Receivers.All() {
		to = append(to, tr.id(o))
	}
	marks := ""
	for _, m := range x.Marks {
		marks += fmt.Sprintf(" %s %s %s", m.Agent, m.Reason, m.Action)
	}
	for _, h := range x.Held {
		var held []string
		for o := range h.Receivers.All() {
			held = append(held, tr.id(o))
		}
		marks += fmt.Sprintf(" holds it for [%s], %s", strings.Join(held, " "), h.Reason) + tail(when(h.Until != 0, "until %s", tr.at(h.Until)))
	}
	if x.Released != 0 {
		marks += fmt.Sprintf(" released, one of %d", x.Merged)
	}
	return fmt.Sprintf("event %s %s of %s to [%s] %s", x.ID, x.Type, x.Source, strings.Join(to, " "), show(x.Body)) + tail(
		when(x.Priority != protocol.Normal, "%s", x.Priority), when(len(x.Chain) > 0, "depth %d", len(x.Chain)),
		when(x.Expires != 0, "until %s", tr.at(x.Expires)), when(x.FilterErrors > 0, "filters failed %d", x.FilterErrors), strings.TrimSpace(marks))
}

func (tr *tracer) world(f protocol.Fact) string {
	switch x := f.(type) {
	case *world.Committed:
		text := fmt.Sprintf("version %d", x.After)
		for _, c := range x.Changes {
			text += fmt.Sprintf("; %s %s %s %s", c.By, c.Op, c.Path, show(c.Value))
		}
		return text
	case *world.Refused:
		return fmt.Sprintf("refuses %s %s of %s: %s %q at version %d", x.Op, x.Path, x.By, x.Code, x.Message, x.Version)
	case *worldstate.Granted:
		return fmt.Sprintf("grants %s %s of %s at version %d", x.Op, x.Path, x.By, x.Version)
	case *lease.Leased:
		return fmt.Sprintf("leases %v to %s as %s until %s", x.Lease.Paths, x.Lease.Holder, x.Lease.ID, tr.at(x.Lease.Until))
	case *lease.Released:
		return fmt.Sprintf("releases %s of %s", x.ID, x.Holder) + tail(when(x.Expired, "expired"))
	case *statecmd.Committed:
		return commands(x)
	}
	return whole(f)
}

// commands shows a batch entry by entry.
func commands(x *statecmd.Committed) string {
	text := fmt.Sprintf("commands of %s", x.By) + tail(when(x.Request != "", "%s", x.Request))
	for _, p := range x.Parts {
		text += fmt.Sprintf("; %s version %d", p.Document, p.After)
	}
	for _, a := range x.Audit {
		text += fmt.Sprintf("\n    %s %s %s/%s %q", a.Action, a.Key, a.Status, a.Code, a.Message) + tail(when(a.Changed || a.Actor == "system", "%s to %s", show(a.Before), show(a.After)))
	}
	for _, w := range x.Warnings {
		text += fmt.Sprintf("\n    warning %s %q", w.Code, w.Message)
	}
	return text
}

func (tr *tracer) knowledge(f protocol.Fact) string {
	switch x := f.(type) {
	case *knowledge.Written:
		return fmt.Sprintf("%s %s/%s by %s", x.Op, x.KB, x.EntryID, x.By)
	case *knowledge.Forwarded:
		return fmt.Sprintf("forwards %s of %s to %s", x.Request, x.By, x.Keeper)
	case *knowledge.Suggested:
		return fmt.Sprintf("suggestion %d %s %s by %s", x.Suggestion, x.Op, x.KB, x.By)
	case *knowledge.Reviewed:
		return fmt.Sprintf("suggestion %d to %s reviewed by %s: accepted %v", x.Suggestion, x.KB, x.By, x.Accepted)
	case *knowledge.Embedded:
		return fmt.Sprintf("vectors of %s for %v of %s: %x", x.Model, x.Entries, x.KB, x.Vectors) + tail(when(x.Error != "", "%s %q", x.Reason, x.Error))
	case *knowledge.Refused:
		return fmt.Sprintf("refuses %s of %s: %s %q", x.KB, x.By, x.Reason, x.Message)
	}
	return fmt.Sprintf("%T", f)
}
