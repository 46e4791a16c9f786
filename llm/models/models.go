package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/embed"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/gate"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
	"tavernsim/llm/scripted"
	"tavernsim/llm/store"
	"tavernsim/protocol"
)

// Read reports the faults of a model file of any kind, and whether there are none. [Check]
// reports what files say of each other.
func Read(file string, data []byte, report *source.Report) bool {
	def, _ := modelfile.Read(file, data, report)
	return def != nil
}

// passing is a report that lets pass what older programs did: whoever read the files first has judged that.
func passing() *source.Report { return &source.Report{Strict: &source.Report{}} }

// File is a model file of a project.
type File struct {
	Path string
	Data []byte
}

// Options say of what a set is made.
type Options struct {
	Files   []File
	Default string // path of the model that answers requests without a name; "" = the embedded script
	// Endpoints are the user's. nil = scripts answer for every model, or with Answers
	// those alone.
	Endpoints map[string]*endpoint.Endpoint
	Answers   *replay.Answers // recorded ones, which are taken before an endpoint is asked; nil = none
	// Store has answers of earlier runs to questions at temperature 0, which are taken
	// behind the recorded ones, and keeps those of this one. nil = there is none.
	Store *store.Store
	// Estimate gathers what would be asked: scripts answer for every model, and no connection
	// is opened. nil = the models answer.
	Estimate *Estimate
	Script   string // path of the script that answers then, if there is one
	Others   []File // other files of the folder of models: cassettes
	Scripts  bool   // scripts answer for every model, whatever its kind
	// Instead answers for every model that an endpoint or a script would answer for; the set
	// owns it. nil = they answer.
	Instead llm.Provider
	// Vectors makes what gives vectors in the place of endpoints, for a model by the name and
	// the dimensions (0 = its own) that its file says; the set owns it. nil = endpoints give them.
	Vectors func(model string, dimensions int) llm.Provider
}

// Set is the models of a scene. It is the provider of all of them.
type Set struct {
	// Notes are what a user should know: a sentence each.
	Notes []string
	// Tell gets another such sentence when a request needs it, once. nil = nobody listens. Set it before a request.
	Tell func(note string)

	models   map[string]llm.Provider // by name
	nodes    map[string]any          // models that answer by others: *route, *recorded, *faulted
	asks     map[string]*asked       // models of endpoints, also where a script answers for them
	name     string                  // of the model for requests without a name; "" = the embedded script
	fallback llm.Provider            // for requests that name no model of these
	anyName  bool                    // fallback takes any name, as a script does
	answers  *replay.Answers
	replays  bool // Options.replays
	keeps    *keeping
	counts   counts
	untold   map[string]*sync.Once // models for which a script answers because there are no endpoints
}

// counts are of the requests to endpoints, since the set was made.
type counts struct {
	reused, stored, shared, asked, paid, saved, unpriced atomic.Int64

	missing sync.Mutex   // guards what follows
	missed  int64        // questions without a recorded answer that nobody was asked
	first   replay.Place // the earliest of them
}

// miss counts a question without a recorded answer.
func (c *counts) miss(at replay.Place) {
	c.missing.Lock()
	defer c.missing.Unlock()
	if c.missed++; c.missed == 1 || cmp.Or(cmp.Compare(at.Turn, c.first.Turn), cmp.Compare(at.Agent, c.first.Agent), cmp.Compare(at.Request, c.first.Request)) < 0 {
		c.first = at
	}
}

// Counts are of the requests to models at endpoints, since the set was made.
type Counts struct {
	Reused   int64 // recorded answers
	Stored   int64 // of these out of the store
	Shared   int64 // requests that got the answer to another one
	Asked    int64 // attempts at endpoints
	Paid     int64 // nano-dollars for the answers of endpoints
	Saved    int64 // nano-dollars that the recorded and shared answers cost when they were asked for
	Unpriced int64 // answers of endpoints whose price is not known

	Missed int64        // questions without a recorded answer that nobody was asked
	First  replay.Place // the one with the lowest turn, of those by agent
}

