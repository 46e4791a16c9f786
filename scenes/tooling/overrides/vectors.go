package overrides

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/llm/embed"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models"
	"tavernsim/llm/openai"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/plugin"
	"tavernsim/tools/rpc"
)

// methodEmbed asks a service for the vectors of texts.
const methodEmbed = "vectors/embed"

// Models are the services that take the places of the models of a scene; nil = none does.
type Models struct {
	Answers *Model
	Vectors *Vectors
}

// ModelsOf makes those of a project.
func ModelsOf(p *project.Project) (m Models) {
	all := Of(p)
	if w := all[plugin.OfModel]; w != nil {
		m.Answers = NewModel(w)
	}
	if w := all[plugin.OfEmbedder]; w != nil {
		m.Vectors = NewVectors(w)
	}
	return m
}

// Take puts them into the options of a set.
func (m Models) Take(set *models.Options) {
	if m.Answers != nil {
		set.Instead = m.Answers
	}
	if m.Vectors != nil {
		set.Vectors = m.Vectors.Of
	}
}

// Open lets the services be asked. It is called before the first request.
func (m Models) Open(asked func() Asked) {
	if m.Answers != nil {
		m.Answers.Open(asked())
	}
	if m.Vectors != nil {
		m.Vectors.asks.Open(asked())
	}
}

// Vectors gives vectors by a service. It is made before the scene, and opened with it.
type Vectors struct{ asks *Model }

// NewVectors makes one. Until it is opened every request fails.
func NewVectors(w *Winner) *Vectors { return &Vectors{NewModel(w)} }

// Of makes the provider of a model, by the name and the dimensions (0 = its own) that its file says.
func (v *Vectors) Of(model string, dimensions int) llm.Provider {
	x := &vectorsOf{Model: v.asks, model: model, dimensions: dimensions}
	x.kept = embed.By(v.asks.Name(), x)
	return x
}

// vectorsOf is a model whose vectors a service gives. Name, price and gate are those of the service.
type vectorsOf struct {
	*Model
	model      string
	dimensions int
	kept       *embed.Endpoint // asks this, once for the same text
}

// Complete implements llm.Provider.
func (v *vectorsOf) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	return v.kept.Complete(ctx, q, sink)
}

// Close implements llm.Provider.
func (v *vectorsOf) Close() error {
	_ = v.kept.Close() // it never fails
	return v.Model.Close()
}

// texts are the parameters of vectors/embed.
type texts struct {
	Model      string   `json:"model"`
	Texts      []string `json:"texts"`
	Dimensions int      `json:"dimensions"`
	Timeout    int64    `json:"timeout_ms"`
}

// Embed implements embed.Asks.
func (v *vectorsOf) Embed(ctx context.Context, list ...string) (*openai.Vectors, error) {
	begun := time.Now()
	if _, bounded := ctx.Deadline(); !bounded {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, defaultModelTime)
		defer stop()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(v.closed, func() { end(errClosed) })()
	asks := &texts{Model: v.model, Texts: list, Dimensions: v.dimensions}
	raw, err := v.call(ctx, methodEmbed, asks, &asks.Timeout)
	if err != nil {
		return nil, v.failed(ctx, err, time.Since(begun))
	}
	out, err := v.read(raw, list)
	if err != nil {
		return nil, v.wrong(err, time.Since(begun))
	}
	out.Latency = time.Since(begun)
	return out, nil
}

// read checks an answer.
func (v *vectorsOf) read(raw json.RawMessage, list []string) (*openai.Vectors, error) {
	var said struct {
		Model   string      `json:"model"`
		Vectors [][]float32 `json:"vectors"`
		Usage   struct {
			Input int64 `json:"input"`
		} `json:"usage"`
	}
	if err := rpc.ReadAnswer(raw, &said); err != nil {
		return nil, fmt.Errorf("the answer is no object with vectors (lists of numbers), usage and model: %w", err)
	}
	if len(said.Vectors) != len(list) {
		return nil, fmt.Errorf("%d vectors for %d texts", len(said.Vectors), len(list))
	}
	want := v.dimensions
	for i, x := range said.Vectors {
		if want = cmp.Or(want, len(x)); len(x) != want || want == 0 || want > vector.MaxDimensions {
			return nil, fmt.Errorf("vectors[%d] has %d dimensions; want 1 to %d, as many as the others, and those that the file of the model says", i, len(x), vector.MaxDimensions)
		}
	}
	size := 0
	for _, text := range list {
		size += len(text)
	}
	out := &openai.Vectors{Model: protocol.Short(cmp.Or(v.asked.said(said.Model), v.model), 200), List: said.Vectors, Usage: protocol.Usage{Input: said.Usage.Input}}
	endpoint.Count(&out.Usage, &protocol.ModelRequest{}, size, 0)
	return out, nil
}
