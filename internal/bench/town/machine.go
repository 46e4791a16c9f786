package town

import (
	"slices"

	"tavernsim/engine/schedule"
	"tavernsim/protocol"
)

// ahead drives the machine that the engine drives: as its shadows would, with what the
// trace says in the place of answers and moves.
type ahead struct {
	*clock
	state   *schedule.State
	slowest slowest
	facts   int // steps that are committed
	known   grid
	views   [][]view // of an agent's turns ahead, by step modulo their number
	err     error
}

// view is whom a turn perceived where they are no more, or not yet known to be.
type view struct {
	step int
	late []int32
}

// window is how many turns an agent may be ahead: as in the engine, if it does not say
// otherwise.
const window = 240

func newAhead(c *clock, mode schedule.Mode) (*ahead, error) {
	t := c.trace
	class := schedule.Class{Space: &schedule.Space{Radius: t.Radius, Reach: t.Radius, Speed: t.Speed},
		Perceives: []string{}, Writes: []string{}, Hears: []string{}, Publishes: []schedule.Publish{}, Consults: []string{}, Edits: []string{}}
	agents := make([]schedule.Agent, t.Agents)
	p := &ahead{clock: c, slowest: newSlowest(t), known: newGrid(t), views: make([][]view, t.Agents)}
	for a := range agents {
		agents[a].Place = t.Place(0, a)
		p.known.put(a, agents[a].Place)
		p.views[a] = make([]view, window+1)
	}
	var err error
	p.state, err = schedule.New(schedule.Config{Mode: mode, Classes: []schedule.Class{class}, Window: window, Width: t.Width, Height: t.Height}, agents)
	return p, err
}

func (p *ahead) start() { p.pump() }

// pump begins what may begin.
func (p *ahead) pump() {
	for {
		t, ok := p.state.Next()
		switch {
		case !ok:
			return
		case t.Ask:
			p.ask(int(t.Agent))
		default:
			p.perceive(int(t.Agent), int(t.At))
			p.begin(int(t.Agent), int(t.At))
		}
	}
}

// perceive notes whom a turn sees who has not come to its step.
func (p *ahead) perceive(a, step int) {
	v := &p.views[a][step%len(p.views[a])]
	v.step, v.late = step, v.late[:0]
	p.known.around(p.trace.Place(step, a), p.trace.Radius, func(b int) bool {
		if b != a && p.step(b) < step {
			v.late = append(v.late, int32(b))
		}
		return true
	})
}

func (p *ahead) step(a int) int {
	return int(min(p.state.Look(uint32(a)).Next, schedule.Tick(p.trace.Steps)))
}

func (p *ahead) mayAsk(a int) bool {
	ok, err := p.state.Ask(uint32(a))
	p.fail(err)
	return ok
}

func (p *ahead) rank(a int) schedule.Rank { return p.state.Rank(uint32(a)) }

func (p *ahead) end(a, step int) schedule.End {
	e := schedule.End{Next: schedule.Tick(step + 1), Place: p.trace.Place(step+1, a)}
	if step+1 == p.trace.Steps {
		e.Next = schedule.Never
	}
	return e
}

func (p *ahead) ended(a int) {
	step := p.turns[a].step
	p.turns[a].step = -1
	p.fail(p.state.Ended(uint32(a), p.end(a, step)))
	p.known.put(a, p.trace.Place(step+1, a))
	p.slowest.move(step)
	p.check()
	p.commit()
	p.pump()
}

// check answers which of the turns ahead saw something else than they would see now.
func (p *ahead) check() {
	for c, ok := p.state.Check(); ok; c, ok = p.state.Check() {
		v := &p.views[c.Agent][int(c.At)%len(p.views[c.Agent])]
		saw := v.step == int(c.At) && slices.Contains(v.late, int32(c.By))
		back, undone, err := p.state.Checked(c, !saw && !p.trace.sees(int(c.At), int(c.Agent), int(c.By)))
		p.fail(err)
		if undone {
			p.undo(back)
		}
	}
}

func (p *ahead) undo(back schedule.Rollback) {
	a := int(back.Agent)
	if back.Ran {
		p.cancel(a)
	}
	for s := range back.Turns {
		p.slowest.back(int(back.To) + s)
	}
	p.known.put(a, back.Place)
}

// back counts that the turn of a step was undone.
func (s *slowest) back(step int) {
	s.count[step+1]--
	s.count[step]++
	s.step = min(s.step, int32(step))
}

// commit is the committed run: it has a step when all have ended it.
func (p *ahead) commit() {
	for ; p.facts < int(p.slowest.step); p.facts++ {
		for a := range p.trace.Agents {
			p.fail(p.state.Committed(uint32(a), schedule.Tick(p.facts), p.end(a, p.facts)))
		}
	}
}

// fail keeps the first error of the machine: the driver and it differ about what runs.
func (p *ahead) fail(err error) {
	if err != nil && p.err == nil {
		p.err = err
	}
}

// whole reports an error of the machine, or that not all turns became facts.
func (p *ahead) whole() error {
	if p.err == nil && p.facts != p.trace.Steps {
		return protocol.Errorf(protocol.KindInternal, "town: %d of %d steps have ended, and nothing runs", p.facts, p.trace.Steps)
	}
	return p.err
}
