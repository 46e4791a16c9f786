package openai

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

// completion is an answer, or a part of a streamed one.
type completion struct {
	ID                string          `json:"id"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint"`
	Choices           []choice        `json:"choices"`
	Usage             *usage          `json:"usage"`
	Error             json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      *said  `json:"message"`
	Delta        *said  `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

// said is a message, or a part of one.
type said struct {
	content   content
	refusal   string
	calls     []part
	reasoning map[string]string // by field, as servers differ
}

// part is a call, or a part of one.
type part struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// arguments are a text; some servers give the object itself.
type arguments string

// UnmarshalJSON takes both.
func (a *arguments) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*a = arguments(s)
		return nil
	}
	*a = arguments(b)
	return nil
}

// content is a text, null, or a list of parts with texts.
type content string

// UnmarshalJSON takes all three.
func (c *content) UnmarshalJSON(b []byte) error {
	var s *string
	if json.Unmarshal(b, &s) == nil {
		if s != nil {
			*c = content(*s)
		}
		return nil
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text + p.Refusal)
	}
	return nil
}

// UnmarshalJSON reads a message of any server.
func (s *said) UnmarshalJSON(b []byte) error {
	var known struct {
		Content   content `json:"content"`
		Refusal   string  `json:"refusal"`
		ToolCalls []part  `json:"tool_calls"`
		// [endpoint.Rules] allow these names in a dialect and no others.
		ReasoningContent string `json:"reasoning_content"`
		Reasoning        any    `json:"reasoning"`
	}
	if err := json.Unmarshal(b, &known); err != nil {
		return err
	}
	s.content, s.refusal, s.calls = known.Content, known.Refusal, known.ToolCalls
	if known.ReasoningContent != "" {
		s.thought("reasoning_content", known.ReasoningContent)
	}
	if text, ok := known.Reasoning.(string); ok && text != "" {
		s.thought("reasoning", text)
	}
	return nil
}

func (s *said) thought(field, text string) {
	if s.reasoning == nil {
		s.reasoning = map[string]string{}
	}
	s.reasoning[field] = text
}

type usage struct {
	PromptTokens     endpoint.Tokens `json:"prompt_tokens"`
	CompletionTokens endpoint.Tokens `json:"completion_tokens"`
	TotalTokens      endpoint.Tokens `json:"total_tokens"`
	Prompt           struct {
		CachedTokens endpoint.Tokens `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Completion struct {
		ReasoningTokens endpoint.Tokens `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) tokens() protocol.Usage {
	t := protocol.Usage{
		Input: int64(u.PromptTokens), Output: int64(u.CompletionTokens), CacheRead: int64(u.Prompt.CachedTokens), Reasoning: int64(u.Completion.ReasoningTokens),
	}
	if t.Reasoning > 0 && int64(u.TotalTokens) == t.Input+t.Output+t.Reasoning {
		t.Output += t.Reasoning // some services count it apart
	}
	return t
}

// reading collects an answer. It is an [endpoint.Reader].
type reading struct {
	*Provider
	names  *endpoint.Names
	answer protocol.ModelAnswer
	origin protocol.ModelOrigin

	text, reasoning strings.Builder
	calls           []calling
	usage           usage
	finish          string
	refused         strings.Builder
}

// Whole implements endpoint.Reader.
func (r *reading) Whole(body []byte) error {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil || len(c.Choices) == 0 {
		return r.unreadable(body, err)
	}
	_, err := r.take(&c)
	return err
}

// Part implements endpoint.Reader.
func (r *reading) Part(e endpoint.Event) (llm.Chunk, error) {
	if string(e.Data) == "[DONE]" {
		return llm.Chunk{}, io.EOF
	}
	var c completion
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return llm.Chunk{}, r.unreadable(e.Data, err)
	}
	return r.take(&c)
}

// Ended implements endpoint.Reader.
func (r *reading) Ended() bool { return r.finish != "" }

// calling is a call that is being read.
type calling struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// take adds a completion, or a part of one, and returns what is new in it.
func (r *reading) take(c *completion) (add llm.Chunk, err error) {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		p, _ := endpoint.ReadProblem(slices.Concat([]byte(`{"error":`), c.Error, []byte("}")))
		return add, r.to.Problem(0, p)
	}
	r.origin.ID, r.origin.Fingerprint = cmp.Or(r.origin.ID, c.ID), cmp.Or(r.origin.Fingerprint, c.SystemFingerprint)
	r.answer.Model = cmp.Or(r.answer.Model, c.Model)
	if c.Usage != nil {
		r.usage = *c.Usage
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		m := ch.Message
		if m == nil {
			m = ch.Delta
		}
		if m != nil {
			add.Text += string(m.content)
			add.Reasoning += r.thought(m)
			r.refused.WriteString(m.refusal)
			for k := range m.calls {
				r.part(&m.calls[k])
			}
		}
		if ch.FinishReason != "" {
			r.finish = ch.FinishReason
		}
	}
	r.text.WriteString(add.Text)
	r.reasoning.WriteString(add.Reasoning)
	return add, nil
}

func (r *reading) thought(m *said) string {
	for _, field := range r.dialect.Reasoning {
		if text := m.reasoning[field]; text != "" {
			return text
		}
	}
	return ""
}

// part adds a part of a call: to the call of its index, or without an index to a new
// one if it has a name.
func (r *reading) part(p *part) {
	at := -1
	if p.Index != nil {
		at = slices.IndexFunc(r.calls, func(c calling) bool { return c.index == *p.Index })
		if at >= 0 && p.ID != "" && r.calls[at].id != "" && p.ID != r.calls[at].id {
			at = -1 // the server counts badly: another id is another call
		}
	} else if p.Function.Name == "" {
		at = len(r.calls) - 1
	}
	if at < 0 {
		if len(r.calls) == maxCalls {
			return
		}
		at = len(r.calls)
		r.calls = append(r.calls, calling{index: at})
		if p.Index != nil {
			r.calls[at].index = *p.Index
		}
	}
	c := &r.calls[at]
	c.id, c.name = cmp.Or(c.id, p.ID), cmp.Or(c.name, p.Function.Name)
	c.arguments.WriteString(string(p.Function.Arguments))
}

// maxCalls bounds the calls of one answer; the agent has its own, lower bound.
const maxCalls = 1000

// Answer implements endpoint.Reader.
func (r *reading) Answer(question int) (protocol.ModelAnswer, error) {
	a := &r.answer
	a.Text, a.Reasoning = r.text.String(), r.reasoning.String()
	size := len(a.Text) + len(a.Reasoning)
	for i := range r.calls {
		c := &r.calls[i]
		size += c.arguments.Len() + len(c.name)
		a.Calls = append(a.Calls, r.names.Call(c.id, c.name, c.arguments.String()))
	}
	a.Usage = r.usage.tokens()
	endpoint.Count(&a.Usage, question, size)
	r.origin.Refused = r.refused.String()
	a.Origin = &r.origin
	var err error
	a.Finish, err = r.finished()
	return *a, err
}

func (r *reading) finished() (protocol.FinishReason, error) {
	switch {
	case r.finish == "content_filter" || r.refused.Len() > 0:
		return protocol.FinishFiltered, nil
	case r.finish == "length":
		return protocol.FinishLength, nil
	case len(r.calls) > 0:
		return protocol.FinishToolCalls, nil
	case r.finish == "error":
		return "", r.to.Failed(llm.OutcomeServerError, "the server broke the answer off")
	case r.text.Len() == 0 && r.reasoning.Len() == 0 && r.finish != "stop":
		return "", r.to.Failed(llm.OutcomeBadOutput, "the answer is empty")
	}
	return protocol.FinishStop, nil
}

// unreadable is the failure of a body that is no completion.
func (r *reading) unreadable(data []byte, err error) error {
	if problem, ok := endpoint.ReadProblem(data); ok {
		return r.to.Problem(0, problem)
	}
	why := "it has no choices"
	if err != nil {
		why = err.Error()
	}
	return r.to.Failed(llm.OutcomeBadOutput, "the answer is no chat completion: %s: %s", why, protocol.Short(string(data), 120))
}
