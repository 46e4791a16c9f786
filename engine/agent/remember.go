package agent

import (
	"maps"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/memory"
	"tavernsim/protocol"
)

// Mind is what the agent remembers of its turns; nil = nothing.
func (s *State) Mind() *memory.Mind {
	if s.more == nil {
		return nil
	}
	return s.more.mind
}

func (m *Machine) heard(e *protocol.Envelope, text string) memory.Heard {
	return memory.Heard{At: e.Time, From: e.Source, Type: e.Type, Text: text, ToMe: slices.Contains(e.Targets, m.ID.Instance), Own: e.Source == m.ID.Instance}
}

// summary is the one that the agent has of its talks with the publishers of its events.
func (t *Turn) summary() any {
	return t.m.State.Mind().Summary(mapped(t.events, func(e *protocol.Envelope) string { return e.Source })...)
}

// recalled are the episodes that fit what is at hand.
func (t *Turn) recalled() any {
	return memory.Values(t.m.State.Mind().Recall(t.m.Def.Memory, lore.AtHand(t.events, t.goals.Goals), t.wake.Now))
}

// summarises asks a model to summarise what the agent remembers of a talk, if that is too long; the
// turn ends when the answer has come. false = nothing is to be summarised.
func (t *Turn) summarises() bool {
	r := t.m.Def.Memory
	if r == nil || t.summarised || t.cancelled {
		return false
	}
	t.summarised = true
	u, some := t.m.State.Mind().Unsummarised(r)
	if !some {
		return false
	}
	took := func(text string, err error) {
		f := &agentfact.Summarised{With: u.With, Lines: int64(len(u.Lines)), Text: memory.Cut(text, r.Summary.Tokens)}
		if err == nil && f.Text == "" {
			err = protocol.Errorf(protocol.KindInvalid, "the model answered without text")
		}
		if err != nil {
			f.Text, f.Error = "", err.Error()
		}
		t.out.Note(f)
	}
	system, user := u.Asked(r.Summary.Tokens)
	q := protocol.ModelRequest{Model: *r.Summary.Model, MaxTokens: r.Summary.Tokens, Messages: []protocol.ModelMessage{{Role: protocol.RoleSystem, Text: system}, {Role: protocol.RoleUser, Text: user}}}
	t.askText(q, protocol.PurposeSummarise, waiting{}, took, took)
	return true
}

// soFar is what the turn will leave, as it is now.
func (t *Turn) soFar() memory.Turn {
	var heard []memory.Heard
	for _, e := range t.events {
		text, ok := lore.Speech(e)
		// A full inbox may have lost the event since the turn began; then the turn leaves nothing of it.
		if h := t.m.State.find(e); ok && !e.Ephemeral && h != nil && h.Failures == 0 {
			heard = append(heard, t.m.heard(e, text))
		}
	}
	return t.m.State.Mind().Of(t.out.Facts, heard, &t.end)
}

// reflectUnasked begins a reflection if the profile says so of what happened.
func (t *Turn) reflectUnasked() {
	r := t.m.Def.Memory
	if r == nil || r.Reflect == nil || t.reflect != nil || t.cancelled || t.m.Def.Reflection == "" {
		return
	}
	turn := t.soFar()
	if why := t.m.State.Mind().Trigger(r, &turn, t.wake.Now, t.end.Asleep); why != "" {
		t.reflect = &reflection{reason: why}
	}
}

// ReflectionInputs names the inputs that every reflection gets beside the core inputs; remembers = its profile has a memory.
// One that has a goal also gets that.
func ReflectionInputs(remembers bool) []string {
	if !remembers {
		return []string{"recent_actions", "reason"}
	}
	return []string{"recent_actions", "reason", "goals_ended", "state_then", "lessons"}
}

// reflectionInputs are what a reflection gets beside the inputs of every deliberation.
func (t *Turn) reflectionInputs() map[string]any {
	given := map[string]any{"recent_actions": actionsValue(t.out.Facts), "reason": t.reflect.reason, "goal": t.reflect.goal}
	if t.m.Def.Memory == nil {
		return given
	}
	turn := t.soFar()
	more, text := t.m.State.Mind().Inputs(&turn, t.end.Turn, t.wake.Now, t.goals.Goals, t.goals.Told)
	maps.Copy(given, more)
	given["lessons"] = t.books.Near(text, memory.NearLessons, t.wake.Now)
	return given
}
