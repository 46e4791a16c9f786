package machines

import (
	"math"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// spending is the part of the stage that keeps the budgets of the scene. Its ledgers are
// kept state; the requests of turns under way are volatile. A stage whose scene has no
// budget has none.
type spending struct {
	*budget.Rounds
	// exhausted is what a ledger that refused a request demands: budget.End,
	// budget.Pause, or nothing.
	exhausted string
	rounds    bool        // the open wave goes by rounds
	last      *WakeBudget // that a turn got; others like it share it
}

// WakeBudget is what a turn knows of the budgets above its agent.
type WakeBudget struct {
	Used    float64 // of the tightest, when the wave began: 0 to 1
	ByGrant bool    // each of its requests to a model waits for a grant
	Models  bool    // models have a budget
	Tools   bool    // tools have one: then their calls wait, too
}

// TurnStep is what a turn did with one message, if its requests wait for grants.
type TurnStep struct {
	Wave uint64 // in which the turn was woken
	budget.Step
}

func (*TurnStep) input() {}

func newSpending(c *budget.Config, firstCome bool) *spending {
	if c == nil {
		return nil
	}
	return &spending{Rounds: budget.NewRounds(budget.New(*c), firstCome)}
}

// Budgets are the ledgers of the scene; nil = it has none.
func (s *Stage) Budgets() []budget.Line {
	if s.spending == nil {
		return nil
	}
	return s.spending.Lines()
}

// Ledgers are the kept state of the budgets.
func (s *Stage) Ledgers() []budget.Kept {
	if s.spending == nil {
		return nil
	}
	return s.spending.Kept()
}

// WideBudgets are those of run, scene and endpoints.
func (s *Stage) WideBudgets() []budget.Line {
	if s.spending == nil {
		return nil
	}
	return s.spending.Wide(s.Agenda.Now)
}

// Lost counts what a request of an agent's open turn took before a kill: nobody has its answer. The
// facts of that turn say it.
func (s *Stage) Lost(agent, endpoint string, took budget.Amount) {
	if o, ok := s.scene.Ordinal(agent); ok && s.spending != nil {
		s.spending.Lose(o, endpoint, took)
	}
}

// Paid counts what a request of an agent's open turn took before a kill, whose answer is kept.
func (s *Stage) Paid(agent string, number int, endpoint string, took budget.Amount) {
	if o, ok := s.scene.Ordinal(agent); ok && s.spending != nil {
		s.spending.Keep(o, number, endpoint, took)
	}
}

// Out counts what a request of an agent's open turn holds in another process.
func (s *Stage) Out(agent, endpoint string, most budget.Amount) {
	if o, ok := s.scene.Ordinal(agent); ok && s.spending != nil {
		s.spending.Hold(o, endpoint, most)
	}
}

// spent counts a model's answer, by its fact.
func (s *Stage) spent(r protocol.Record, f *agentfact.ModelAnswered) {
	o, ok := s.scene.Ordinal(r.Actor)
	if s.spending == nil || !ok {
		return
	}
	x, _ := f.Answered()
	took, saved := budget.Taken(&x.Model)
	endpoint := ""
	if x.Model.Origin != nil {
		endpoint = x.Model.Origin.Endpoint
	}
	s.spending.Charge(o, endpoint, r.Time, took)
	s.spending.Save(o, saved)
	if x.Model.Origin == nil || x.Model.Origin.Budget == nil || x.Model.Origin.Budget.Ledger == "" {
		return
	}
	on := s.spending.Refuse(o, x.Model.Origin.Budget.Ledger, x.Err == nil)
	if x.Err != nil && (on == budget.End || on == budget.Pause && s.spending.exhausted == "") {
		s.spending.exhausted = on
	}
}

// spentOnTools counts what a fact says of tools.
func (s *Stage) spentOnTools(at protocol.Time, took budget.Amount, refused int64) {
	if s.spending != nil && s.spending.ChargeTools(at, took, refused) == budget.End {
		s.spending.exhausted = budget.End
	}
}

// toolsLeft is what tasks are told that the budget of tools has left; nil = nothing.
func (s *Stage) toolsLeft(service string) protocol.Raw {
	if service != tooltask.Service || s.spending == nil {
		return nil
	}
	a := s.spending.ToolsLeft()
	if a == nil {
		return nil
	}
	q := tooltask.Request{Left: &tooltask.Left{Calls: a.Calls, Nano: a.Nano, Micro: a.Micro, Bytes: a.Bytes}}
	return q.AppendMsg(nil)
}

// tookTools is what the calls of a turn took.
func tookTools(x *agentfact.TurnEnded) budget.Amount {
	return budget.Amount{Calls: x.ToolCalls, Nano: x.ToolCost, Micro: x.ToolTime.Microseconds(), Bytes: x.ToolBytes}
}

// openSpending decides how the turns of a wave on the virtual clock get their grants.
func (s *Stage) openSpending() {
	if s.spending != nil && !s.realtime() {
		s.spending.rounds = s.spending.Open(s.wave.time, s.wave.order, s.worst)
	}
}

// worst is the most that a turn of an agent can take: each of its requests may fail and
// have cost max_tokens. A turn knows no prices.
func (s *Stage) worst(o uint32) (models, tools budget.Amount) {
	l := &s.scene.AgentDefinition(o).Limits
	tools = budget.Amount{Calls: int64(l.MaxCalls), Nano: math.MaxInt64, Micro: math.MaxInt64, Bytes: math.MaxInt64}
	a := budget.Amount{Tokens: l.MaxTokens, Calls: 1}.Times(int64(l.MaxModelCalls))
	a.Nano = math.MaxInt64
	return a, tools
}

// wakeBudget is what a turn that begins knows; nil = there are no budgets.
func (s *Stage) wakeBudget(o uint32, place int, wave uint64, at protocol.Time) *WakeBudget {
	p := s.spending
	if p == nil {
		return nil
	}
	b := WakeBudget{Used: p.Share(o, at), ByGrant: p.FirstCome || p.rounds, Models: p.HasModels(), Tools: p.HasTools()}
	if b.ByGrant {
		p.Woken(o, place, wave)
	}
	if p.last == nil || *p.last != b {
		p.last = &b
	}
	return p.last
}

// turnStep takes a step of a turn.
func (s *Stage) turnStep(in *TurnStep) error {
	if s.spending != nil {
		s.spending.Step(in.Wave, &in.Step)
		s.grant()
	}
	return nil
}

// turnOver ends the grants of a turn that has ended, or whose agent failed.
func (s *Stage) turnOver(o uint32) {
	if s.spending != nil {
		s.spending.Ended(o)
	}
}

// turnMerged takes a turn whose facts are counted.
func (s *Stage) turnMerged(o uint32) {
	if s.spending != nil {
		s.spending.Merged(o)
	}
	if s.realtime() { // it gives back what it had reserved and did not take
		s.grant()
	}
}

// grant lets the requests leave whose turn it is.
func (s *Stage) grant() {
	if s.spending == nil {
		return
	}
	at := s.now.Wall
	if s.wave != nil && !s.realtime() {
		at = s.wave.time
	}
	for _, g := range s.spending.Grants(at) {
		s.effect(Effect{Act: ActGrant, Agent: g.Agent, Grant: &g})
	}
}

// heedBudget begins the pause that an exhausted budget demands.
func (s *Stage) heedBudget() {
	if s.spending != nil && s.spending.exhausted == budget.Pause && !s.paused && !s.pausing && !s.config.Stepwise {
		s.pausing, s.pausedBy = true, PausedByBudget
	}
}

// Why a scene paused.
const (
	PausedByRequest = "request"
	PausedByBudget  = "budget"
)

// heeded: what an exhausted budget demands is done.
func (s *Stage) heeded() {
	if s.spending != nil {
		s.spending.exhausted = ""
	}
}
