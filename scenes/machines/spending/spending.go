// Package spending keeps the budgets of a scene for its stage: the spending that facts record, and which
// requests of the turns in flight may leave.
//
// You hold a [Book], which [New] makes of the scene's budgets, give it each fact that costs something and each
// step of a turn, and send the [Book.Grants]. A scene without budgets has a nil Book: it counts nothing,
// and no request waits.
//
// The ledgers, and the consequence of an exhausted one, are durable state; the requests of turns in flight are volatile.
package spending

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// Book is what a scene has spent and may spend.
type Book struct {
	rounds    *budget.Rounds
	cast      budget.Cast
	exhausted string                     // what a ledger that refused a request demands: budget.End, budget.Pause, or nothing
	byGrant   bool                       // the open wave goes by rounds
	resumed   map[uint32]func(over bool) // virtual: counts what an agent's open turn took; here until that is woken again, or is over
	at        protocol.Time              // of the wave whose turns are woken
	last      *WakeBudget                // that a turn got; others like it share it
}

// WakeBudget is what a turn knows of the budgets above its agent.
type WakeBudget struct {
	Used    float64 // of the tightest, when the wave began: 0 to 1
	ByGrant bool    // each of its requests to a model waits for a grant
	Models  bool    // models have a budget
	Tools   bool    // tools have one: then their calls wait, too
}

// New makes the book of a scene that has spent nothing; nil = it has no budgets. firstCome grants a request
// when it comes, as on the realtime clock.
func New(c *budget.Config, firstCome bool) *Book {
	if c == nil {
		return nil
	}
	return &Book{rounds: budget.NewRounds(budget.New(*c), firstCome), cast: c.Cast}
}

// Lines are the ledgers as people read them; nil = there are none.
func (b *Book) Lines() []budget.Line {
	if b == nil {
		return nil
	}
	return b.rounds.Lines()
}

// Wide are those of run, scene and endpoints.
func (b *Book) Wide(at protocol.Time) []budget.Line {
	if b == nil {
		return nil
	}
	return b.rounds.Wide(at)
}

// Kept is the kept state, for a snapshot.
func (b *Book) Kept() (ledgers []budget.Kept, exhausted string) {
	if b == nil {
		return nil, ""
	}
	return b.rounds.Kept(), b.exhausted
}

// Restore takes the kept state of a snapshot.
func (b *Book) Restore(ledgers []budget.Kept, exhausted string) {
	if b != nil {
		b.rounds.Restore(ledgers)
		b.exhausted = exhausted
	}
}

// Dollars reports whether models have cost so many dollars; 0 = never.
func (b *Book) Dollars(most float64) bool {
	return b != nil && most > 0 && float64(b.rounds.Total().Nano) >= most*budget.Dollar
}

// Demands reports whether an exhausted budget demands budget.End or budget.Pause.
func (b *Book) Demands(what string) bool { return b != nil && b.exhausted == what }

// Heeded: what an exhausted budget demands is done.
func (b *Book) Heeded() {
	if b != nil {
		b.exhausted = ""
	}
}

// Resumes has what an agent's open turn took before a kill, or a failure, counted ([Book.Lost], [Book.Paid]). On the virtual
// clock the turn may begin again in a later wave, if it failed. Until it is woken all of it is spent, also the most that its requests
// take which are still out: others neither get it nor wait for it. A wave wakes few turns at once, and a later one only when an
// earlier one has ended, which therefore must not wait for it. When the turn is woken, the count is made anew.
// over = count as if the turn did not begin again: nobody takes the answers that are kept, nor those that are still to come. The
// last count that is given replaces the others: it asks for all that the turn took by then.
func (b *Book) Resumes(agent string, count func(over bool)) {
	switch o, ok := b.of(agent); {
	case !ok:
	case b.rounds.FirstCome:
		count(false)
	default:
		if b.resumed == nil {
			b.resumed = map[uint32]func(over bool){}
		}
		b.resumed[o] = count
		b.recount(o, count, true)
	}
}

// Lost counts what a request of an agent's open turn took before a kill: nobody has its answer. The
// facts of that turn say it.
func (b *Book) Lost(agent string, number int, endpoint string, took budget.Amount) {
	if o, ok := b.of(agent); ok {
		b.rounds.Lose(o, number, endpoint, took)
	}
}

