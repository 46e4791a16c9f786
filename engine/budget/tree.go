package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Names of ledgers; those of profiles and agents have an id behind them.
const (
	OfAll     = "all" // has no limit
	OfRun     = "run"
	OfScene   = "scene"
	OfProfile = "profile:"
	OfAgent   = "agent:"
)

// Kind is the name of a ledger without the id behind it: "profile".
func Kind(ledger string) string {
	kind, _, _ := strings.Cut(ledger, ":")
	return kind
}

// Config of a scene's ledgers. What is nil has no limit.
type Config struct {
	Run, Scene *Limits
	Profiles   map[string]*Limits // by profile id: its agents together
	Agents     map[string]*Limits // by profile id: each of its agents
	Cast       Cast
	// Counts keeps what the scene spends, whatever its limits are: see Tree.Total.
	Counts bool
}

// Empty reports whether there is no ledger.
func (c *Config) Empty() bool {
	return !c.Counts && c.Run == nil && c.Scene == nil && len(c.Profiles) == 0 && len(c.Agents) == 0
}

// Cast is what a tree must know of the agents of a scene.
type Cast interface {
	Name(ordinal uint32) string
	Ordinal(instance string) (ordinal uint32, ok bool)
	Profile(ordinal uint32) string
}

// Kept is the kept state of one ledger.
type Kept struct {
	Name    string
	Day     int64  // of Used: days since 1970, of a daily window
	Used    Amount // in this window
	Total   Amount // in all of them
	Saved   Amount // that recorded answers would have cost
	Refused int64  // requests
	Changed int64  // requests that another model answered
}

type ledger struct {
	Kept
	*Limits
	reserved Amount // by requests that are out
	spent    Amount // by turns under way; Used does not have it yet
}

// Tree is the ledgers of a scene.
type Tree struct {
	cfg             Config
	all, run, scene *ledger
	profiles        map[string]*ledger
	agents          map[uint32]*ledger // those that had something to count
	turns           map[uint32]*turn   // under way
}

// turn is what one turn under way takes of every ledger above its agent.
type turn struct {
	reserved map[int]Amount // by number of the request
	spent    Amount
}

// New makes the ledgers of a scene, unspent.
func New(c Config) *Tree {
	t := &Tree{cfg: c, profiles: map[string]*ledger{}, agents: map[uint32]*ledger{}, turns: map[uint32]*turn{}}
	if c.Counts {
		t.all = newLedger(OfAll, &Limits{})
	}
	t.run, t.scene = newLedger(OfRun, c.Run), newLedger(OfScene, c.Scene)
	for id, l := range c.Profiles {
		t.profiles[id] = newLedger(OfProfile+id, l)
	}
	return t
}

func newLedger(name string, l *Limits) *ledger {
	if l == nil {
		return nil
	}
	return &ledger{Kept: Kept{Name: name}, Limits: l}
}

// path is the ledgers above an agent, the widest first.
func (t *Tree) path(o uint32) (p [5]*ledger) {
	profile := t.cfg.Cast.Profile(o)
	p = [5]*ledger{t.all, t.run, t.scene, t.profiles[profile], t.agents[o]}
	if l := t.cfg.Agents[profile]; l != nil && p[ofAgent] == nil {
		p[ofAgent] = newLedger(OfAgent+t.cfg.Cast.Name(o), l)
		t.agents[o] = p[ofAgent]
	}
	return p
}

// ofAgent is the place of an agent's own ledger in its path.
const ofAgent = 4

// Total is what the scene has spent, of a tree that counts it.
func (t *Tree) Total() (a Amount) {
	if t.all != nil {
		a = t.all.Total
	}
	return a
}

// DayOf numbers the day of a time, in UTC.
func DayOf(at protocol.Time) int64 { return int64(at) / int64(24*time.Hour) }

// used is what counts against the limit at a time.
func (l *ledger) used(at protocol.Time) Amount {
	if l.Daily && DayOf(at) > l.Day {
		return l.spent
	}
	return l.Used.Plus(l.spent)
}

// charge counts what was spent at a time. What belongs to a day that is over counts for
// the day that is.
func (l *ledger) charge(at protocol.Time, a Amount) {
	if day := DayOf(at); l.Daily && day > l.Day {
		l.Day, l.Used = day, Amount{}
	}
	l.Used, l.Total = l.Used.Plus(a), l.Total.Plus(a)
}

// Charge counts what a fact says that a request of an agent took.
func (t *Tree) Charge(o uint32, at protocol.Time, a Amount) {
	for _, l := range t.path(o) {
		if l != nil {
			l.charge(at, a.bounded())
		}
	}
}

// Save counts what a recorded answer would have cost.
func (t *Tree) Save(o uint32, a Amount) {
	for _, l := range t.path(o) {
		if l != nil {
			l.Saved = l.Saved.Plus(a.bounded())
		}
	}
}

// Refuse counts a request that a ledger refused, or for which another model answered. It
// returns what the ledger demands now: one of the actions; "" = there is no such ledger.
func (t *Tree) Refuse(o uint32, ledger string, changed bool) (on string) {
	for _, l := range t.path(o) {
		switch {
		case l == nil || l.Name != ledger:
			continue
		case changed:
			l.Changed++
		default:
			l.Refused++
		}
		on = l.On.Do
	}
	return on
}

// Share is how much of the tightest ledger above an agent is used at a time: 0 to 1.
func (t *Tree) Share(o uint32, at protocol.Time) (share float64) {
	for _, l := range t.path(o) {
		if l != nil {
			share = max(share, l.used(at).share(l.Amount))
		}
	}
	return share
}

