// Package probe sends one request to endpoints and models, to check whether they answer.
package probe

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/openai"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/runner"
)

// Tried is what became of one question.
type Tried struct {
	Endpoint string   `json:"endpoint"`
	Model    string   `json:"model,omitempty"`      // of the project, or of vectors; "" = the list was asked for
	Vectors  int      `json:"dimensions,omitempty"` // of a vector; 0 = none was asked for
	Outcome  string   `json:"outcome"`
	Millis   float64  `json:"ms"`
	Models   []string `json:"models,omitempty"` // of the list
	Answered string   `json:"answered,omitempty"`
	Tokens   int64    `json:"tokens,omitempty"` // in and out
	Price    string   `json:"price,omitempty"`  // of the model, in words
	Error    string   `json:"error,omitempty"`
	Note     string   `json:"note,omitempty"` // what it said in place of an answer that is not needed

	unlisted bool // the server has no list of models
}

// Endpoints asks each endpoint for its list of models, and for vectors, if it says which
// model gives them.
func Endpoints(ctx context.Context, to map[string]*endpoint.Endpoint) (all []Tried) {
	for _, name := range protocol.SortedKeys(to) {
		began := time.Now()
		names, err := to[name].List(ctx)
		all = append(all, Tried{Endpoint: name, Models: names}.ended(began, err))
		if to[name].Embed != "" {
			all = append(all, vectors(ctx, to[name]))
		}
	}
	return all
}

// vectors asks an endpoint for two vectors.
func vectors(ctx context.Context, to *endpoint.Endpoint) Tried {
	began := time.Now()
	t := Tried{Endpoint: to.Name, Model: to.Embed, Price: to.Prices().Say(to.Embed)}
	v, err := openai.NewEmbedder(to, to.Embed).Embed(ctx, "Are you there?", "Is anybody there?")
	if err == nil {
		t.Answered, t.Vectors, t.Tokens = v.Model, v.Dimensions(), v.Usage.Input
	}
	return t.ended(began, err)
}

// Models asks each model of a project that is at an endpoint for one token.
func Models(ctx context.Context, p *project.Project, to map[string]*endpoint.Endpoint) (all []Tried, err error) {
	set, err := runner.Models(p, to)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	for _, m := range set.Asked() {
		began := time.Now()
		q := &protocol.ModelRequest{Model: m.Name, MaxTokens: 1, Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "Answer with one word: are you there?"}}}
		if m.Vectors {
			q.Purpose = protocol.PurposeEmbed
		}
		a, err := set.Complete(ctx, q, nil)
		t := Tried{Endpoint: m.Endpoint, Model: m.Name, Answered: a.Model, Tokens: a.Usage.Input + a.Usage.Output, Price: m.Price}
		if m.Vectors && err == nil {
			list, broken := vector.Unpack(a.Text, 1)
			if err = broken; err == nil {
				t.Vectors = list[0].Dimensions()
			}
		}
		all = append(all, t.ended(began, err))
	}
	return all, nil
}

// Settle makes notes of lists that a server does not have, if a model of its endpoint answered.
func Settle(all []Tried) {
	for i := range all {
		t := &all[i]
		if t.unlisted && slices.ContainsFunc(all, func(o Tried) bool { return o.Endpoint == t.Endpoint && o.Model != "" && o.Error == "" }) {
			t.Note, t.Error = t.Error, ""
		}
	}
}

func (t Tried) ended(began time.Time, err error) Tried {
	t.Outcome, t.Millis = string(llm.OutcomeOf(err)), float64(time.Since(began).Microseconds())/1000
	if err != nil {
		t.Error = err.Error()
		f, ok := errors.AsType[*llm.Failure](err)
		t.unlisted = ok && t.Model == "" && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed)
	}
	return t
}
