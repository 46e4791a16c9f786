package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Bounds of a request for vectors, and of what comes back.
const (
	MaxTexts      = 256
	MaxDimensions = 65_536
)

// Embedder turns texts into vectors, by one model of an endpoint. It is safe for concurrent
// use. The endpoint is the caller's.
type Embedder struct {
	Dimensions int // of the vectors to ask for; 0 = as the model has them

	to     *endpoint.Endpoint
	model  string
	price  price.Price
	priced bool
}

// NewEmbedder makes one for a model, by the endpoint's name of it.
func NewEmbedder(to *endpoint.Endpoint, model string) *Embedder {
	e := &Embedder{to: to, model: model}
	e.price, e.priced = to.Prices().Of(model)
	return e
}

// Vectors are those of texts, in their order, all with the same dimensions.
type Vectors struct {
	Model   string // that answered
	List    [][]float32
	Usage   protocol.Usage
	Cost    int64 // nano-dollars
	Priced  bool  // false = nobody knows the price, and Cost is 0
	Latency time.Duration
}

// Dimensions are those of each vector.
func (v *Vectors) Dimensions() int { return len(v.List[0]) }

// Embed gives the vectors of one text or several. Its failures are those of a chat
// (llm.Failure); it asks once.
func (e *Embedder) Embed(ctx context.Context, texts ...string) (*Vectors, error) {
	if len(texts) == 0 || len(texts) > MaxTexts {
		return nil, e.to.Failed(llm.OutcomeBadRequest, "%d texts at once; want 1 to %d", len(texts), MaxTexts)
	}
	for i, text := range texts {
		if text == "" {
			return nil, e.to.Failed(llm.OutcomeBadRequest, "text %d is empty, and has no vector", i+1)
		}
	}
	began := time.Now()
	reply, err := e.to.Do(ctx, endpoint.Ask{Path: "/embeddings", Body: e.body(texts)})
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	data, err := reply.ReadAll()
	if err != nil {
		return nil, err
	}
	v, err := e.read(data, texts)
	if err == nil {
		v.Latency = time.Since(began)
	}
	return v, err
}

func (e *Embedder) body(texts []string) []byte {
	b := wirejson.AppendText([]byte(`{"model":`), e.model)
	b = append(b, `,"input":[`...)
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = wirejson.AppendText(b, text)
	}
	if b = append(b, ']'); e.Dimensions > 0 {
		b = strconv.AppendInt(append(b, `,"dimensions":`...), int64(e.Dimensions), 10)
	}
	return append(b, '}')
}

// embedded is an answer. Servers leave out the index of an only vector.
type embedded struct {
	Model any `json:"model"` // nothing depends on it
	Data  []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (e *Embedder) read(data []byte, texts []string) (*Vectors, error) {
	var in embedded
	if err := json.Unmarshal(data, &in); err != nil || len(in.Data) == 0 {
		return nil, e.to.Unreadable(data, err, "list of vectors", "it has none")
	}
	if len(in.Data) != len(texts) {
		return nil, e.bad("%d vectors for %d texts", len(in.Data), len(texts))
	}
	model, _ := in.Model.(string)
	v := &Vectors{Model: cmp.Or(e.to.Hide(model), e.model), List: make([][]float32, len(texts))}
	for i, x := range in.Data {
		at := i
		if x.Index != nil {
			at = *x.Index
		}
		if at < 0 || at >= len(texts) || v.List[at] != nil {
			return nil, e.bad("the vectors are numbered wrongly: %d stands twice, or is none of %d texts", at, len(texts))
		}
		vector, err := e.vector(x.Embedding)
		if err != nil {
			return nil, err
		}
		v.List[at] = vector
	}
	for _, x := range v.List {
		if len(x) != len(v.List[0]) {
			return nil, e.bad("one vector has %d dimensions and another %d", len(v.List[0]), len(x))
		}
	}
	if e.Dimensions > 0 && v.Dimensions() != e.Dimensions {
		return nil, e.bad("vectors of %d dimensions; %d were asked for", v.Dimensions(), e.Dimensions)
	}
	question := 0
	for _, text := range texts {
		question += len(text)
	}
	var tokens struct {
		Prompt json.RawMessage `json:"prompt_tokens"`
		Total  json.RawMessage `json:"total_tokens"`
	}
	_ = json.Unmarshal(in.Usage, &tokens) // what is no object counts nothing
	v.Usage.Input = max(count(tokens.Prompt), count(tokens.Total))
	if count(tokens.Prompt) < 0 || count(tokens.Total) < 0 {
		v.Usage.Input = 0
	}
	endpoint.Count(&v.Usage, &protocol.ModelRequest{}, question, 0)
	v.Cost, v.Priced = e.price.Cost(&v.Usage), e.priced
	return v, nil
}

// count reads a number of tokens; -1 = it is none.
func count(raw json.RawMessage) int64 {
	var n float64
	if len(raw) == 0 {
		return 0
	}
	if err := json.Unmarshal(raw, &n); err != nil || n != math.Trunc(n) || n < 0 || n > 1<<40 {
		return -1
	}
	return int64(n)
}

// vector reads numbers, or the base64 of numbers of four bytes.
func (e *Embedder) vector(raw json.RawMessage) (list []float32, err error) {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		list, err = packed(raw)
	case bytes.Contains(raw, []byte("null")): // which would be read as 0
		return nil, e.bad("a vector has a dimension that is no number")
	default:
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, e.bad("a vector cannot be read: %v", err)
	}
	if len(list) == 0 || len(list) > MaxDimensions {
		return nil, e.bad("a vector has %d dimensions; want 1 to %d", len(list), MaxDimensions)
	}
	for _, x := range list {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, e.bad("a vector has a dimension that is no number")
		}
	}
	return list, nil
}

func packed(raw json.RawMessage) ([]float32, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	list := make([]float32, len(data)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return list, err
}

func (e *Embedder) bad(format string, args ...any) error {
	return e.to.Failed(llm.OutcomeBadOutput, format, args...)
}