// Counts reads the counts.
func (s *Set) Counts() Counts {
	c := &s.counts
	c.missing.Lock()
	defer c.missing.Unlock()
	return Counts{Missed: c.missed, First: c.first, Reused: c.reused.Load(), Stored: c.stored.Load(), Shared: c.shared.Load(), Asked: c.asked.Load(), Paid: c.paid.Load(), Saved: c.saved.Load(), Unpriced: c.unpriced.Load()}
}

// answered counts what an answer cost. A sum that is too large stays the largest int64.
func (c *counts) answered(o *protocol.ModelOrigin) {
	to := &c.paid
	if o.Reused {
		to = &c.saved
	} else if !o.Priced {
		c.unpriced.Add(1)
	}
	for {
		sum := to.Load()
		if to.CompareAndSwap(sum, price.Sum(sum, o.Cost)) {
			return
		}
	}
}

// New makes the models of a scene. [Set.Provider] gives what answers.
func New(opt Options) (*Set, error) {
	report := passing()
	g := compile(opt.Files, opt.Others, report, report)
	if err := report.Err(); err != nil {
		return nil, err
	}
	s := &Set{models: map[string]llm.Provider{}, asks: map[string]*asked{}, untold: map[string]*sync.Once{}, answers: opt.Answers, replays: opt.replays(), keeps: &keeping{Store: opt.Store}}
	if !opt.Scripts {
		s.nodes = g.nodes
	}
	var waiting []string // that a script answers for
	var plays []*played
	for _, f := range opt.Files {
		name := NameOf(f.Path)
		if g.files[name].Path != f.Path {
			return nil, protocol.Errorf(protocol.KindInvalid, "%s: there are two files for the model %s; rename one", f.Path, name)
		}
		if f.Path == opt.Default {
			s.name = name
		}
		def := g.files[name].def
		if asks, ok := modelfile.Asks(def); ok {
			def = asks
		}
		switch d := def.(type) {
		case *scripted.Model:
			if s.models[name] = d; opt.Instead != nil {
				s.models[name] = s.replaced(&modelfile.Definition{Model: name}, name, opt, opt.Instead)
			}
		case *modelfile.Definition:
			if opt.Estimate != nil {
				p, err := estimated(d, f.Path, opt, &s.counts)
				if err != nil {
					return nil, err
				}
				plays = append(plays, p)
				s.models[name] = p
				continue
			}
			if opt.Instead != nil && !d.Embeds() {
				s.models[name] = s.replaced(d, name, opt, opt.Instead)
				continue
			}
			if opt.Vectors != nil && d.Embeds() {
				s.models[name] = s.replaced(d, name, opt, opt.Vectors(d.Model, d.Dimensions()))
				continue
			}
			p, err := provider(d, f.Path, opt, &s.counts)
			if err != nil {
				return nil, err
			}
			p.keeps, s.asks[name] = s.keeps, p
			if opt.Endpoints == nil && opt.Answers == nil {
				waiting = append(waiting, name)
			} else {
				s.models[name] = p
			}
		case *modelfile.Static:
			s.models[name] = g.words[name]
		default:
			if opt.Scripts {
				waiting = append(waiting, name)
			}
		}
	}
	script, err := s.stand(opt)
	if err != nil {
		return nil, err
	}
	for _, name := range waiting {
		s.models[name] = script
		if d, ok := modelfile.Asks(g.files[name].def); ok && d.Embeds() {
			s.models[name] = embed.Absent(name)
		}
	}
	for _, p := range plays {
		if p.script = script; p.Embeds() {
			p.script = embed.Blind{}
		}
	}
	for _, name := range waiting {
		if _, blind := s.models[name].(embed.Absent); blind {
			s.Notes = append(s.Notes, fmt.Sprintf("nobody gives the vectors of %s, so entries are found by their words: there is no file of endpoints (simd help run, --providers)", name))
		} else if !opt.Scripts { // which was asked for
			s.untold[name] = &sync.Once{}
		}
	}
	return s, nil
}

