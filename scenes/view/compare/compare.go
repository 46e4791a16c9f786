// Package compare finds where two runs of a scene diverge, and the differences
// between their ends.
//
// [Scenes] takes a scene of each run, opened by package inspect. It finds the first
// different wave by bisection, because digests chain over waves. If the runs differ
// from their first fact on, which names their seeds, it reads waves one by one until
// another fact differs.
package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// maxDiffAgents bounds the agents that are listed; the others are counted.
const maxDiffAgents = 100

// Comparison is what "simd diff" finds between a scene of two runs.
type Comparison struct {
	Scene  string      `json:"scene"`
	Equal  bool        `json:"equal"` // every fact is the same
	From   uint64      `json:"from"`  // wave after which both are kept; 0 = the beginning
	A      Side        `json:"a"`
	B      Side        `json:"b"`
	Inputs []InputDiff `json:"inputs"` // of the manifests
	// Before: they differ in waves that one of them dropped already; what they
	// have in common from From on may be equal fact for fact.
	Before     bool        `json:"differ_before"`
	Divergence *Divergence `json:"divergence"` // null: there is none
	// The first difference behind scene.started, where that differs: runs with
	// another seed differ there in any case.
	Behaviour  *Divergence          `json:"behaviour,omitempty"`
	World      []inspect.Difference `json:"world"`      // a: before, b: after; at the ends
	WorldMore  int                  `json:"world_more"` // beyond those that are listed
	Agents     []AgentDiff          `json:"agents"`
	AgentsMore int                  `json:"agents_more"`
}

// Side is one of the two runs.
type Side struct {
	Dir     string `json:"dir"`
	Run     string `json:"run"`
	Waves   uint64 `json:"waves"`
	Facts   uint64 `json:"facts"`
	From    uint64 `json:"from"` // wave after which its kept facts begin; 0 = all are kept
	Digest  string `json:"digest"`
	Time    string `json:"time"`
	Ended   string `json:"ended"`
	Version int64  `json:"world_version"`

	Models []history.ModelUse `json:"models"` // what endpoints gave, of the facts that are kept
}

// InputDiff is something that the two manifests say differently.
type InputDiff struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Divergence is the first fact that differs. Of a run that had ended by then the
// fact is null.
type Divergence struct {
	Wave uint64            `json:"wave"`
	Seq  uint64            `json:"seq"`
	A    *inspect.FactLine `json:"a"`
	B    *inspect.FactLine `json:"b"`
}

// AgentDiff is how an agent differs at the ends of two runs.
type AgentDiff struct {
	Agent   string                `json:"agent"`
	Only    string                `json:"only,omitempty"` // a or b: the other has no such agent
	Turns   *[2]int64             `json:"turns,omitempty"`
	Goals   *[2][]factjson.Object `json:"goals,omitempty"`
	Waiting *[2]int               `json:"inbox,omitempty"`
	State   *[2]string            `json:"state,omitempty"`
	Private []inspect.Difference  `json:"private_state,omitempty"`
	More    int                   `json:"more,omitempty"` // places beyond those that are listed
}

// Scenes compares a scene of two runs: their waves by halving, then the states
// at their ends.
func Scenes(a, b *inspect.Scene) (*Comparison, error) {
	if a.ID != b.ID {
		return nil, protocol.Errorf(protocol.KindInvalid, "scene %s and scene %s cannot be compared: a digest holds the id of its scene", a.ID, b.ID)
	}
	c := &comparing{a: a, b: b, out: &Comparison{Scene: a.ID, Inputs: manifestDiff(a, b), World: []inspect.Difference{}, Agents: []AgentDiff{}}}
	var err error
	if c.out.A, err = sideOf(a); err != nil {
		return nil, err
	}
	if c.out.B, err = sideOf(b); err != nil {
		return nil, err
	}
	if err := c.waves(); err != nil {
		return nil, err
	}
	c.out.Equal = c.out.Divergence == nil && !c.out.Before
	return c.out, c.states()
}

type comparing struct {
	a, b *inspect.Scene
	out  *Comparison
}

func sideOf(s *inspect.Scene) (Side, error) {
	w := s.Journal().Durable()
	ended, err := history.End(s.Journal())
	models := []history.ModelUse{}
	if m := s.Manifest(); err == nil && len(m.Endpoints)+m.Answers > 0 {
		models, _, err = history.Models(s.Journal(), 0)
	}
	return Side{Dir: s.Dir(), Run: s.Manifest().Run, Waves: w.Number, Facts: w.Last, From: s.Journal().Begin().Number, Digest: w.Digest.String(), Time: w.MaxTime.String(), Ended: ended, Models: models}, err
}

