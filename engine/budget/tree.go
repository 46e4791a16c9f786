package budget

import (
	"fmt"
	"maps"
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

	OfEndpoint = "endpoint:" // what the scene takes of an endpoint
)

// Kind is the name of a ledger without the id behind it: "profile".
func Kind(ledger string) string {
	kind, _, _ := strings.Cut(ledger, ":")
	return kind
}

// Config of a scene's ledgers. What is nil has no limit.
type Config struct {
	Run, Scene *Limits
	Tools      *Limits            // of the scene, beside those of models
	Profiles   map[string]*Limits // by profile id: its agents together
	Agents     map[string]*Limits // by profile id: each of its agents
	Endpoints  map[string]*Limits // by name
	Cast       Cast
	// Counts keeps what the scene spends, whatever its limits are: see Tree.Total.
	Counts bool
}

// Empty reports whether there is no ledger.
func (c *Config) Empty() bool {
	return !c.Counts && c.Run == nil && c.Scene == nil && c.Tools == nil && len(c.Profiles) == 0 && len(c.Agents) == 0 && len(c.Endpoints) == 0
}

// HasModels reports whether models have a budget, or what they take is counted.
func (c *Config) HasModels() bool {
	return c.Counts || c.Run != nil || c.Scene != nil || len(c.Endpoints)+len(c.Profiles)+len(c.Agents) > 0
}

// Ends reports whether an exhausted budget ends or pauses the scene.
func (c *Config) Ends() bool {
	if c == nil {
		return false
	}
	ends := func(l *Limits) bool { return l != nil && (l.On.Do == End || l.On.Do == Pause) }
	for _, m := range []map[string]*Limits{c.Profiles, c.Agents, c.Endpoints} {
		for _, l := range m {
			if ends(l) {
				return true
			}
		}
	}
	return ends(c.Run) || ends(c.Scene) || ends(c.Tools)
}

// Cast is what a tree must know of the agents of a scene.
type Cast interface {
	Name(ordinal uint32) string
	Ordinal(instance string) (ordinal uint32, ok bool)
	Profile(ordinal uint32) string
}

type ledger struct {
	Kept
	*Limits
	reserved Amount  // by requests that are out
	spent    Amount  // by turns under way; Used does not have it yet
	opened   float64 // share of the limit that was used when the wave began ([Rounds.Open])
}

// Tree is the ledgers of a scene.
type Tree struct {
	cfg             Config
	all, run, scene *ledger
	tools           *ledger
	offered         bool // what is left of tools: see [Tree.OfferTasks]
	endpoints       map[string]*ledger
	profiles        map[string]*ledger
	agents          map[uint32]*ledger // those that had something to count
	turns           map[uint32]*turn   // under way
	expected        map[uint32][]Loss  // what the next turns take that agents abandon: see [Tree.Expect]
}

// turn is what one turn under way takes of ledgers.
type turn struct {
	reserved map[int][]hold // by number of the request
	kept     map[int]Amount // of these, what answers took before a kill: see [Tree.Keep]
	spent    map[*ledger]Amount
}

// hold is what a request has reserved in a ledger.
type hold struct {
	*ledger
	most Amount
}