// Paid counts a request of an agent's open turn, which took this before a kill, and whose answer is kept. most is what it could
// take, asked is the time of the wave in which it was made. On the virtual clock most is reserved if that is the wave that is begun anew, so
// that the same requests are granted. If it was an earlier one, no wave granted others anything beside the request: what it took is reserved, if that
// is more, as time and output of tools are. On the realtime clock nobody has to wait for more than it took.
func (b *Book) Paid(agent string, number int, endpoint string, asked protocol.Time, most, took budget.Amount) {
	if o, ok := b.of(agent); ok {
		switch {
		case b.rounds.FirstCome:
			most = took
		case asked != b.at:
			most = most.Max(took)
		}
		b.rounds.Keep(o, number, endpoint, most, took)
	}
}

// Out counts what a request of an agent's open turn holds in another process.
func (b *Book) Out(agent string, number int, endpoint string, most budget.Amount) {
	if o, ok := b.of(agent); ok {
		b.rounds.Hold(o, number, endpoint, most)
	}
}

func (b *Book) of(agent string) (uint32, bool) {
	if b == nil {
		return 0, false
	}
	return b.cast.Ordinal(agent)
}

// Answered counts a model's answer to an agent, by its fact.
func (b *Book) Answered(agent string, at protocol.Time, f *agentfact.ModelAnswered) {
	o, ok := b.of(agent)
	if !ok {
		return
	}
	x, _ := f.Answered()
	took, saved := budget.Taken(&x.Model)
	endpoint := ""
	if x.Model.Origin != nil {
		endpoint = x.Model.Origin.Endpoint
	}
	b.rounds.Charge(o, endpoint, at, took)
	b.rounds.Save(o, saved)
	if x.Model.Origin == nil || x.Model.Origin.Budget == nil || x.Model.Origin.Budget.Ledger == "" {
		return
	}
	on := b.rounds.Refuse(o, x.Model.Origin.Budget.Ledger, x.Err == nil)
	if x.Err != nil && (on == budget.End || on == budget.Pause && b.exhausted == "") {
		b.exhausted = on
	}
}

// TurnEnded counts the calls of a turn.
func (b *Book) TurnEnded(at protocol.Time, f *agentfact.TurnEnded) {
	b.tools(at, budget.Amount{Calls: f.ToolCalls, Nano: f.ToolCost, Micro: f.ToolTime.Microseconds(), Bytes: f.ToolBytes}, f.ToolRefused)
}

// CallsCharged counts calls of a turn that it took no answers of.
func (b *Book) CallsCharged(at protocol.Time, f *agentfact.CallsCharged) {
	b.tools(at, budget.Amount{Calls: f.Calls, Nano: f.Cost, Micro: f.Time.Microseconds(), Bytes: f.Bytes}, 0)
}

// TaskOpened counts a task of $tools, whose tool has a price in nano-dollars.
func (b *Book) TaskOpened(at protocol.Time, f *tooltask.Opened, nano int64) {
	if f.Task.Costs() {
		b.tools(at, budget.Amount{Calls: 1, Nano: nano}, 0)
	}
}

// TaskEnded counts what a task took.
func (b *Book) TaskEnded(at protocol.Time, f *tooltask.Ended) {
	refused := int64(0)
	if budget.RefusedTool(f.ErrorKind, f.Error) {
		refused = 1
	}
	b.tools(at, budget.Amount{Micro: f.Latency.Microseconds(), Bytes: tool.SizeOf(f.Output, f.Artifacts)}, refused)
}

// TaskUncharged gives back what a task counted that was not carried out.
func (b *Book) TaskUncharged(at protocol.Time, f *tooltask.Uncharged) {
	b.tools(at, budget.Amount{Calls: -1, Nano: -f.Cost, Micro: -f.Time.Microseconds(), Bytes: -f.Bytes}, 0)
}

func (b *Book) tools(at protocol.Time, took budget.Amount, refused int64) {
	if b != nil && b.rounds.ChargeTools(at, took, refused) == budget.End {
		b.exhausted = budget.End
	}
}