// waves finds the first wave that differs. Digests chain over waves: where one
// is equal, all before it are.
func (c *comparing) waves() error {
	low := max(c.a.Journal().Begin().Number, c.b.Journal().Begin().Number)
	end := min(c.a.Journal().Durable().Number, c.b.Journal().Durable().Number)
	if low > end {
		return protocol.Errorf(protocol.KindNotFound, "scene %s: the two runs have no wave in common: one keeps waves from %d on, the other ends with %d", c.a.ID, low+1, end)
	}
	c.out.From = low
	first, last := low, end // the last equal one is in [first, last]
	if same, err := c.same(low); err != nil || !same {
		c.out.Before = !same
		if err == nil {
			err = c.divergence(low)
		}
		return err
	}
	for first < last {
		mid := first + (last-first+1)/2
		same, err := c.same(mid)
		if err != nil {
			return err
		}
		if same {
			first = mid
		} else {
			last = mid - 1
		}
	}
	if first == c.a.Journal().Durable().Number && first == c.b.Journal().Durable().Number {
		return nil
	}
	return c.divergence(first)
}

func (c *comparing) same(wave uint64) (bool, error) {
	x, err := c.a.Journal().Wave(wave)
	if err != nil {
		return false, err
	}
	y, err := c.b.Journal().Wave(wave)
	return err == nil && x.Digest == y.Digest, err
}

// divergence finds the first fact after an equal wave that differs.
func (c *comparing) divergence(equal uint64) error {
	x, err := c.facts(c.a, equal+1)
	if err != nil {
		return err
	}
	y, err := c.facts(c.b, equal+1)
	if err != nil {
		return err
	}
	for i := range max(len(x), len(y)) {
		if i < len(x) && i < len(y) && equalRecords(x[i], y[i]) {
			continue
		}
		if c.out.Divergence, err = c.between(equal+1, recordAt(x, i), recordAt(y, i)); err != nil || !c.startsDiffer() {
			return err
		}
		return c.behaviour()
	}
	return nil
}

// startsDiffer: the runs say from the start that they are made of different
// things.
func (c *comparing) startsDiffer() bool {
	d := c.out.Divergence
	return d.A != nil && d.B != nil && d.A.Kind == agenda.FactStarted && d.B.Kind == agenda.FactStarted
}

// behaviour finds the first fact behind scene.started that differs, wave by
// wave: the digests cannot tell.
func (c *comparing) behaviour() (err error) {
	end := max(c.a.Journal().Durable().Number, c.b.Journal().Durable().Number)
	for wave := uint64(1); wave <= end; wave++ {
		x, err := c.facts(c.a, wave)
		if err != nil {
			return err
		}
		y, err := c.facts(c.b, wave)
		if err != nil {
			return err
		}
		for i := range max(len(x), len(y)) {
			both := i < len(x) && i < len(y)
			if both && (equalRecords(x[i], y[i]) || x[i].Seq == 1 && y[i].Seq == 1) {
				continue
			}
			c.out.Behaviour, err = c.between(wave, recordAt(x, i), recordAt(y, i))
			return err
		}
	}
	return nil
}

// facts are those of one wave; none when the run ended before it.
func (c *comparing) facts(s *inspect.Scene, wave uint64) (list []protocol.Record, err error) {
	if wave > s.Journal().Durable().Number {
		return nil, nil
	}
	w, err := s.Journal().Wave(wave)
	if err != nil {
		return nil, err
	}
	err = s.Journal().Scan(persistence.Query{From: w.First, To: w.Last}, func(r protocol.Record) error {
		list = append(list, r)
		return nil
	})
	return list, err
}

func equalRecords(a, b protocol.Record) bool {
	return a.Seq == b.Seq && a.Time == b.Time && a.Actor == b.Actor && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
}

func recordAt(list []protocol.Record, i int) *protocol.Record {
	if i < len(list) {
		return &list[i]
	}
	return nil
}

// between shows two facts side by side.
func (c *comparing) between(wave uint64, x, y *protocol.Record) (*Divergence, error) {
	d := &Divergence{Wave: wave}
	var err error
	if d.A, err = c.line(c.a, x); err != nil {
		return nil, err
	}
	if d.B, err = c.line(c.b, y); err != nil {
		return nil, err
	}
	if d.A != nil {
		d.Seq = d.A.Seq
	} else if d.B != nil {
		d.Seq = d.B.Seq
	}
	return d, nil
}

func (c *comparing) line(s *inspect.Scene, r *protocol.Record) (*inspect.FactLine, error) {
	if r == nil {
		return nil, nil
	}
	l, err := s.FactLine(*r)
	return &l, err
}

