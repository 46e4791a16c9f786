package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
)

// Bounds of the summary.
const (
	summaryAgents   = 8
	summaryProblems = 8
	timelineBuckets = 60
	maxExample      = 160 // runes of an example
)

// Summary is the view "summary": what a scene's run is and how it went.
type Summary struct {
	Run           string     `json:"run"`
	Created       time.Time  `json:"created"`
	Program       string     `json:"program"`
	Project       string     `json:"project"`
	ProjectHash   string     `json:"project_hash"`
	Scene         string     `json:"scene"`
	Seed          uint64     `json:"seed"`
	Clock         string     `json:"clock"`
	Start         string     `json:"start"`
	End           string     `json:"end"`
	SceneTime     string     `json:"scene_time"`
	Ended         string     `json:"ended"` // why; "" = it can be resumed
	Digest        string     `json:"digest"`
	Waves         uint64     `json:"waves"`
	Facts         uint64     `json:"facts"`
	Bytes         uint64     `json:"bytes"`
	Dropped       uint64     `json:"dropped_facts"` // before the first that is kept
	Agents        int        `json:"agents"`
	Deliberations int64      `json:"deliberations"`
	Failed        int64      `json:"deliberations_failed"`
	Published     int64      `json:"events_published"`
	Delivered     int64      `json:"events_delivered"`
	WorldVersion  int64      `json:"world_version"`
	Kinds         []Count    `json:"kinds"`
	TopAgents     []Work     `json:"top_agents"`
	Refusals      []Refusals `json:"refusals"`
	Problems      []Problem  `json:"problems"` // the first of them
	ProblemCount  int64      `json:"problem_count"`
	Timeline      []Bucket   `json:"timeline"`
	Next          []string   `json:"next"` // views that are worth a look now
}

// Work is what one agent did.
type Work struct {
	Agent         string `json:"agent"`
	Profile       string `json:"profile"`
	Deliberations int64  `json:"deliberations"`
	Calls         int64  `json:"calls"`
	Failed        int64  `json:"deliberations_failed"`
}

// Refusals counts what was refused for one reason.
type Refusals struct {
	What    string `json:"what"` // event, delivery, world, command, knowledge, mailbox, call
	Reason  string `json:"reason"`
	Count   int64  `json:"count"`
	Setting string `json:"setting,omitempty"` // that governs it
	Example string `json:"example"`
}

// Problem is a failure.
type Problem struct {
	Seq  uint64 `json:"seq"`
	Time string `json:"time"`
	Who  string `json:"who"`
	What string `json:"what"`
	Text string `json:"text"`
}

// Bucket is a stretch of scene time.
type Bucket struct {
	Since         string `json:"since"`
	Facts         int64  `json:"facts"`
	Deliberations int64  `json:"deliberations"`
	Events        int64  `json:"events"`
	Refused       int64  `json:"refused"`
}