// stand finds what answers requests that name no model of the set, and the script that
// answers for models without an endpoint.
func (s *Set) stand(opt Options) (*scripted.Model, error) {
	script, err := s.script(opt)
	switch {
	case err != nil:
		return nil, err
	case opt.Instead != nil && s.nodes[s.name] == nil && s.models[s.name] == nil:
		s.fallback, s.anyName = s.replaced(&modelfile.Definition{}, "", opt, opt.Instead), true
	case s.nodes[s.name] != nil:
		s.fallback = named{s.name}
	case s.models[s.name] == nil:
		s.fallback = script
	default:
		s.fallback = s.models[s.name]
		if m, ok := s.fallback.(*scripted.Model); ok {
			script = m
		}
	}
	return script, nil
}

// Priced is a provider that says what its answers cost.
type Priced interface {
	Price() (p price.Price, known bool)
}

// replaced is a model that another provider than an endpoint answers for. What its file says
// holds, but for the endpoint.
func (s *Set) replaced(d *modelfile.Definition, file string, opt Options, by llm.Provider) *asked {
	a := askedOf(d, by.Name())
	a.answers, a.counts, a.file, a.keeps, a.instead = opt.Answers, &s.counts, file, s.keeps, true
	a.Provider = by
	if p, ok := by.(Priced); ok {
		a.price, a.priced = p.Price()
	}
	return a
}

// named stands for a model that answers by others. It has a name, and answers nothing
// itself.
type named struct{ name string }

func (n named) Name() string { return n.name }

func (named) Close() error { return nil }

func (n named) Complete(context.Context, *protocol.ModelRequest, llm.Sink) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: n.name + ": it answers by other models"}
}

// script answers for a default model that is not there: the project's script
// models/scripted.yaml, or the embedded one.
func (s *Set) script(opt Options) (*scripted.Model, error) {
	if m, ok := s.models[NameOf(opt.Script)].(*scripted.Model); ok && opt.Estimate != nil {
		return m, nil
	}
	if m, ok := s.models[NameOf(scriptFile)].(*scripted.Model); ok && opt.Default != "" {
		return m, nil
	}
	return scripted.Default()
}

const scriptFile = "models/scripted.yaml"

// NameOf is the name of the model of a file.
func NameOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// Provider is what answers: the set, which answers at once if all its models do, or the
// only script itself.
func (s *Set) Provider() llm.Provider {
	if s.anyName {
		return s
	}
	only := len(s.nodes)+len(s.untold) == 0
	for _, m := range s.models {
		if _, ok := m.(llm.Instant); !ok {
			return s
		}
		only = only && m == s.fallback
	}
	if only {
		return s.fallback
	}
	return scripts{s}
}

// scripts is a set of scripted models.
type scripts struct{ *Set }

// Answer implements llm.Instant.
func (s scripts) Answer(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	if s.nodes[cmp.Or(q.Model, s.name)] != nil {
		return s.all(q, func(c *choice) (protocol.ModelAnswer, error) { return s.now(c, q) })
	}
	p, err := s.pick(q.Model)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	s.tell(q.Model)
	return p.(llm.Instant).Answer(q)
}

// Asked is a model of a set that is at an endpoint.
type Asked struct {
	Name, Endpoint string
	Price          string // in words; "" = recorded answers alone
	Vectors        bool   // it gives vectors, and no answers
}

// Asked are the models that are at endpoints, by name.
func (s *Set) Asked() (list []Asked) {
	for _, name := range slices.Sorted(maps.Keys(s.models)) {
		if a, ok := s.models[name].(*asked); ok && !a.instead {
			one := Asked{Name: name, Endpoint: a.Name(), Vectors: a.Embeds()}
			if a.to != nil {
				one.Price = a.to.Prices().Say(cmp.Or(a.to.Models[a.Definition.Model], a.Definition.Model))
			}
			list = append(list, one)
		}
	}
	return list
}

