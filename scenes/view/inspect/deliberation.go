package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/secret"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/verify"
)

// Deliberation is the view "deliberation": what one turn of an agent perceived,
// what it answered and did, and what became of it.
type Deliberation struct {
	Agent     string             `json:"agent"`
	Profile   string             `json:"profile"`
	Turn      uint64             `json:"turn"`
	Wave      uint64             `json:"wave"` // in which it was woken
	Time      string             `json:"time"`
	First     uint64             `json:"first_seq"`
	Last      uint64             `json:"last_seq"`
	Outcome   string             `json:"outcome"` // ok, failed, cancelled
	Error     string             `json:"error,omitempty"`
	Perceived Perceived          `json:"perceived"`
	Models    []Asked            `json:"model"`
	Calls     []Called           `json:"calls"`
	Said      []string           `json:"said"`
	Changes   []Change           `json:"changes"` // of the private state and the goals
	Effects   []Effect           `json:"effects"` // what it asked the scene for, and what became of it
	Other     []FactLine         `json:"other,omitempty"`
	Timing    Timing             `json:"timing"`
	Knowledge []verify.Activated `json:"knowledge,omitempty"`
	Differs   string             `json:"differs,omitempty"` // why the turn, decided again, is not what was recorded: its questions may not be what was asked
}

// Perceived is what a deliberation was given: the state of the run before the
// wave in which it was woken, folded again.
type Perceived struct {
	Private      any               `json:"private_state"`
	Goals        []factjson.Object `json:"goals"`
	Events       []Inboxed         `json:"events"`      // most urgent first, as it saw them
	Count        int64             `json:"event_count"` // that it perceived
	Observations []factjson.Object `json:"observations"`
	History      []Spoken          `json:"history"`
	WorldVersion int64             `json:"world_version"`
}

// Asked is a question to a model with its answer. Questions are not recorded: the turn
// is decided again.
type Asked struct {
	Request  int64     `json:"request"` // of the turn, from 1
	Purpose  string    `json:"purpose"`
	Question *Question `json:"question"` // null = not known
	Model    string    `json:"model"`
	Text     string    `json:"text"`
	Thought  string    `json:"reasoning,omitempty"`
	Calls    any       `json:"calls"` // native tool calls
	Finish   string    `json:"finish"`
	Input    int64     `json:"tokens_in"`
	Output   int64     `json:"tokens_out"`
	Cached   int64     `json:"tokens_cached,omitempty"` // of Input, read from a cache
	Latency  string    `json:"latency"`
	Served   any       `json:"served,omitempty"` // which model of several answered, and why
	Error    string    `json:"error,omitempty"`

	Endpoint string `json:"endpoint,omitempty"` // "" = a model inside the program
	Cost     *int64 `json:"cost,omitempty"`     // nano-dollars; nil = not known

	Against *Against `json:"against,omitempty"` // the nearest question of another run
}

// Against compares a question with the nearest one that was recorded elsewhere.
type Against struct {
	Turn      uint64 `json:"turn,omitempty"` // of the same agent; 0 = nothing of it is recorded
	Request   int64  `json:"request,omitempty"`
	Differs   string `json:"differs"`        // what differs first; "" = nothing that can be seen
	Line      int    `json:"line,omitempty"` // of a text that differs, where it does; 0 = it is no text
	Character int    `json:"character,omitempty"`
	Recorded  string `json:"recorded,omitempty"` // the line there
	Asked     string `json:"asked,omitempty"`
}

// Called is a call with what became of it.
type Called struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Origin   string `json:"origin"`
	Params   any    `json:"params"` // null where an effect or a change below tells it
	Status   string `json:"status"` // ok, error, denied, requested, not_run
	Output   any    `json:"output"`
	Error    string `json:"error,omitempty"`
	Observed bool   `json:"observed"` // the next deliberation was shown it
}

// What became of an effect.
const (
	EffectRouted    = "routed"
	EffectOpened    = "opened" // a task, whose end says another effect
	EffectRefused   = "refused"
	EffectCommitted = "committed"
	EffectConflict  = "conflict"
	EffectWritten   = "written"
	EffectSuggested = "suggested"
	EffectForwarded = "forwarded" // to the scene that keeps the base
	EffectWaiting   = "waiting"   // held back by simulated latency beyond the journal's end
)

