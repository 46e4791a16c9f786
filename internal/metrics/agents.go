package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
)

// Stage is a part of a deliberation, as the shell sees it. The machine itself
// never asks the clock.
type Stage uint8

const (
	StageQueue  Stage = iota // woken, and waiting for a worker
	StageDecide              // the machine at work: perceiving, the workflow, its calls
	StageModel               // waiting for a model
	StageApply               // folding the facts and encoding them
	StageMerge               // ended, and waiting for those before it in the wave
	stageCount
)

func (s Stage) String() string {
	return [...]string{"queue", "decide", "model", "apply", "merge"}[s]
}

// OutcomeCrashed is the outcome of a deliberation whose actor failed; the other
// outcomes are the agent's own.
const OutcomeCrashed = "crashed"

const (
	restarted = "failure"
	givenUp   = "given_up"
)

// Kinds of actors, as mailboxes and restarts are counted. Each service of a scene is a
// kind, too ([Declared]).
const (
	KindAgent = "agent"
	KindScene = "scene"
)

type agentVecs struct {
	profiles    cache[string, Profile]
	stages      [stageCount]prometheus.Observer
	actors      cache[string, closed] // restarts, by kind; agents have their own
	deadLetters closed
	tools       cache[string, toolSeries]
	knowledge   cache[string, closed]
}

type toolSeries struct{ calls closed }

func (s *Set) makeAgents() {
	s.area = "agents"
	a := &s.agents
	ended := s.counter("agent_deliberations_total", "Deliberations of agents that ended.", "profile", "outcome")
	took := s.histogram("agent_deliberation_duration_seconds", "Wall time of a deliberation, from waking to its last fact.", seconds(), "profile")
	stages := s.histogram("agent_deliberation_stage_duration_seconds", "Wall time of one stage of a deliberation (queue, decide, model, apply, merge), measured for one in 16.", seconds(), "stage")
	reflections := s.counter("agent_reflections_total", "Reflections that ended.", "profile", "outcome")
	restarts := s.counter("agent_restarts_total", "Failures of agents' actors: restarted (failure), or left alone from then on (given_up).", "profile", "reason")
	for i := range stageCount {
		a.stages[i] = stages.WithLabelValues(i.String())
	}
	a.profiles = newCache(s, "profile", overflowed, func(name string) *Profile {
		return &Profile{
			label: name, took: took.WithLabelValues(name), ended: newClosed(ended, outcomes(), name),
			reflections: newClosed(reflections, []string{"ok", "failed"}, name), restarts: newClosed(restarts, restartReasons(), name),
		}
	})
	s.makeActors()
	calls := s.counter("tool_calls_total", "Calls of tools and skills.", "tool", "outcome")
	statuses := texts(protocol.CallOK, protocol.CallFailed, protocol.CallDenied, protocol.CallRequested, protocol.CallNotRun)
	a.tools = newCache(s, "tool", overflowed, func(name string) *toolSeries { return &toolSeries{newClosed(calls, statuses, name)} })
	writes := s.counter("knowledge_writes_total", "Requests to change a knowledge base, by what became of them.", "kb", "outcome")
	a.knowledge = closedBy(s, "kb", writes, []string{"written", "suggested", "reviewed", "refused"})
}

func (s *Set) makeActors() {
	a := &s.agents
	restarts := s.counter("actor_restarts_total", "Failures of a scene's own actors: restarted (failure), or the end of the scene (given_up).", "kind", "reason")
	a.actors = newCache(s, "kind", overflowed, func(kind string) *closed {
		s.stuck.actors.WithLabelValues(kind)
		c := newClosed(restarts, restartReasons(), kind)
		return &c
	})
	a.actors.get(KindScene)
	dead := s.counter("dead_letters_total", "Envelopes that no mailbox took.", "kind")
	var kinds []string
	for k := protocol.KindEvent; k <= protocol.KindGrant; k++ {
		if k.String() != "" { // a number that nobody has any more
			kinds = append(kinds, k.String())
		}
	}
	a.deadLetters = newClosed(dead, kinds)
}

func outcomes() []string {
	return append(texts(agentfact.Outcomes()...), OutcomeCrashed)
}

func restartReasons() []string { return []string{restarted, givenUp} }

// Profile counts for the agents of one profile. Whoever holds it saves the
// look-up by name.
type Profile struct {
	label       string
	took        prometheus.Observer
	ended       closed
	reflections closed
	restarts    closed
}

// Profile returns the counters of a profile.
func (s *Set) Profile(name string) *Profile { return s.agents.profiles.get(name) }

// Deliberated counts an ended deliberation.
func (p *Profile) Deliberated(outcome string) { p.ended.inc(outcome) }

// Took measures a deliberation.
func (p *Profile) Took(d time.Duration) { p.took.Observe(d.Seconds()) }

// Reflected counts an ended reflection.
func (p *Profile) Reflected(ok bool) {
	if ok {
		p.reflections.inc("ok")
	} else {
		p.reflections.inc("failed")
	}
}

// Failed counts an agent's actor that failed, and the deliberation it was at.
func (p *Profile) Failed(forGood bool) {
	p.restarts.inc(reasonOf(forGood))
	p.ended.inc(OutcomeCrashed)
}

func reasonOf(forGood bool) string {
	if forGood {
		return givenUp
	}
	return restarted
}

// sampled is how many deliberations there are to one whose stages are measured:
// five observations and as many looks at the clock cost about a microsecond,
// which is too much for a deliberation of ten.
const sampled = 16

// Sampled reports whether the stages of a deliberation should be measured. n is
// the agent's ordinal plus its turn, so that neither all agents of a wave are
// taken nor none.
func Sampled(n uint64) bool { return n%sampled == 0 }

// Stage measures one stage of a deliberation; see [Sampled].
func (s *Set) Stage(st Stage, d time.Duration) { s.agents.stages[st].Observe(d.Seconds()) }

// ActorFailed counts a failed actor of a scene that is no agent: "$world", or
// "world".
func (s *Set) ActorFailed(actor string, forGood bool) {
	s.agents.actors.get(strings.TrimPrefix(actor, "$")).inc(reasonOf(forGood))
}

// KnowledgeWritten counts a request to a knowledge base: written, suggested,
// reviewed or refused.
func (s *Set) KnowledgeWritten(kb, outcome string) { s.agents.knowledge.get(kb).inc(outcome) }