// OfferTasks is the request that tells tasks what the budget of tools has for them; nil = there is none. Until [Book.TasksCounted] no call
// gets a grant.
func (b *Book) OfferTasks() protocol.Raw {
	if b == nil {
		return nil
	}
	a := b.rounds.OfferTasks()
	if a == nil {
		return nil
	}
	q := tooltask.Request{Left: &tooltask.Left{Calls: a.Calls, Nano: a.Nano, Micro: a.Micro, Bytes: a.Bytes}}
	return q.AppendMsg(nil)
}

// TasksCounted ends an offer: the facts of the tasks are counted.
func (b *Book) TasksCounted() {
	if b != nil {
		b.rounds.TasksCounted()
	}
}

// Open decides how the turns of a wave on the virtual clock get their grants. worst is the most that a turn of
// an agent can take, of models and of tools.
func (b *Book) Open(at protocol.Time, order []uint32, worst func(o uint32) (models, tools budget.Amount)) {
	if b == nil || b.rounds.FirstCome {
		return
	}
	b.byGrant = b.rounds.Open(at, order, worst)
}

// resume counts what the turn of an agent took that is woken again, or is over.
func (b *Book) resume(o uint32, over bool) {
	if count := b.resumed[o]; count != nil {
		delete(b.resumed, o)
		b.recount(o, count, over)
	}
}

// recount replaces what the ledgers have of an agent's open turn.
func (b *Book) recount(o uint32, count func(over bool), over bool) {
	b.rounds.Merged(o)
	count(over)
}

// Woken is what a turn that begins knows; nil = there are no budgets. place is that of its agent in the order
// of the wave.
func (b *Book) Woken(o uint32, place int, wave uint64, at protocol.Time) *WakeBudget {
	if b == nil {
		return nil
	}
	b.at = at
	b.resume(o, false)
	w := WakeBudget{Used: b.rounds.Share(o, at), ByGrant: b.rounds.FirstCome || b.byGrant, Models: b.rounds.HasModels(), Tools: b.rounds.HasTools()}
	if w.ByGrant {
		b.rounds.Woken(o, place, wave)
	}
	if b.last == nil || *b.last != w {
		b.last = &w
	}
	return b.last
}

// Step takes what a turn, which was woken in a wave, did with one message.
func (b *Book) Step(wave uint64, s *budget.Step) {
	if b != nil {
		b.rounds.Step(wave, s)
	}
}

// Over ends the grants of a turn that has ended, or whose agent failed.
func (b *Book) Over(o uint32) {
	if b != nil {
		b.rounds.Ended(o)
	}
}

// Cut takes a turn that was cut off; over = its agent has no other. Then a fact has to charge what is given, else what the
// turn took counts until the facts of the next one do. On the virtual clock the log of effects says what that is ([Book.Resumes]),
// also of one that is over.
func (b *Book) Cut(o uint32, over bool) []budget.Loss {
	if b == nil {
		return nil
	}
	b.rounds.Ended(o)
	if over {
		b.resume(o, true)
		return b.rounds.Abandon(o)
	}
	if b.rounds.FirstCome {
		b.rounds.Cut(o)
	}
	return nil
}

// Rest gives what the turns took, by agents in their order, that leave no facts when the scene ends.
func (b *Book) Rest() (list []agenda.TurnAbandoned) {
	if b == nil {
		return nil
	}
	for o := range b.resumed {
		b.resume(o, true)
	}
	for _, o := range b.rounds.Turns() {
		b.rounds.Ended(o)
		if took := b.rounds.Abandon(o); took != nil {
			list = append(list, agenda.TurnAbandoned{Agent: o, Took: took})
		}
	}
	return list
}

// Abandoned charges what an abandoned turn took, by its fact.
func (b *Book) Abandoned(at protocol.Time, f *agenda.TurnAbandoned) {
	if b != nil {
		b.rounds.ChargeLost(at, f.Took)
	}
}

// Expect has the agent's next turn that is abandoned give what a recorded fact says: for verify.
func (b *Book) Expect(f *agenda.TurnAbandoned) {
	if b != nil {
		b.rounds.Expect(f.Agent, f.Took)
	}
}

// Merged takes a turn whose facts are counted.
func (b *Book) Merged(o uint32) {
	if b != nil {
		b.rounds.Merged(o)
	}
}

// Grants are the requests whose turn it is.
func (b *Book) Grants(at protocol.Time) []budget.Grant {
	if b == nil {
		return nil
	}
	return b.rounds.Grants(at)
}
