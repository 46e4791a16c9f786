package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tavernsim/engine/prompt"
	"tavernsim/llm"
	"tavernsim/llm/anthropic"
	"tavernsim/llm/embed"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/openai"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// asked is a model at an endpoint.
type asked struct {
	llm.Provider // nil = recorded answers alone
	*modelfile.Definition
	name    string             // of the endpoint
	to      *endpoint.Endpoint // nil = recorded answers alone
	price   price.Price
	priced  bool // price is known
	opts    *protocol.ModelOptions
	answers *replay.Answers
	keeps   *keeping
	file    string // name of the model
	sent    string // what the endpoint calls it
	instead bool   // Options.Instead or Options.Vectors answers, and to is nil
	replays bool   // as Set.replays
	counts  *counts
	rooms   sync.Pool // of *[]byte, for questions that are hashed
}

// keptRoom is the size of a question whose memory is used for another one, in bytes.
const keptRoom = 64 << 10

func provider(d *modelfile.Definition, file string, opt Options, counts *counts) (*asked, error) {
	name := cmp.Or(d.Endpoint, d.Kind)
	a := askedOf(d, name)
	a.answers, a.counts, a.file = opt.Answers, counts, NameOf(file)
	if a.replays = opt.replays(); a.replays {
		if p := opt.Answers.Terms.Prices[a.file]; p != nil {
			a.price, a.priced = *p, true
		}
	}
	if opt.Endpoints == nil {
		return a, nil
	}
	a.to = opt.Endpoints[name]
	if a.to == nil && len(opt.Endpoints) == 0 {
		return nil, protocol.Errorf(protocol.KindNotFound, "%s: it asks the endpoint %s, and there is no file of endpoints; name one with --providers", file, name)
	}
	if a.to == nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "%s: the file of endpoints has no %s (it has %s); add it, or run with --model scripted",
			file, name, strings.Join(slices.Sorted(maps.Keys(opt.Endpoints)), ", "))
	}
	if err := a.to.Usable(); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: %w", file, err)
	}
	if a.to.Protocol != d.Kind {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: kind is %s, and endpoint %s speaks %s", file, d.Kind, name, a.to.Protocol)
	}
	model, stream := cmp.Or(a.to.Models[d.Model], d.Model), d.Stream == nil || *d.Stream
	a.sent = model
	a.price, a.priced = a.to.Prices().Of(model)
	switch {
	case d.Embeds():
		a.Provider = embed.New(a.to, model, d.Dimensions())
	case d.Kind == llm.OpenAI:
		a.Provider = openai.New(a.to, model, stream)
	case d.Kind == llm.Anthropic:
		a.Provider = anthropic.New(a.to, model, stream)
	default:
		return nil, protocol.Errorf(protocol.KindInternal, "%s: no provider speaks %s; give it a case in provider of llm/models", file, d.Kind)
	}
	return a, nil
}

func askedOf(d *modelfile.Definition, name string) *asked {
	a := &asked{Definition: d, name: name}
	a.opts = &protocol.ModelOptions{TopP: d.Params.TopP, Seed: d.Params.Seed, Effort: d.Params.Effort, Parallel: d.Params.Parallel, Extra: d.Params.Extra}
	return a
}

// Askers are the endpoints of the models that give the question of a request this hash, by their names: files with the same
// parameters give the same one. A file that cannot be read is none.
func Askers(files []File, q *protocol.ModelRequest, hash string) map[string]string {
	by := map[string]string{}
	for _, f := range files {
		made, _ := modelfile.Read(f.Path, f.Data, passing())
		def, ok := modelfile.Asks(made)
		if !ok {
			continue
		}
		if a := askedOf(def, ""); a.question(a.filled(q)) == hash {
			by[NameOf(f.Path)] = cmp.Or(def.Endpoint, def.Kind)
		}
	}
	return by
}

// Name implements llm.Provider: the endpoint's.
func (a *asked) Name() string { return a.name }

// Close implements llm.Provider.
func (a *asked) Close() error {
	if a.Provider == nil {
		return nil
	}
	return a.Provider.Close()
}

// Complete implements llm.Provider. An answer is as it was recorded; that of an endpoint,
// and its failure, name the question.
func (a *asked) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (answer protocol.ModelAnswer, err error) {
	asks := a.filled(q)
	question := a.question(asks)
	answer, done, err := a.unasked(question, asks, sink)
	if done {
		return answer, err
	}
	a.counts.asked.Add(1)
	if a.instead {
		asks.Model = a.Definition.Model // no endpoint knows it by a name of its own
	}
	answer, err = a.Provider.Complete(ctx, asks, sink)
	a.note(question, asks, &answer, err)
	return answer, err
}

// unasked answers without the endpoint, or says why it is not asked; false = it is asked.
func (a *asked) unasked(question string, q *protocol.ModelRequest, sink llm.Sink) (answer protocol.ModelAnswer, ok bool, err error) {
	if e, ok := a.find(a.answers, question, q); ok {
		a.counts.reused.Add(1)
		answer, err := recordedAnswer(e, a.replays)
		answer.Origin.Reused = true
		a.counts.answered(answer.Origin)
		return answer, true, cmp.Or(err, llm.Deliver(&answer, sink))
	}
	if answer, ok := a.stored(question, q); ok {
		return answer, true, llm.Deliver(&answer, sink)
	}
	if err = a.fits(q); err == nil && a.Provider == nil {
		a.counts.miss(place(q))
		err = missed(a.name, a.answers, q, "(there is no endpoint to ask; the question is "+question+")")
	}
	return answer, err != nil, err
}

