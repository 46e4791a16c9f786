package anthropic

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// answer is an answer that came at once, or what a stream begins with.
type answer struct {
	Type       string    `json:"type"`
	ID         string    `json:"id"`
	Model      string    `json:"model"`
	Content    []content `json:"content"`
	StopReason string    `json:"stop_reason"`
	Usage      usage     `json:"usage"`
}

// content is a block of an answer.
type content struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
}

// event is a part of a stream.
type event struct {
	Type    string  `json:"type"`
	Index   int     `json:"index"`
	Message answer  `json:"message"`
	Block   content `json:"content_block"`
	Delta   struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage counts tokens; those from and for a cache are not among the input's.
type usage struct {
	Input      endpoint.Tokens `json:"input_tokens"`
	CacheWrite endpoint.Tokens `json:"cache_creation_input_tokens"`
	CacheRead  endpoint.Tokens `json:"cache_read_input_tokens"`
	Output     endpoint.Tokens `json:"output_tokens"`
}

// take adopts the counts that are there: a stream gives them more than once.
func (u *usage) take(n *usage) {
	u.Input, u.CacheWrite = cmp.Or(n.Input, u.Input), cmp.Or(n.CacheWrite, u.CacheWrite)
	u.CacheRead, u.Output = cmp.Or(n.CacheRead, u.CacheRead), cmp.Or(n.Output, u.Output)
}

func (u *usage) tokens() protocol.Usage {
	t := protocol.Usage{Input: int64(u.Input), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite), Output: int64(u.Output)}
	if t.Input >= 0 {
		t.Input += t.CacheRead + t.CacheWrite // a sum that is too large is negative, which nobody believes
	}
	return t
}

// reading collects an answer. It is an [endpoint.Reader].
type reading struct {
	to     *endpoint.Endpoint
	names  *endpoint.Names
	origin protocol.ModelOrigin
	model  string

	text, reasoning strings.Builder
	calls           []calling
	usage           usage
	stop            string // why the model stopped
}

// calling is a call that is being read.
type calling struct {
	index    int
	id, name string
	given    string // its input, if it came at once
	parts    strings.Builder
}

// maxCalls bounds the calls of one answer; the agent has its own, lower bound.
const maxCalls = 1000

// Whole implements endpoint.Reader.
func (r *reading) Whole(body []byte) error {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Type != "message" {
		return r.unreadable(body, err)
	}
	for i := range a.Content {
		r.begin(i, &a.Content[i])
	}
	r.head(&a)
	return nil
}

// head takes what an answer says of itself.
func (r *reading) head(a *answer) {
	r.origin.ID, r.model = cmp.Or(r.origin.ID, a.ID), cmp.Or(r.model, a.Model)
	r.stop = cmp.Or(a.StopReason, r.stop)
	r.usage.take(&a.Usage)
}

// Part implements endpoint.Reader.
func (r *reading) Part(e endpoint.Event) (llm.Chunk, error) {
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return llm.Chunk{}, r.unreadable(e.Data, err)
	}
	switch cmp.Or(v.Type, e.Type) {
	case "message_start":
		r.head(&v.Message)
	case "content_block_start":
		return r.begin(v.Index, &v.Block), nil
	case "content_block_delta":
		return r.more(v.Index, &content{Type: v.Delta.Type, Text: v.Delta.Text, Thinking: v.Delta.Thinking}, v.Delta.PartialJSON), nil
	case "message_delta":
		r.stop = cmp.Or(v.Delta.StopReason, r.stop)
		r.usage.take(&v.Usage)
	case "message_stop":
		return llm.Chunk{}, io.EOF
	case "error", "":
		return llm.Chunk{}, r.unreadable(e.Data, nil)
	}
	return llm.Chunk{}, nil // ping, content_block_stop, and what is not known
}

// Ended implements endpoint.Reader.
func (r *reading) Ended() bool { return r.stop != "" }

// begin takes a block, or the begin of one.
func (r *reading) begin(index int, b *content) llm.Chunk {
	if b.Type == "tool_use" && len(r.calls) < maxCalls {
		c := calling{index: index, id: b.ID, name: b.Name}
		if text := string(b.Input); text != "{}" && text != "null" {
			c.given = text
		}
		r.calls = append(r.calls, c)
		if c.given != "" && r.answers(&c) {
			r.text.WriteString(c.given)
			return llm.Chunk{Text: c.given}
		}
		return llm.Chunk{}
	}
	return r.more(index, b, "")
}

// more takes a text, a thought, or a part of a call's parameters.
func (r *reading) more(index int, b *content, parameters string) llm.Chunk {
	chunk := llm.Chunk{Text: b.Text, Reasoning: b.Thinking}
	at := slices.IndexFunc(r.calls, func(c calling) bool { return c.index == index })
	if parameters != "" && at >= 0 {
		if c := &r.calls[at]; r.answers(c) {
			chunk.Text = parameters
		} else {
			c.parts.WriteString(parameters)
		}
	}
	r.text.WriteString(chunk.Text)
	r.reasoning.WriteString(chunk.Reasoning)
	return chunk
}

// answers reports whether a call is the tool whose parameters are the answer.
func (r *reading) answers(c *calling) bool { return r.names.ID(c.name) == answerTool }

// Answer implements endpoint.Reader.
func (r *reading) Answer(question int) (protocol.ModelAnswer, error) {
	a := protocol.ModelAnswer{Model: r.model, Text: r.text.String(), Reasoning: r.reasoning.String(), Usage: r.usage.tokens(), Origin: &r.origin}
	size := len(a.Text) + len(a.Reasoning)
	answered := false
	for i := range r.calls {
		c := &r.calls[i]
		if r.answers(c) {
			answered = true
			continue
		}
		input := cmp.Or(c.parts.String(), c.given)
		size += len(input) + len(c.name)
		a.Calls = append(a.Calls, r.names.Call(c.id, c.name, input))
	}
	endpoint.Count(&a.Usage, question, size)
	switch {
	case r.stop == "refusal":
		a.Finish, r.origin.Refused = protocol.FinishFiltered, a.Text
	case r.stop == "max_tokens" || r.stop == "model_context_window_exceeded" || r.stop == "pause_turn":
		a.Finish = protocol.FinishLength
	case len(a.Calls) > 0:
		a.Finish = protocol.FinishToolCalls
	case answered, r.stop == "end_turn", r.stop == "stop_sequence", len(a.Text)+len(a.Reasoning) > 0:
		a.Finish = protocol.FinishStop
	default:
		return a, r.to.Failed(llm.OutcomeBadOutput, "the answer is empty")
	}
	return a, nil
}

// unreadable is the failure of a body or an event that is none of the protocol.
func (r *reading) unreadable(data []byte, err error) error {
	if problem, ok := endpoint.ReadProblem(data); ok {
		return r.to.Problem(0, problem)
	}
	why := "it has no type of a message"
	if err != nil {
		why = err.Error()
	}
	return r.to.Failed(llm.OutcomeBadOutput, "the answer is no message: %s: %s", why, protocol.Short(string(data), 120))
}