// Price finds what the model of a request costs. known is false if nobody said a price.
// A script is free.
func (s *Set) Price(q *protocol.ModelRequest) (p price.Price, known bool) {
	m, err := s.pick(q.Model)
	if a, ok := m.(*asked); ok && err == nil {
		return a.price, a.priced
	}
	return price.Price{}, err == nil
}

// Name implements llm.Provider.
func (s *Set) Name() string { return s.fallback.Name() }

// Close implements llm.Provider.
func (s *Set) Close() error {
	errs := []error{s.fallback.Close()}
	for _, name := range slices.Sorted(maps.Keys(s.models)) {
		errs = append(errs, s.models[name].Close())
	}
	return errors.Join(errs...)
}

// Complete implements llm.Provider.
func (s *Set) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	switch c, ok := q.Chosen.(*choice); {
	case ok:
		return s.complete(ctx, c, q, sink)
	case s.nodes[cmp.Or(q.Model, s.name)] != nil:
		return s.unrouted(ctx, q, sink)
	}
	p, err := s.pick(q.Model)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	s.tell(q.Model)
	return p.Complete(ctx, q, sink)
}

// unrouted answers a request to several models that no shell routes.
func (s *Set) unrouted(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	return s.all(q, func(c *choice) (protocol.ModelAnswer, error) { return s.complete(ctx, c, q, sink) })
}

// tell says once that a script answers in the place of a model at an endpoint.
func (s *Set) tell(name string) {
	name = cmp.Or(name, s.name)
	if once := s.untold[name]; once != nil && s.Tell != nil {
		once.Do(func() {
			s.Tell(fmt.Sprintf("a script answers for %s: there is no file of endpoints (simd help run, --providers)", name))
		})
	}
}

// pick finds the model of a name. A script takes any name, as its rules may match it.
func (s *Set) pick(name string) (llm.Provider, error) {
	if p := s.models[name]; p != nil {
		return p, nil
	}
	if _, script := s.fallback.(*scripted.Model); script || s.anyName || name == "" {
		return s.fallback, nil
	}
	return nil, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: fmt.Sprintf("model %q: the project has no file models/%s.yaml; known: %s", name, name, strings.Join(slices.Sorted(maps.Keys(s.models)), ", "))}
}

// Gate implements gate.Gated: requests to scripts pass none.
func (s *Set) Gate(q *protocol.ModelRequest) (*gate.Gate, int64) {
	a, _ := s.toAsk(q)
	if a == nil {
		return nil, 0
	}
	if a.answers != nil || a.keeps.opened() {
		asks := a.filled(q)
		if a.known(a.question(asks), asks) {
			return nil, 0
		}
	}
	if by := gate.Of(a.Provider); a.instead && by != nil {
		return by.Gate(q)
	} else if a.instead {
		return nil, 0
	}
	return a.to.Gate, a.tokens(q)
}

// toAsk is the model that a request is to be asked of, and the choice that led to it; nil = nobody is asked.
func (s *Set) toAsk(q *protocol.ModelRequest) (*asked, *choice) {
	p, err := s.pick(q.Model)
	c, chosen := q.Chosen.(*choice)
	if chosen {
		p, err = c.present().leaf, c.present().err
	}
	if a, ok := p.(*asked); ok && err == nil && a.Provider != nil {
		return a, c
	}
	return nil, nil
}

// Failed is what comes with the failure of a request to which the endpoint gave no answer: its gate refused it, for
// example. By the question in it a replay finds the failure again.
func (s *Set) Failed(q *protocol.ModelRequest) (x protocol.ModelAnswer) {
	if a, _ := s.toAsk(q); a != nil {
		x.Model, x.Origin = a.Definition.Model, a.origin(q)
	}
	return x
}