// Request asks for a grant.
type Request struct {
	Agent    uint32
	Number   int    // within the turn
	Bound    Amount // the most that it takes
	Unpriced bool   // nobody knows what it costs
	Changed  bool   // another model answers already, because a ledger is exhausted
}

// Refusal is why a request may not leave.
type Refusal struct {
	Ledger string
	On     Action
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// try reserves the bound of a request. waits = it fits when what is reserved has settled.
func (t *Tree) try(r *Request, at protocol.Time) (refused *Refusal, waits bool) {
	path, bound := t.path(r.Agent), r.Bound.bounded()
	for _, l := range path {
		if l == nil {
			continue
		}
		settled := l.used(at).Plus(bound)
		if refused = l.refusal(r, settled, at); refused != nil {
			return refused, false
		}
		waits = waits || !settled.Plus(l.reserved).within(l.Amount)
	}
	if waits {
		return nil, true
	}
	for _, l := range path {
		if l != nil {
			l.reserved = l.reserved.Plus(bound)
		}
	}
	x := t.turns[r.Agent]
	if x == nil {
		x = &turn{reserved: map[int]Amount{}}
		t.turns[r.Agent] = x
	}
	x.reserved[r.Number] = x.reserved[r.Number].Plus(bound)
	return nil, false
}

func (l *ledger) refusal(r *Request, settled Amount, at protocol.Time) *Refusal {
	if l.Nano > 0 && r.Unpriced {
		return &Refusal{l.Name, l.On, fmt.Sprintf("budget of %s: the model has no price, and the budget is in dollars; nothing leaves (add prices, or free, to its endpoint)", l.says())}
	}
	if settled.within(l.Amount) {
		return nil
	}
	window, limit, used, bound := "", l.Amount.texts(), l.used(at).texts(), r.Bound.texts()
	if l.Daily {
		window = " a day"
	}
	var parts []string
	for i, u := range settled.units() {
		if most := l.Amount.units()[i]; most > 0 && u > most {
			parts = append(parts, fmt.Sprintf("%s of %s%s used, and the request may take %s", used[i], limit[i], window, bound[i]))
		}
	}
	return &Refusal{l.Name, l.On, fmt.Sprintf("budget of %s: %s", l.says(), strings.Join(parts, "; "))}
}

// says names the ledger for people: "the run", "agent trader_1".
func (l *ledger) says() string {
	if kind, id, ok := strings.Cut(l.Name, ":"); ok {
		return kind + " " + id
	}
	return "the " + l.Name
}

// settle replaces the reservation of a request by what its answer took.
func (t *Tree) settle(o uint32, number int, took Amount) {
	x := t.turns[o]
	if x == nil {
		return
	}
	bound, ok := x.reserved[number]
	if !ok {
		return
	}
	delete(x.reserved, number)
	took = took.bounded()
	x.spent = x.spent.Plus(took)
	for _, l := range t.path(o) {
		if l != nil {
			l.reserved, l.spent = l.reserved.Minus(bound), l.spent.Plus(took)
		}
	}
}

// Merged forgets what a turn under way took: the ledgers have it, by its facts.
func (t *Tree) Merged(o uint32) {
	x := t.turns[o]
	if x == nil {
		return
	}
	for number := range x.reserved {
		t.settle(o, number, Amount{})
	}
	for _, l := range t.path(o) {
		if l != nil {
			l.spent = l.spent.Minus(x.spent)
		}
	}
	delete(t.turns, o)
}

// Line is a ledger for people.
type Line struct {
	Kept
	Limits
	Reserved Amount
}

// Lines are the ledgers, the widest first; of agents those that had something to count.
func (t *Tree) Lines() (lines []Line) {
	for _, l := range t.sorted() {
		if l == t.all {
			continue
		}
		line := Line{Kept: l.Kept, Limits: *l.Limits, Reserved: l.reserved}
		line.Used = l.Used.Plus(l.spent)
		lines = append(lines, line)
	}
	return lines
}

func (t *Tree) sorted() (list []*ledger) {
	for _, l := range []*ledger{t.all, t.run, t.scene} {
		if l != nil {
			list = append(list, l)
		}
	}
	for _, id := range protocol.SortedKeys(t.profiles) {
		list = append(list, t.profiles[id])
	}
	var ordinals []uint32
	for o := range t.agents {
		ordinals = append(ordinals, o)
	}
	slices.Sort(ordinals)
	for _, o := range ordinals {
		list = append(list, t.agents[o])
	}
	return list
}

// Kept is what a snapshot keeps, in a fixed order.
func (t *Tree) Kept() (kept []Kept) {
	for _, l := range t.sorted() {
		if l.Total != (Amount{}) || l.Saved != (Amount{}) || l.Refused+l.Changed > 0 {
			kept = append(kept, l.Kept)
		}
	}
	return kept
}

// Restore takes the ledgers of a snapshot. Those that have no limit any more are dropped;
// a run that had none before begins with what its scene has.
func (t *Tree) Restore(kept []Kept) {
	for _, k := range kept {
		if k.Name == OfScene && t.run != nil && t.run.Total == (Amount{}) {
			t.run.Kept = k
			t.run.Name = OfRun
		}
		if l := t.named(k.Name); l != nil {
			l.Kept = k
		}
	}
}

func (t *Tree) named(name string) *ledger {
	switch kind, id, _ := strings.Cut(name, ":"); kind + ":" {
	case OfProfile:
		return t.profiles[id]
	case OfAgent:
		if o, ok := t.cfg.Cast.Ordinal(id); ok {
			return t.path(o)[ofAgent]
		}
	case OfAll + ":":
		return t.all
	case OfRun + ":":
		return t.run
	case OfScene + ":":
		return t.scene
	}
	return nil
}
