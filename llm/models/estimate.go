package models

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"tavernsim/engine/prompt"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Estimate gathers what models at endpoints would be asked while scripts answer in their
// place. The zero value is ready; it is safe for concurrent use.
type Estimate struct {
	mu sync.Mutex
	by map[playedKey]*Played
}

type playedKey struct{ name, profile, agent string }

// Played is what one agent asked of one model.
type Played struct {
	Name, Endpoint string // of the file; of the endpoint
	Model          string // as the endpoint calls it
	Priced         bool
	Said           string // the price, in words
	Profile        string

	Calls     int64
	Input     int64 // tokens, estimated
	Output    int64 // tokens of the script's answers
	Cost      int64 // nano-dollars of both
	MaxInput  int64 // tokens that no prompt exceeds
	MaxOutput int64 // tokens, if every answer had max_tokens
	MaxCost   int64 // nano-dollars of both
}

// Played lists what was asked, by model, profile and agent.
func (e *Estimate) Played() (list []Played) {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(e.by), func(a, b playedKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.profile, b.profile), cmp.Compare(a.agent, b.agent))
	})
	for _, k := range keys {
		list = append(list, *e.by[k])
	}
	return list
}

// played is a model at an endpoint for which a script answers. It opens no connection.
type played struct {
	*asked
	file   string
	model  string // as the endpoint calls it
	prices *price.Prices
	script llm.Instant
	to     *Estimate
}

// estimated makes such a model. Without endpoints the prices are those of the preset with the
// endpoint's name, or of the kind's.
func estimated(d *modelfile.Definition, file string, opt Options, counts *counts) (*played, error) {
	p := &played{file: NameOf(file), model: d.Model, to: opt.Estimate}
	if opt.Endpoints == nil {
		opt.Answers = nil
		preset := cmp.Or(d.Endpoint, d.Kind)
		known, ok := endpoint.Presets()[preset]
		if !ok {
			preset = d.Kind
		}
		var err error
		if p.prices, err = price.Make(preset, nil, ok && known.Free != nil && *known.Free); err != nil {
			return nil, err
		}
	}
	made, err := provider(d, file, opt, counts)
	if err != nil {
		return nil, err
	}
	p.asked = made
	if at := p.asked.to; at != nil {
		p.model, p.prices = cmp.Or(at.Models[d.Model], d.Model), at.Prices()
	}
	p.price, p.priced = p.prices.Of(p.model)
	return p, nil
}

// Complete implements llm.Provider.
func (p *played) Complete(_ context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	a, err := p.Answer(q)
	return a, cmp.Or(err, llm.Deliver(&a, sink))
}

// Answer implements llm.Instant.
func (p *played) Answer(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	asks := p.filled(q)
	limit := int64(asks.MaxTokens)
	if q.Cap > 0 {
		limit = min(limit, int64(q.Cap))
	}
	a, err := p.script.Answer(asks)
	if err != nil {
		return a, err
	}
	a.Latency = p.Definition.Latency.Of(a.Usage.Output, a.Latency)
	u := a.Usage
	u.Input += int64(prompt.Extra(asks.Options))
	p.to.add(p, asks, &u, p.most(asks), limit)
	return a, nil
}

func (e *Estimate) add(p *played, q *protocol.ModelRequest, u *protocol.Usage, most, limit int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by == nil {
		e.by = map[playedKey]*Played{}
	}
	key := playedKey{p.file, q.Profile, q.Agent}
	x := e.by[key]
	if x == nil {
		x = &Played{Name: p.file, Endpoint: p.name, Model: p.model, Priced: p.priced, Said: p.prices.Say(p.model), Profile: q.Profile}
		e.by[key] = x
	}
	x.Calls++
	x.Input, x.Output, x.Cost = x.Input+u.Input, x.Output+u.Output, price.Sum(x.Cost, p.price.Cost(u))
	x.MaxInput, x.MaxOutput, x.MaxCost = x.MaxInput+most, x.MaxOutput+limit, price.Sum(x.MaxCost, p.price.Bound(most, limit))
}