// note completes what an endpoint answered, or its failure.
func (a *asked) note(question string, q *protocol.ModelRequest, answer *protocol.ModelAnswer, err error) {
	if err != nil {
		*answer = protocol.ModelAnswer{Model: a.Definition.Model, Origin: &protocol.ModelOrigin{Endpoint: a.name}}
		if f, ok := errors.AsType[*llm.Failure](err); ok {
			answer.Latency = a.Latency.Of(0, f.Latency)
		}
	} else {
		answer.Origin.Cost, answer.Origin.Priced, answer.Origin.Question = a.price.Cost(&answer.Usage), a.priced, question
		a.keep(q, answer)
		answer.Latency = a.Latency.Of(answer.Usage.Output, answer.Latency)
		a.counts.answered(answer.Origin)
	}
	answer.Origin.Question = question
}

// fits refuses a question that the model cannot answer, whether it is at an endpoint or not: no record has
// the refusal, because it is the file's and changes with it. The context is judged by the table of prompts.
// Texts of few bytes are not counted: no token has less than one.
func (a *asked) fits(q *protocol.ModelRequest) error {
	if q.Purpose == protocol.PurposeEmbed && !a.Embeds() {
		return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: a.name + ": the model " + a.file + " gives no vectors; name a model of the kind embedder or static"}
	}
	if a.ImageTokens == 0 && slices.ContainsFunc(q.Messages, hasImages) {
		return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: fmt.Sprintf("%s: the request has pictures, and the file of the model %s has no image_tokens: add the most that one takes, or ask another model", a.name, a.file)}
	}
	if a.Context == 0 || bound.Prompt(q)+int64(q.MaxTokens) <= int64(a.Context) {
		return nil
	}
	if n := prompt.Request(q) + prompt.Extra(q.Options); n+q.MaxTokens > a.Context {
		return &llm.Failure{Outcome: llm.OutcomeContext, Message: fmt.Sprintf("%s: a question of about %d tokens and an answer of %d are more than the context of %d (the model's file)", a.name, n, q.MaxTokens, a.Context)}
	}
	return nil
}

// origin is that of a failure that came before the endpoint was asked.
func (a *asked) origin(q *protocol.ModelRequest) *protocol.ModelOrigin {
	asks := a.filled(q)
	return &protocol.ModelOrigin{Endpoint: a.name, Question: a.question(asks)}
}

// tokens is about what a request takes of an endpoint's rate, rather too much: three
// bytes a token, and the whole of the answer.
func (a *asked) tokens(q *protocol.ModelRequest) int64 {
	size := 0
	for i := range q.Messages {
		size += len(q.Messages[i].Text) + 48 + 3*len(q.Messages[i].Images)*a.ImageTokens
	}
	for i := range q.Tools {
		size += len(q.Tools[i].Description) + 192
	}
	size += bound.Extra(a.opts) + bound.Extra(q.Options)
	return int64(size/3 + a.maxTokens(q))
}

// maxTokens are the most of the answer to a request.
func (a *asked) maxTokens(q *protocol.ModelRequest) int {
	if a.Embeds() {
		return 0
	}
	n := cmp.Or(q.MaxTokens, a.Params.MaxTokens, modelfile.DefaultMaxTokens)
	if q.Cap > 0 {
		n = min(n, q.Cap)
	}
	return n
}

// question names what the model reads: the request as it is sent, to the model as the
// project names it.
func (a *asked) question(q *protocol.ModelRequest) string {
	named := q.Model
	q.Model = a.Definition.Model
	room, _ := a.rooms.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	*room = llm.AppendQuestion((*room)[:0], q)
	hash := llm.Hash(*room)
	if cap(*room) <= keptRoom {
		a.rooms.Put(room)
	}
	q.Model = named
	return hash
}

// filled is a copy of a request, with what it leaves open.
func (a *asked) filled(asked *protocol.ModelRequest) *protocol.ModelRequest {
	q, p := new(*asked), &a.Params
	if q.Temperature == nil {
		q.Temperature = p.Temperature
	}
	q.MaxTokens = a.maxTokens(q)
	if a.ImageTokens == 0 {
		q.Messages = withoutFound(q.Messages)
	}
	if len(q.Stop) == 0 {
		q.Stop = p.Stop
	}
	if q.Options == nil {
		q.Options = a.opts
		return q
	}
	o := *q.Options
	o.TopP, o.Seed, o.Parallel = cmp.Or(o.TopP, p.TopP), cmp.Or(o.Seed, p.Seed), cmp.Or(o.Parallel, p.Parallel)
	o.Effort = cmp.Or(o.Effort, p.Effort)
	if len(p.Extra) > 0 {
		extra := maps.Clone(p.Extra)
		maps.Copy(extra, o.Extra)
		o.Extra = extra
	}
	q.Options = &o
	return q
}