// Summary reads the whole journal once.
func (s *Scene) Summary() (*Summary, error) {
	if err := s.empty(); err != nil {
		return nil, err
	}
	begun, err := s.begun()
	if err != nil {
		return nil, err
	}
	b := &summing{Scene: s, out: s.heading(begun), begun: begun, kinds: map[string]int64{}, work: map[string]*Work{}, refused: map[string]*Refusals{}}
	b.timeline(s.journal.Durable().MaxTime)
	if err := s.Scan(persistence.Query{}, b.fact); err != nil {
		return nil, err
	}
	if b.out.Ended, err = s.ended(); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

func (s *Scene) heading(begun protocol.Time) *Summary {
	m, end := s.run.Manifest, s.journal.Durable()
	return &Summary{
		Run: m.Run, Created: m.Created, Program: m.Program, Project: m.Project, ProjectHash: m.ProjectHash,
		Scene: s.ID, Seed: m.Seeds[s.ID], Clock: string(s.clock()), Start: begun.String(), End: end.MaxTime.String(), SceneTime: end.MaxTime.Sub(begun).String(),
		Digest: end.Digest.String(), Waves: end.Number, Facts: end.Last, Bytes: end.Total, Dropped: s.journal.Begin().Last, Agents: s.agents.Len(),
		Refusals: []Refusals{}, Problems: []Problem{},
	}
}

// summing gathers a Summary.
type summing struct {
	*Scene
	out     *Summary
	begun   protocol.Time
	width   time.Duration // of a bucket
	kinds   map[string]int64
	work    map[string]*Work
	refused map[string]*Refusals
}

func (b *summing) timeline(end protocol.Time) {
	n := timelineBuckets
	total := end.Sub(b.begun)
	b.width = total/time.Duration(n) + 1
	for i := range n {
		at := b.begun.Add(time.Duration(i) * b.width)
		if at > end {
			break
		}
		b.out.Timeline = append(b.out.Timeline, Bucket{Since: at.String()})
	}
}

func (b *summing) bucket(t protocol.Time) *Bucket {
	i := int(t.Sub(b.begun) / b.width)
	return &b.out.Timeline[min(max(i, 0), len(b.out.Timeline)-1)]
}

// fact counts one fact; kinds that are only counted are not decoded.
func (b *summing) fact(r protocol.Record) error {
	b.kinds[r.Kind]++
	at := b.bucket(r.Time)
	at.Facts++
	switch r.Kind {
	case agent.FactStateUpdated, agent.FactModelAnswered, agent.FactCallAnswered, agent.FactSaid, agenda.FactDeferred:
		return nil
	case agent.FactCallMade:
		return b.call(r)
	}
	fact, err := b.Fact(r)
	if err != nil {
		return err
	}
	b.decoded(r, fact, at)
	return nil
}

func (b *summing) decoded(r protocol.Record, fact protocol.Fact, at *Bucket) {
	machines.Refusals(r.Actor, fact, func(x machines.Refusal) { b.refuse(x, at) })
	switch x := fact.(type) {
	case *agent.TurnEnded:
		b.turn(r, x, at)
	case *agenda.AgentFailed:
		b.agentFailed(r, x)
	case *agenda.ActorFailed:
		b.problem(r, x.Actor, "actor failed", x.Error)
	case *bus.Routed:
		if x.Released == 0 {
			b.out.Published++
			at.Events++
		}
		b.out.Delivered += int64(x.Receivers.Len())
	case *agenda.WaveClosed:
		b.out.WorldVersion = x.World
	}
}

func (b *summing) agent(id string) *Work {
	w := b.work[id]
	if w == nil {
		w = &Work{Agent: id}
		b.work[id] = w
	}
	return w
}

func (b *summing) turn(r protocol.Record, x *agent.TurnEnded, at *Bucket) {
	if r.Actor == sceneActor {
		return
	}
	w := b.agent(r.Actor)
	w.Deliberations++
	w.Calls += x.Calls
	b.out.Deliberations++
	at.Deliberations++
	if machines.TurnFailed(x) {
		w.Failed++
		b.out.Failed++
		b.problem(r, r.Actor, fmt.Sprintf("deliberation %d %s", x.Turn, x.Outcome), x.Error)
	}
}

func (b *summing) agentFailed(r protocol.Record, x *agenda.AgentFailed) {
	who := b.name(x.Agent)
	what := "agent failed"
	if x.WakeAt == 0 {
		what = "agent given up"
	}
	b.agent(who).Failed++
	b.out.Deliberations++
	b.out.Failed++
	b.problem(r, who, what, x.Error)
}

func (b *summing) call(r protocol.Record) error {
	var seen machines.CallSeen
	if err := seen.Read(r.Data); err != nil || !seen.Refused() {
		return err
	}
	fact, err := b.Fact(r)
	if x, ok := fact.(*agent.CallMade); ok {
		b.refuse(machines.Refusal{What: machines.RefusedCall, Reason: string(seen.Status), Count: 1, Example: r.Actor + ": " + seen.Tool + ": " + x.Error}, nil)
	}
	return err
}

func (b *summing) problem(r protocol.Record, who, what, text string) {
	b.out.ProblemCount++
	if len(b.out.Problems) < summaryProblems {
		b.out.Problems = append(b.out.Problems, Problem{Seq: r.Seq, Time: r.Time.String(), Who: who, What: what, Text: shorten(secret.Text(text), 4*maxExample)})
	}
}

func (b *summing) refuse(x machines.Refusal, at *Bucket) {
	key := x.What + " " + x.Reason
	if b.refused[key] == nil {
		b.refused[key] = &Refusals{What: x.What, Reason: x.Reason, Setting: machines.Setting(x.What, x.Reason), Example: shorten(secret.Text(x.Example), maxExample)}
	}
	b.refused[key].Count += x.Count
	if at != nil {
		at.Refused += x.Count
	}
}

func shorten(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}

func (b *summing) finish() *Summary {
	b.out.Kinds = rundir.Counts(b.kinds)
	busiest := top[*Work]{n: summaryAgents, compare: func(a, c *Work) int {
		return cmp.Or(cmp.Compare(c.Deliberations, a.Deliberations), cmp.Compare(c.Calls, a.Calls), strings.Compare(a.Agent, c.Agent))
	}}
	for _, w := range b.work {
		busiest.offer(w)
	}
	b.out.TopAgents = []Work{}
	for _, w := range busiest.list {
		if o, ok := b.agents.Find(w.Agent); ok {
			w.Profile = b.agents.At(o).Profile.Definition.ID
		}
		b.out.TopAgents = append(b.out.TopAgents, *w)
	}
	common := top[*Refusals]{compare: func(a, c *Refusals) int {
		return cmp.Or(cmp.Compare(c.Count, a.Count), strings.Compare(a.What, c.What), strings.Compare(a.Reason, c.Reason))
	}}
	for _, x := range b.refused {
		common.offer(x)
	}
	for _, x := range common.list {
		b.out.Refusals = append(b.out.Refusals, *x)
	}
	b.out.Next = b.next()
	return b.out
}

// next names the views that are worth a look.
func (b *summing) next() (list []string) {
	if len(b.out.Problems) > 0 {
		p := b.out.Problems[0]
		if strings.HasPrefix(p.What, "deliberation") {
			list = append(list, fmt.Sprintf("deliberation seq:%d", p.Seq))
		} else {
			list = append(list, fmt.Sprintf("facts --wave %d", mustWave(b.waves(), p.Seq)))
		}
	}
	for _, x := range b.out.Refusals {
		hint := ""
		switch {
		case x.What == machines.RefusedEvent, x.What == machines.RefusedDelivery && x.Reason != "expired" && x.Reason != "inbox_full":
			hint = "dead-letters --group reason"
		case x.What == machines.RefusedCommand, x.What == machines.RefusedWorld, x.What == machines.RefusedCall:
			hint = "audit --what " + x.What
		}
		if hint != "" && !slices.Contains(list, hint) {
			list = append(list, hint)
		}
	}
	if len(b.out.TopAgents) > 0 {
		list = append(list, "agent "+b.out.TopAgents[0].Agent)
	}
	if b.out.WorldVersion > 1 {
		list = append(list, "world --diff wave:0 end")
	}
	return list
}

func mustWave(w *waves, seq uint64) uint64 {
	n, _ := w.of(seq)
	return n
}