// states compares what the runs led to.
func (c *comparing) states() error {
	x, err := c.a.Fold(c.a.Journal().Durable().Number)
	if err != nil {
		return err
	}
	c.out.A.Version = x.World().Version()
	if c.out.Equal {
		c.out.B.Version = c.out.A.Version
		return nil
	}
	y, err := c.b.Fold(c.b.Journal().Durable().Number)
	if err != nil {
		return err
	}
	c.out.B.Version = y.World().Version()
	c.out.World, c.out.WorldMore = inspect.Differences(x.World(), y.World())
	c.agents(x, y)
	return nil
}

func (c *comparing) agents(x, y *machines.State) {
	for o := range x.Size() {
		id := x.Name(uint32(o))
		other, ok := y.Ordinal(id)
		if !ok {
			c.agent(AgentDiff{Agent: id, Only: "a"})
			continue
		}
		if d, differs := agentDiff(x, uint32(o), y, other); differs {
			c.agent(d)
		}
	}
	for o := range y.Size() {
		if id := y.Name(uint32(o)); !known(x, id) {
			c.agent(AgentDiff{Agent: id, Only: "b"})
		}
	}
}

func known(s *machines.State, id string) bool {
	_, ok := s.Ordinal(id)
	return ok
}

func (c *comparing) agent(d AgentDiff) {
	if len(c.out.Agents) == maxDiffAgents {
		c.out.AgentsMore++
		return
	}
	c.out.Agents = append(c.out.Agents, d)
}

func agentDiff(x *machines.State, o uint32, y *machines.State, p uint32) (d AgentDiff, differs bool) {
	a, b := x.Agents[o], y.Agents[p]
	d.Agent = a.ID.Instance
	if a.State.Turn != b.State.Turn {
		d.Turns = &[2]int64{int64(a.State.Turn), int64(b.State.Turn)}
	}
	if n, m := a.State.Waiting(), b.State.Waiting(); n != m {
		d.Waiting = &[2]int{n, m}
	}
	at, bt := x.Agenda.Standing(o), y.Agenda.Standing(p)
	if s, t := at.State(), bt.State(); s != t {
		d.State = &[2]string{s, t}
	}
	goals := [2][]factjson.Object{{}, {}}
	for _, g := range a.State.Goals {
		goals[0] = append(goals[0], factjson.Goal(g, a.Def.Told))
	}
	for _, g := range b.State.Goals {
		goals[1] = append(goals[1], factjson.Goal(g, b.Def.Told))
	}
	if !factjson.Same(goals[0], goals[1]) {
		d.Goals = &goals
	}
	one, err := world.FromValue(inspect.Private(a), 1)
	two, err2 := world.FromValue(inspect.Private(b), 1)
	if err == nil && err2 == nil {
		d.Private, d.More = inspect.Differences(one, two)
	}
	return d, d.Turns != nil || d.Waiting != nil || d.State != nil || d.Goals != nil || len(d.Private) > 0
}

// manifestDiff compares what the runs are made of.
func manifestDiff(a, b *inspect.Scene) []InputDiff {
	m, n := a.Manifest(), b.Manifest()
	list := []InputDiff{}
	add := func(what string, x, y any) {
		if s, t := fmt.Sprint(x), fmt.Sprint(y); s != t {
			list = append(list, InputDiff{what, s, t})
		}
	}
	add("seed", m.Seeds[a.ID], n.Seeds[b.ID])
	add("clock", m.Clocks[a.ID], n.Clocks[b.ID])
	add("agents", m.Agents, n.Agents)
	add("for", m.For.Std(), n.For.Std())
	add("ticks", m.Ticks, n.Ticks)
	add("until", m.Until, n.Until)
	add("middleware", m.Middleware, n.Middleware)
	add("program", m.Program, n.Program)
	add("go", m.Go, n.Go)
	add("project", m.Project, n.Project)
	return append(list, filesDiff(a, b)...)
}

func filesDiff(a, b *inspect.Scene) (list []InputDiff) {
	hashes := [2]map[string]string{{}, {}}
	var names []string
	for i, s := range []*inspect.Scene{a, b} {
		for _, f := range s.Manifest().Files {
			hashes[i][f.Path] = f.SHA256
			names = append(names, f.Path)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, y := hashes[0][name], hashes[1][name]
		if x != y {
			list = append(list, InputDiff{"file " + name, shortHash(x), shortHash(y)})
		}
	}
	return list
}

func shortHash(h string) string {
	if h == "" {
		return "missing"
	}
	return "sha256:" + strings.ToLower(h[:min(12, len(h))])
}