// Effect is something that a deliberation asked the scene for.
type Effect struct {
	To     string `json:"to"` // world, knowledge, events
	ID     string `json:"id"` // of the request or event
	What   string `json:"what"`
	Value  any    `json:"value"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	Heard  int    `json:"delivered,omitempty"` // receivers of an event
	Seq    uint64 `json:"seq,omitempty"`
	Wave   uint64 `json:"wave,omitempty"`
	Time   string `json:"time,omitempty"`

	cause string // event id
}

// Timing of a deliberation, in scene time.
type Timing struct {
	Elapsed   string `json:"elapsed"`    // simulated latency of its models
	EffectsAt string `json:"effects_at"` // when its effects were carried out
	SleptTo   string `json:"sleeps_to,omitempty"`
	Asleep    bool   `json:"asleep"`
}

// Deliberation finds a turn by agent/number or seq:N of one of its facts.
func (s *Scene) Deliberation(id string) (*Deliberation, error) {
	agentID, turn, seq, err := s.turnID(id)
	if err != nil {
		return nil, err
	}
	t, err := s.findTurn(agentID, turn, seq)
	if err != nil {
		return nil, err
	}
	before, err := s.before(t)
	if err != nil {
		return nil, err
	}
	state, o, err := s.withAgent(before, agentID) // of other agents a deliberation sees nothing
	if err != nil {
		return nil, err
	}
	return s.deliberation(agentID, t, o, state)
}

// deliberation is the view of a turn of an agent, which is true in the state where the turn began.
func (s *Scene) deliberation(id string, t *turnFacts, o uint32, state *machines.State) (*Deliberation, error) {
	d := newDeliberation(id, t)
	d.perceived(t, state.Agents[o], state)
	if err := s.questions(d, t, state); err != nil {
		return nil, err
	}
	return d, s.effects(d, t)
}

// turnID reads agent/number, seq:N or a bare seq.
func (s *Scene) turnID(id string) (agentID string, turn, seq uint64, err error) {
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		turn, bad := strconv.ParseUint(id[i+1:], 10, 64)
		if bad != nil {
			return "", 0, 0, protocol.Errorf(protocol.KindInvalid, "deliberation %q: %q is not a number; want agent/number, such as mira/12, or seq:N", id, id[i+1:])
		}
		return id[:i], turn, 0, s.agent(id[:i])
	}
	seq, bad := strconv.ParseUint(strings.TrimPrefix(id, "seq:"), 10, 64)
	if bad != nil {
		return "", 0, 0, protocol.Errorf(protocol.KindInvalid, "deliberation %q: want agent/number, such as mira/12, or seq:N of a fact", id)
	}
	if last := s.journal.Durable().Last; seq < 1 || seq > last {
		return "", 0, 0, protocol.Errorf(protocol.KindNotFound, "seq:%d: the journal has facts %d to %d", seq, s.journal.Begin().Last+1, last)
	}
	kind := ""
	err = s.journal.Scan(persistence.Query{From: seq, To: seq}, func(r protocol.Record) error {
		agentID, kind = r.Actor, r.Kind
		return nil
	})
	if err == nil && !s.ofTurn(agentID, kind) {
		err = protocol.Errorf(protocol.KindNotFound, "seq:%d is %s of %s, no fact of a deliberation", seq, kind, agentID)
	}
	return agentID, 0, seq, err
}

// ofTurn reports whether a fact of an actor is one of a deliberation: all of an
// agent are, and of the scene those that agents decide.
func (s *Scene) ofTurn(actor, kind string) bool {
	if actor == sceneActor {
		return s.decided[kind]
	}
	return !cast.OfScene(actor)
}

// findTurn gathers the facts of a turn, by its number or the seq of one of them.
func (s *Scene) findTurn(id string, turn, seq uint64) (*turnFacts, error) {
	t, last, found := &turnFacts{}, uint64(0), false
	err := s.Scan(persistence.Query{Actor: id}, func(r protocol.Record) error {
		if !s.ofTurn(id, r.Kind) {
			return nil
		}
		fact, err := s.Fact(r)
		if err != nil {
			return err
		}
		t.take(r, fact)
		if t.end == nil {
			return nil
		}
		last = t.end.Turn
		if found = turn > 0 && last == turn || seq > 0 && r.Seq >= seq; found {
			return ErrStop
		}
		t = &turnFacts{}
		return nil
	})
	if err == nil && !found {
		err = protocol.Errorf(protocol.KindNotFound, "agent %s has no deliberation %d; its last one is %d", id, turn, last)
	}
	return t, err
}

func newDeliberation(id string, t *turnFacts) *Deliberation {
	d := &Deliberation{
		Agent: id, Turn: t.end.Turn, Wave: t.end.Wave, Time: t.at.String(), First: t.first, Last: t.last, Outcome: string(t.end.Outcome), Error: secret.Text(t.end.Error),
		Models: []Asked{}, Calls: []Called{}, Said: append([]string{}, t.said...), Changes: append([]Change{}, t.changes...), Effects: []Effect{}, Other: t.other,
		Timing: Timing{Elapsed: t.end.Elapsed.String(), Asleep: t.end.Asleep, SleptTo: moment(t.end.SleepUntil)},
	}
	for i := range d.Changes {
		d.Changes[i].Turn = t.end.Turn
	}
	for _, m := range t.models {
		a := Asked{Request: m.Request, Model: m.Model, Text: secret.Text(m.Text), Thought: secret.Text(m.Reasoning), Calls: factjson.Value(m.Calls), Finish: string(m.Finish), Input: m.Input, Output: m.Output, Cached: m.CacheRead, Latency: m.Latency.String(), Served: servedOf(m), Error: secret.Text(m.Error)}
		if o := m.Origin; o != nil {
			a.Endpoint = o.Endpoint
			if o.Priced {
				a.Cost = &o.Cost
			}
		}
		d.Models = append(d.Models, a)
	}
	for _, c := range t.calls {
		d.Calls = append(d.Calls, called(c))
	}
	return d
}

// servedOf is nil if the request named the model that answered.
func servedOf(m *agentfact.ModelAnswered) any {
	if m.Origin == nil || len(m.Origin.Served) == 0 {
		return nil
	}
	return factjson.Value(m.Origin.Served)
}

func called(c *agentfact.CallMade) Called {
	return Called{ID: c.ID, Tool: c.Tool, Origin: string(c.Origin), Params: factjson.Value(c.Params), Status: string(c.Status), Output: factjson.Value(c.Output), Error: secret.Text(c.Error), Observed: c.Observe}
}

// perceived adds what the agent saw: the state of the run where the turn began.
func (d *Deliberation) perceived(t *turnFacts, m *agent.Machine, state *machines.State) {
	d.Profile = m.Def.Profile
	var heard []agent.Heard
	for _, h := range m.State.Inbox() {
		if h.Number <= t.end.Through && (h.Event.Expires == 0 || h.Event.Expires > t.at) {
			heard = append(heard, h)
		}
	}
	slices.SortStableFunc(heard, func(a, b agent.Heard) int { return cmp.Compare(b.Event.Priority, a.Event.Priority) })
	d.Perceived = Perceived{
		Private: factjson.JSON(Private(m)), Goals: goals(m, t.at), Events: inboxed(heard), Count: t.end.Perceived, WorldVersion: state.World().Version(),
		Observations: observations(m.Shown(t.end.Seen)), History: spoken(m),
	}
}

// before is the end of the wave before a turn began.
func (s *Scene) before(t *turnFacts) (persistence.Wave, error) {
	return s.journal.Wave(max(t.end.Wave, 1, s.journal.Begin().Number+1) - 1)
}

// effects reads on until what the turn asked for was decided: to the end of its
// wave, or of the one in which its simulated latency had passed.
func (s *Scene) effects(d *Deliberation, t *turnFacts) error {
	due, waves := t.at, s.waves()
	var held *agenda.EffectsDeferred
	err := s.facts(persistence.Query{From: t.last + 1}, func(r protocol.Record, fact protocol.Fact) (err error) {
		switch x := fact.(type) {
		case *agenda.EffectsDeferred:
			if s.name(x.Agent) == d.Agent && held == nil && r.Seq == t.last+1 {
				held, due = x, x.Due
			}
			return nil
		case *agenda.WaveClosed:
			if r.Time >= due {
				held, due = nil, r.Time
				return ErrStop
			}
			return nil
		}
		for _, e := range effectsOf(fact) {
			if e.by != d.Agent || e.turn != d.Turn && (e.turn != 0 || r.Time < due) {
				continue
			}
			e.Seq, e.Time = r.Seq, r.Time.String()
			if e.Wave, err = waves.of(r.Seq); err != nil {
				return err
			}
			d.Effects = append(d.Effects, e.Effect)
		}
		return nil
	})
	d.Timing.EffectsAt = due.String()
	if held != nil {
		for _, x := range held.Effects {
			d.Effects = append(d.Effects, Effect{To: x.To, What: "held back", Value: factjson.Sequenced(x).Get("data"), Status: EffectWaiting, Time: due.String()})
		}
	}
	return err
}

// effectBy is an effect with whom and which deliberation it is of; turn 0 is not
// known.
type effectBy struct {
	Effect
	by   string
	turn uint64
}

// effectsOf are the effects whose fate a fact tells.
func effectsOf(f protocol.Fact) []effectBy {
	list := fates(f)
	for i := range list {
		list[i].Detail = secret.Text(list[i].Detail)
	}
	return list
}

func fates(f protocol.Fact) []effectBy {
	switch x := f.(type) {
	case *bus.Routed:
		e := Effect{To: bus.Service, ID: x.ID, What: x.Type, Value: factjson.Value(x.Body), Status: EffectRouted, Heard: x.Receivers.Len(), cause: x.Cause}
		if len(x.Targets) > 0 {
			e.Detail = "to " + strings.Join(x.Targets, ", ")
		}
		return []effectBy{{e, x.Source, x.Turn}}
	case *bus.Refused:
		return []effectBy{{Effect{To: bus.Service, ID: x.ID, What: x.Type, Value: factjson.Value(x.Body), Status: EffectRefused, Detail: string(x.Reason) + ": " + x.Detail, cause: x.Cause}, x.Source, x.Turn}}
	case *agenda.EffectsRefused:
		return []effectBy{{Effect{What: fmt.Sprintf("all %d requests", x.Requests), Status: EffectRefused, Detail: fmt.Sprintf("wave_bytes: %d bytes, the wave has at most %d", x.Bytes, x.Limit)}, x.By, 0}}
	case *agenda.Rested:
		return []effectBy{{Effect{To: cast.Stage, ID: x.ID, What: cast.Rest, Status: EffectCommitted, Heard: len(x.Agents), Detail: x.Reason}, x.By, turnOf(x.ID)}}
	case *agenda.RestEnded:
		return []effectBy{{Effect{To: cast.Stage, ID: x.ID, What: cast.Wake, Status: EffectCommitted, Heard: len(x.Agents), Detail: x.Reason}, x.By, turnOf(x.ID)}}
	case *agenda.Spawned:
		return []effectBy{{Effect{To: cast.Stage, ID: x.ID, What: cast.Spawn, Value: factjson.Value(x.State), Status: EffectCommitted, Heard: 1, Detail: x.Reason}, x.By, turnOf(x.ID)}}
	case *agenda.Removed:
		return []effectBy{{Effect{To: cast.Stage, ID: x.ID, What: cast.Remove, Status: EffectCommitted, Heard: 1, Detail: x.Reason}, x.By, turnOf(x.ID)}}
	case *agenda.ChangeRefused:
		return []effectBy{{Effect{To: cast.Stage, ID: x.ID, What: "change", Value: factjson.Value(x.Do), Status: EffectRefused, Detail: x.Error}, x.By, turnOf(x.ID)}}
	case *space.SetOut:
		return []effectBy{{Effect{To: space.Service, ID: x.ID, What: "walk to " + x.To, Status: EffectCommitted, Detail: fmt.Sprintf("%d steps to %d,%d", len(x.Path), x.X, x.Y)}, x.By, turnOf(x.ID)}}
	case *space.Put:
		return []effectBy{{Effect{To: space.Service, ID: x.ID, What: "put to " + x.To, Status: EffectCommitted, Detail: x.Reason}, x.By, turnOf(x.ID)}}
	case *space.Refused:
		return []effectBy{{Effect{To: space.Service, ID: x.ID, What: "move to " + x.To, Status: EffectRefused, Detail: string(x.Kind) + ": " + x.Message}, x.By, turnOf(x.ID)}}
	case *world.Committed:
		var list []effectBy
		for i := range x.Changes {
			c := &x.Changes[i]
			list = append(list, effectBy{Effect{To: worldstate.Service, ID: c.Request, What: string(c.Op) + " " + c.Path.String(), Value: factjson.At(c.Path.String(), factjson.Value(c.Value)), Status: EffectCommitted, Detail: secret.Text(c.Reason), cause: c.Cause.Event}, c.By, turnOf(c.Request)})
		}
		return list
	case *world.Refused:
		e := Effect{To: worldstate.Service, ID: x.Request, What: string(x.Op) + " " + x.Path.String(), Status: EffectRefused, Detail: string(x.Code) + ": " + x.Message, cause: x.Cause.Event}
		if x.Code == world.CodeConflict {
			e.Status = EffectConflict
		}
		return []effectBy{{e, x.By, turnOf(x.Request)}}
	case *statecmd.Committed:
		return commandEffects(x)
	case tooltask.Fact:
		return taskEffects(x)
	}
	return knowledgeEffects(f)
}

// taskEffects are what became of tasks.
func taskEffects(f tooltask.Fact) []effectBy {
	e, by := Effect{To: tooltask.Service}, ""
	switch x := f.(type) {
	case *tooltask.Opened:
		e.ID, e.What, e.Value, e.Status, by = x.Task.ID, x.Task.Tool, factjson.Value(x.Task.Params), EffectOpened, x.Task.Agent
	case *tooltask.Ended:
		e.ID, e.What, e.Value, e.Status, e.Detail, by = x.ID, x.Tool, factjson.Value(x.Output), x.Status, x.Error, x.Agent
	case *tooltask.Reported:
		e.ID, e.What, e.Status, e.Detail, by = x.ID, x.By+" on "+tooltask.AskTool, x.Status, x.Note, x.Agent
	case *tooltask.Cancelled:
		e.ID, e.What, e.Status, e.Detail, by = x.ID, x.Tool, "cancelled", x.Reason, x.Agent
	default:
		return nil
	}
	return []effectBy{{e, by, turnOf(e.ID)}}
}

func commandEffects(f *statecmd.Committed) (list []effectBy) {
	for i := range f.Audit {
		a := &f.Audit[i]
		e := Effect{To: worldstate.Service, ID: f.BatchName(), What: string(a.Action) + " " + a.Key, Value: factjson.Value(a.After), Status: string(a.Status), Detail: string(a.Code)}
		list = append(list, effectBy{e, cmp.Or(f.By, a.Actor), turnOf(f.BatchName())})
	}
	return list
}

func knowledgeEffects(f protocol.Fact) []effectBy {
	e := Effect{To: knowledge.Service}
	by := ""
	switch x := f.(type) {
	case *knowledge.Written:
		e.ID, e.What, e.Value, e.Status, by = x.Request, string(x.Op)+" "+x.KB+"/"+x.EntryID, factjson.Value(x.Entry), EffectWritten, x.By
	case *knowledge.Suggested:
		e.ID, e.What, e.Value, e.Status, by = x.Request, string(x.Op)+" "+x.KB, factjson.Value(x.Entry), EffectSuggested, x.By
	case *knowledge.Forwarded:
		e.ID, e.What, e.Status, e.Detail, by = x.Request, x.KB, EffectForwarded, "to scene "+x.Keeper, x.By
	case *knowledge.Refused:
		e.ID, e.What, e.Status, e.Detail, by = x.Request, x.KB, EffectRefused, string(x.Reason)+": "+x.Message, x.By
	default:
		return nil
	}
	if by == "" && strings.HasPrefix(e.ID, cast.Scene+"/") { // the service knows the scene by no name
		by = cast.Scene
	}
	return []effectBy{{e, by, turnOf(e.ID)}}
}
