package scenes

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/internal/metrics"
	"tavernsim/internal/until"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/asking"
	"tavernsim/scenes/letterbox"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/seats"
	"tavernsim/scenes/shadows"
	"tavernsim/scenes/timing"
)

// scene is shared by the actors of a running scene. While the scene runs, only the
// atomics change.
type scene struct {
	*setup.Scene
	Codec    *protocol.Codec
	metrics  *metrics.Scene
	profiles []*metrics.Profile // by class; nil for the scene's own agent
	marks    *timing.Marks
	options  Options
	log      *slog.Logger

	context until.Context // ends when the scene stops
	outside *outside.Runner
	ahead   *shadows.Driver // nil = nothing runs ahead
	lent    sync.Pool       // *deliberation
	spans   sync.Pool       // *span.Span
	takes   timing.Rests
	model   llm.Provider
	journal Journal
	system  *actors.System

	// shown is the view of the services after the last wave, for readers outside of
	// the scene's actors.
	shown   atomic.Pointer[machines.View]
	budgets atomic.Pointer[[]budget.Line] // likewise
	latest  atomic.Int64                  // protocol.Time that the stage read last; at the start that of the last wave

	// alarms counts the turns with critical events that are on their way to the stage.
	alarms atomic.Int32

	tasks  *tasks
	orders *receipts.Book
	dead   letterbox.Box
	saving sync.WaitGroup // of the snapshot that is being written

	out      sync.Map      // of an agent (instance id): its requests under budgets that are not answered (*sync.WaitGroup)
	seats    *seats.Seats  // the agents
	failed   sync.Map      // of an agent whose actor failed (uint32): the last wave that has such a failure (uint64)
	stage    *actors.Ref   // the scene actor
	services []*actors.Ref // in the order of machines.Services
	sup      *actors.Supervisor
}

// newScene makes the state that the actors share.
func newScene(made *setup.Scene, journal Journal, opt Options) (*scene, error) {
	s := &scene{
		takes: make(timing.Rests, len(made.Definitions)),
		Scene: made, Codec: machines.NewCodec(), metrics: opt.Metrics, options: opt, log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler)), journal: journal, system: opt.System, model: opt.Model,
		lent: sync.Pool{New: func() any { return &deliberation{space: agent.NewSpace()} }}, spans: sync.Pool{New: func() any { return new(span.Span) }},
	}
	s.options.Snapshots, s.tasks = opt.Snapshots.WithDefaults(), newTasks(s)
	s.orders = &receipts.Book{Scene: made.ID, Journal: journal, Codec: s.Codec, Tell: func(o *machines.Order) { s.stage.Tell(carrying(protocol.KindControl, machines.Input(o))) }}
	var err error
	if s.outside, err = outside.New(append([]outside.Entry{
		{Kind: effect.KindModel, Executor: outside.Model(opt.Model, opt.Pictures), AtOnce: opt.ModelCalls},
		(&asking.Asks{Scene: made, Desk: opt.Desk, Open: s.tasks.waits}).Entry(),
	}, opt.Executors...), outside.Watch{Made: s.asked, Waited: s.metrics.Waited, Again: s.metrics.Repeated, Elsewhere: s.metrics.Elsewhere}); err != nil {
		return nil, err
	}
	for _, x := range made.External {
		if x.Kind != "" && !slices.ContainsFunc(opt.Executors, func(e outside.Entry) bool { return e.Kind == x.Kind }) {
			return nil, made.Errorf("tool %s: no executor has its kind %q; add one to Options.Executors", x.Spec.Name, x.Kind)
		}
	}
	if s.metrics != nil {
		s.declare()
	}
	return s, nil
}

// asked counts requests to models. Calls are counted when their facts are kept.
func (s *scene) asked(to string, q *effect.Ask, x *effect.Answered, took time.Duration) {
	if q.Kind != effect.KindModel {
		return
	}
	name := q.Model.Model
	if o := x.Model.Origin; o != nil && len(o.Served) > 0 {
		if served := llm.ServedOf(o.Served); served != nil {
			to, name = cmp.Or(o.Endpoint, served.By), served.Model
			if x.Err == nil {
				s.metrics.Served(served)
			}
		}
	}
	s.metrics.Model(to, name, string(llm.OutcomeOf(x.Err)), took, &x.Model)
	s.metrics.Prompt(to, &q.Model, &x.Model)
}

// actorName is unique in the process.
func (s *scene) actorName(actor string) string { return cmp.Or(s.options.Name, s.ID) + "/" + actor }

func (s *scene) seen() protocol.Time { return protocol.Time(s.latest.Load()) }