// New makes the ledgers of a scene, unspent.
func New(c Config) *Tree {
	t := &Tree{cfg: c, endpoints: map[string]*ledger{}, profiles: map[string]*ledger{}, agents: map[uint32]*ledger{}, turns: map[uint32]*turn{}}
	if c.Counts {
		t.all = newLedger(OfAll, &Limits{})
	}
	t.run, t.scene, t.tools = newLedger(OfRun, c.Run), newLedger(OfScene, c.Scene), newLedger(OfTools, c.Tools)
	for name, l := range c.Endpoints {
		t.endpoints[name] = newLedger(OfEndpoint+name, l)
	}
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

// over calls yield for the ledgers that a request of an agent to an endpoint counts in; "" =
// to none.
func (t *Tree) over(o uint32, endpoint string, yield func(*ledger)) {
	for _, l := range t.path(o) {
		if l != nil {
			yield(l)
		}
	}
	if l := t.endpoints[endpoint]; l != nil {
		yield(l)
	}
}

// above calls yield for the ledgers that a request counts in, by its number.
func (t *Tree) above(o uint32, number int, endpoint string, yield func(*ledger)) {
	switch {
	case number < ToolNumbers:
		t.over(o, endpoint, yield)
	case t.tools != nil:
		yield(t.tools)
	}
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
	return l.charged(at).Plus(l.spent)
}

// charged is what facts have charged against the limit at a time.
func (l *ledger) charged(at protocol.Time) Amount {
	if l.Daily && DayOf(at) > l.Day {
		return Amount{}
	}
	return l.Used
}

// charge counts what was spent at a time. What belongs to a day that is over counts for
// the day that is.
func (l *ledger) charge(at protocol.Time, a Amount) {
	if day := DayOf(at); l.Daily && day > l.Day {
		l.Day, l.Used = day, Amount{}
	}
	l.Used, l.Total = l.Used.Plus(a), l.Total.Plus(a)
}

// Charge counts what a fact says that a request of an agent to an endpoint took; "" = to
// none.
func (t *Tree) Charge(o uint32, endpoint string, at protocol.Time, a Amount) {
	t.over(o, endpoint, func(l *ledger) { l.charge(at, a.bounded()) })
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
func (t *Tree) Refuse(o uint32, name string, changed bool) (on string) {
	endpoint := strings.TrimPrefix(name, OfEndpoint)
	t.over(o, endpoint, func(l *ledger) {
		switch {
		case l.Name != name:
			return
		case changed:
			l.Changed++
		default:
			l.Refused++
		}
		on = l.On.Do
	})
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
	Paid     bool   // it was granted before a kill, or a failure, and its answer is kept: see [Tree.Keep]
	Parts    []Part // the endpoints that it may come to
	Tool     bool   // it is a call of a tool, and counts in the budget of these alone
}

// Part is the most that a request takes of one endpoint.
type Part struct {
	Endpoint string
	Bound    Amount
	Unpriced bool
	First    bool // it is asked first; others only after failures
}

// Refusal is why a request may not leave.
type Refusal struct {
	Ledger string
	On     Action
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// try reserves the bound of a request. waits = it fits when what is reserved has settled. An
// endpoint that has no room for it is barred; if that is the first, the request is refused.
func (t *Tree) try(r *Request, at protocol.Time) (barred []string, refused *Refusal, waits bool) {
	fit := t.fit
	switch {
	case r.Paid || r.Tool && t.tools == nil:
		return nil, nil, false
	case r.Tool && t.offered:
		return nil, nil, true
	case r.Tool:
		fit = t.fitTool
	}
	t.unkeep(r.Agent, r.Number)
	holds, barred, refused, waits := fit(r, at)
	if waits && t.unkeep(r.Agent, 0) {
		holds, barred, refused, waits = fit(r, at)
	}
	if refused != nil || waits {
		return nil, refused, waits
	}
	x := t.turn(r.Agent)
	for _, h := range holds {
		h.reserved = h.reserved.Plus(h.most)
	}
	x.reserved[r.Number] = append(x.reserved[r.Number], holds...)
	return barred, nil, false
}

// fit is what a request has to reserve, if it is not refused and does not wait.
func (t *Tree) fit(r *Request, at protocol.Time) (holds []hold, barred []string, refused *Refusal, waits bool) {
	fits := func(l *ledger, bound Amount, unpriced bool) *Refusal {
		bound = bound.bounded()
		settled := l.used(at).Plus(bound)
		if refused := l.refusal(settled, bound, unpriced, at); refused != nil {
			return refused
		}
		waits = waits || !settled.Plus(l.reserved).Within(l.Amount)
		holds = append(holds, hold{l, bound})
		return nil
	}
	for _, l := range t.path(r.Agent) {
		if l == nil {
			continue
		}
		if refused = fits(l, r.Bound, r.Unpriced); refused != nil {
			return nil, nil, refused, false
		}
	}
	for _, p := range r.Parts {
		l := t.endpoints[p.Endpoint]
		if l == nil {
			continue
		}
		switch refused = fits(l, p.Bound, p.Unpriced); {
		case refused != nil && p.First:
			return nil, nil, refused, false
		case refused != nil:
			barred = append(barred, p.Endpoint)
		}
	}
	return holds, barred, nil, waits
}

// unkeep counts what kept answers of a turn took as spent, not as out: the turn asks something else in the place of the
// one with a number, or waits for them itself. 0 = of all; false = there are none.
func (t *Tree) unkeep(o uint32, number int) (some bool) {
	x := t.turns[o]
	if x == nil {
		return false
	}
	maps.DeleteFunc(x.kept, func(n int, took Amount) bool {
		if number != 0 && n != number {
			return false
		}
		for _, h := range x.reserved[n] {
			h.reserved = h.reserved.Minus(h.most)
			x.spend(h.ledger, took)
		}
		delete(x.reserved, n)
		some = true
		return true
	})
	return some
}

// takes has a kept answer that its turn asks for out as others are: it comes, and is no longer spent in place of another. whole = from
// now on a request with fallbacks reserves the bound of all of them, as it did when it was granted: the log has the part of one endpoint.
func (t *Tree) takes(r *Request, at protocol.Time, whole bool) {
	x := t.turns[r.Agent]
	if x == nil {
		return
	}
	if _, ok := x.kept[r.Number]; !ok {
		return
	}
	delete(x.kept, r.Number)
	if !whole || len(r.Parts) < 2 {
		return
	}
	if holds, _, refused, _ := t.fit(r, at); refused == nil {
		for _, h := range x.reserved[r.Number] {
			h.reserved = h.reserved.Minus(h.most)
		}
		for _, h := range holds {
			h.reserved = h.reserved.Plus(h.most)
		}
		x.reserved[r.Number] = holds
	}
}

func (t *Tree) turn(o uint32) *turn {
	x := t.turns[o]
	if x == nil {
		x = &turn{reserved: map[int][]hold{}, spent: map[*ledger]Amount{}}
		t.turns[o] = x
	}
	return x
}

func (l *ledger) refusal(settled, most Amount, unpriced bool, at protocol.Time) *Refusal {
	if l.Nano > 0 && unpriced {
		return &Refusal{l.Name, l.On, fmt.Sprintf("budget of %s: the model has no price, and the budget is in dollars; nothing leaves (add prices, or free, to its endpoint; a plugin that answers in its place has a price in overrides)", l.says())}
	}
	if settled.Within(l.Amount) {
		return nil
	}
	window, limit, used, bound := "", l.Amount.texts(), l.used(at).texts(), most.texts()
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

// settle replaces the reservation of a request by what its answer took of an endpoint; "" =
// of none.
func (t *Tree) settle(o uint32, number int, endpoint string, took Amount) {
	x := t.turns[o]
	if x == nil {
		return
	}
	holds, ok := x.reserved[number]
	if !ok {
		return
	}
	for _, h := range holds {
		h.reserved = h.reserved.Minus(h.most)
	}
	delete(x.reserved, number)
	t.spend(o, number, endpoint, took)
}

// spend counts what a turn under way took, until its facts do.
func (t *Tree) spend(o uint32, number int, endpoint string, took Amount) {
	x := t.turn(o)
	took = took.bounded()
	t.above(o, number, endpoint, func(l *ledger) { x.spend(l, took) })
}

// Lose counts what a request of an agent's open turn took before a kill, or a failure, until the facts of
// that turn do.
func (t *Tree) Lose(o uint32, number int, endpoint string, took Amount) {
	t.spend(o, number, endpoint, took)
}

// Keep reserves a request of an agent's open turn, which took this before a kill, or a failure; its answer is kept. Until
// the turn takes that, the request counts as it did before: as one that is out, by the most that it could take. Else others
// would be granted what waited then, and the turn itself be refused.
//
// By rounds the caller keeps the answers of a turn directly before [Rounds.Woken] begins it, and until then has [Tree.Lose] count
// what they took: what waits for a reservation waits for the turn that has it, and a turn that is not awake may be woken only
// when one that waits has ended.
func (t *Tree) Keep(o uint32, number int, endpoint string, most, took Amount) {
	x := t.turn(o)
	most = most.bounded()
	if x.kept == nil { // few turns have any
		x.kept = map[int]Amount{}
	}
	x.kept[number] = took.bounded()
	t.above(o, number, endpoint, func(l *ledger) {
		l.reserved = l.reserved.Plus(most)
		x.reserved[number] = append(x.reserved[number], hold{l, most})
	})
}

// Hold reserves what a request takes that is out in another process: for who looks at a run.
func (t *Tree) Hold(o uint32, number int, endpoint string, most Amount) {
	t.above(o, number, endpoint, func(l *ledger) { l.reserved = l.reserved.Plus(most.bounded()) })
}

// Merged forgets what a turn under way took: the ledgers have it, by its facts.
func (t *Tree) Merged(o uint32) {
	x := t.turns[o]
	if x == nil {
		return
	}
	for number := range x.reserved {
		t.settle(o, number, "", Amount{})
	}
	for l, spent := range x.spent {
		l.spent = l.spent.Minus(spent)
	}
	delete(t.turns, o)
}
