package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/script"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/tally"
	"tavernsim/scenes/run/rundir"
)

// Bounds of the summary.
const (
	summaryAgents   = 8
	summaryProblems = 8
	timelineBuckets = 50
	maxExample      = 160 // runes of an example
)

// Summary is the view "summary": what a scene's run is and how it went.
type Summary struct {
	Run           string             `json:"run"`
	Created       time.Time          `json:"created"`
	Program       string             `json:"program"`
	Project       string             `json:"project"`
	ProjectHash   string             `json:"project_hash"`
	Scene         string             `json:"scene"`
	Seed          uint64             `json:"seed"`
	Clock         string             `json:"clock"`
	Start         string             `json:"start"`
	End           string             `json:"end"`
	SceneTime     string             `json:"scene_time"`
	Ended         string             `json:"ended"` // why; "" = it can be resumed
	Digest        string             `json:"digest"`
	Waves         uint64             `json:"waves"`
	Facts         uint64             `json:"facts"`
	Bytes         uint64             `json:"bytes"`
	Dropped       uint64             `json:"dropped_facts"` // before the first that is kept
	Agents        int                `json:"agents"`
	Deliberations int64              `json:"deliberations"`
	Failed        int64              `json:"deliberations_failed"`
	Published     int64              `json:"events_published"`
	Delivered     int64              `json:"events_delivered"`
	WorldVersion  int64              `json:"world_version"`
	Kinds         []Count            `json:"kinds"`
	TopAgents     []Work             `json:"top_agents"`
	Models        []history.ModelUse `json:"models"` // at endpoints
	Refusals      []Refusals         `json:"refusals"`
	Problems      []Problem          `json:"problems"` // the first of them
	ProblemCount  int64              `json:"problem_count"`
	Timeline      []Bucket           `json:"timeline"`
	Next          []string           `json:"next"`                  // views that are worth a look now
	Newest        uint64             `json:"newest_from,omitempty"` // first of the facts of which Kinds, TopAgents, Problems, Timeline and all examples are; 0 = of all
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

// Newest is how many facts the summary of a scene that runs reads.
const Newest = machines.NoteEvery

// Summary reads the newest facts; 0 = all. It begins with the tally in the newest note,
// and reads all facts after that. In a journal without a note it reads all facts.
func (s *Scene) Summary(newest uint64) (*Summary, error) {
	if err := s.empty(); err != nil {
		return nil, err
	}
	begun, err := s.begun()
	if err != nil {
		return nil, err
	}
	b := s.summing(begun)
	if end := s.journal.Durable().Last; newest > 0 && newest < end {
		if err := b.skip(end - newest); err != nil {
			return nil, err
		}
	}
	b.timeline(s.journal.Durable().MaxTime)
	if err := s.Scan(persistence.Query{From: b.out.Newest}, b.fact); err != nil {
		return nil, err
	}
	if b.out.Models, err = s.models(b.kinds[agentfact.FactModelAnswered], b.out.Newest); err != nil {
		return nil, err
	}
	if b.out.Ended, err = s.ended(); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

// models reads the answers of endpoints from a fact on, if there are answers and the run
// has endpoints.
func (s *Scene) models(answers int64, from uint64) ([]history.ModelUse, error) {
	if answers == 0 || len(s.run.Manifest.Endpoints) == 0 && s.run.Manifest.Answers == 0 {
		return []history.ModelUse{}, nil
	}
	list, _, err := history.Models(s.journal, from)
	return list, err
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
	out   *Summary
	begun protocol.Time // of the timeline
	width time.Duration // of a bucket
	// tally is of the facts that are read, total of all; counted if the first ones are not read
	tally, total tally.Tally
	noted        uint64 // last fact that total began with
	kinds        map[string]int64
	work         map[string]*Work
	examples     map[string]string // of refusals, as Tally.Refusals names them
}

// Size, Name and Profile implement machines.Cast.
func (b *summing) Size() int               { return b.agents.Len() }
func (b *summing) Name(o uint32) string    { return b.name(o) }
func (b *summing) CountsOwn() bool         { return true }
func (b *summing) Profile(o uint32) string { return b.agents.At(int(o)).Profile.Definition.ID }

func (s *Scene) summing(begun protocol.Time) *summing {
	return &summing{Scene: s, out: s.heading(begun), begun: begun, tally: tally.NewTally(), kinds: map[string]int64{}, work: map[string]*Work{}, examples: map[string]string{}}
}

// skip passes over the facts up to seq, or over those of the newest note that can be read.
func (b *summing) skip(seq uint64) error {
	n, noted, err := b.Scene.noted(b.journal.Durable().Last, func(*machines.Note) bool { return true })
	if err != nil || n == nil {
		return err
	}
	b.total, b.noted = n.Tally, noted
	b.out.Newest = max(min(noted, seq), b.journal.Begin().Last) + 1
	first, err := b.waves().of(b.out.Newest)
	if err != nil {
		return err
	}
	w, err := b.journal.Wave(first)
	b.begun = w.MinTime
	return err
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

// fact counts one fact, and in the bucket of its time what the tally gains by it.
func (b *summing) fact(r protocol.Record) error {
	fact, err := b.read(r)
	if err != nil {
		return err
	}
	b.kinds[r.Kind]++
	at, deliberations, events := b.bucket(r.Time), b.tally.Deliberations, b.tally.EventsRouted
	b.tally.Count(b, r.Actor, r.Kind, fact)
	if b.noted != 0 && r.Seq > b.noted {
		b.total.Count(b, r.Actor, r.Kind, fact)
	}
	at.Facts++
	at.Deliberations += b.tally.Deliberations - deliberations
	at.Events += b.tally.EventsRouted - events
	tally.Refusals(r.Actor, fact, func(x tally.Refusal) {
		b.example(x)
		at.Refused += x.Count
	})
	switch x := fact.(type) {
	case *tally.CallSeen:
		return b.call(r, x)
	case *agentfact.TurnEnded:
		b.turn(r, x)
	case *agenda.AgentFailed:
		b.agentFailed(r, x)
	case *agenda.ActorFailed:
		b.problem(r, x.Actor, "actor failed", x.Error)
	case *script.Failed:
		b.problem(r, r.Actor, "script failed", x.Where+": "+x.Error)
	case *agenda.WaveClosed:
		b.out.WorldVersion = x.World
	}
	return nil
}

// read decodes of a fact what the stage does.
func (b *summing) read(r protocol.Record) (protocol.Fact, error) {
	switch {
	case r.Kind == agentfact.FactCallMade:
		x := &tally.CallSeen{}
		return x, x.Read(r.Data)
	case b.codec.FactType(r.Kind).Bytes:
		return nil, nil
	}
	return b.Fact(r)
}

func (b *summing) agent(id string) *Work {
	w := b.work[id]
	if w == nil {
		w = &Work{Agent: id}
		b.work[id] = w
	}
	return w
}

func (b *summing) turn(r protocol.Record, x *agentfact.TurnEnded) {
	failed := tally.TurnFailed(x)
	if failed {
		b.problem(r, r.Actor, fmt.Sprintf("deliberation %d %s", x.Turn, x.Outcome), x.Error)
	}
	if !tally.Deliberates(b, x.Agent) {
		return
	}
	w := b.agent(b.name(x.Agent))
	w.Deliberations++
	w.Calls += x.Calls
	if failed {
		w.Failed++
	}
}

func (b *summing) agentFailed(r protocol.Record, x *agenda.AgentFailed) {
	who := b.name(x.Agent)
	what := "agent failed"
	if x.WakeAt == 0 {
		what = "agent given up"
	}
	if tally.Deliberates(b, x.Agent) {
		b.agent(who).Failed++
	}
	b.problem(r, who, what, x.Error)
}

// call decodes the first call that was refused for a reason: it is the example.
func (b *summing) call(r protocol.Record, seen *tally.CallSeen) error {
	key := tally.RefusedCall + " " + string(seen.Status)
	if b.tally.Refusals[key] != 1 {
		return nil
	}
	fact, err := b.Fact(r)
	if x, ok := fact.(*agentfact.CallMade); ok {
		b.example(tally.Refusal{What: tally.RefusedCall, Reason: string(seen.Status), Example: r.Actor + ": " + seen.Tool + ": " + x.Error})
	}
	return err
}

func (b *summing) problem(r protocol.Record, who, what, text string) {
	b.out.ProblemCount++
	if len(b.out.Problems) < summaryProblems {
		b.out.Problems = append(b.out.Problems, Problem{Seq: r.Seq, Time: r.Time.String(), Who: who, What: what, Text: shorten(secret.Text(text), 4*maxExample)})
	}
}

// example keeps the first refusal of a kind and reason.
func (b *summing) example(x tally.Refusal) {
	key := x.What + " " + x.Reason
	if _, known := b.examples[key]; !known {
		b.examples[key] = shorten(secret.Text(x.Example), maxExample)
	}
}

func shorten(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}

func (b *summing) finish() *Summary {
	t := &b.tally
	if b.noted != 0 {
		t = &b.total
	}
	b.out.Deliberations, b.out.Failed, b.out.Published, b.out.Delivered = t.Deliberations, t.Failed, t.EventsRouted, t.EventsDelivered
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
	for _, c := range rundir.Counts(t.Refusals) {
		what, reason, _ := strings.Cut(c.Name, " ")
		b.out.Refusals = append(b.out.Refusals, Refusals{What: what, Reason: reason, Count: c.Count, Setting: tally.Setting(what, reason), Example: b.examples[c.Name]})
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
		case x.What == tally.RefusedEvent, x.What == tally.RefusedDelivery && x.Reason != "expired" && x.Reason != "inbox_full":
			hint = "dead-letters --group reason"
		case x.What == tally.RefusedCommand, x.What == tally.RefusedWorld, x.What == tally.RefusedCall:
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
