package openai

import (
	"strings"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// request is the body of a chat completion. Its fields have the names that all servers
// share; others are added by name.
type request struct {
	Model             string         `json:"model"`
	Messages          []message      `json:"messages"`
	Tools             []tool         `json:"tools,omitempty"`
	ToolChoice        any            `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls,omitempty"`
	Temperature       *float64       `json:"temperature,omitempty"` // a pointer: 0 is sent
	TopP              *float64       `json:"top_p,omitempty"`
	Seed              *int64         `json:"seed,omitempty"`
	Stop              []string       `json:"stop,omitempty"`
	ResponseFormat    any            `json:"response_format,omitempty"`
	Stream            bool           `json:"stream,omitempty"`
	StreamOptions     map[string]any `json:"stream_options,omitempty"`
}

type message struct {
	Role       protocol.Role `json:"role"`
	Content    *string       `json:"content"` // null with calls alone
	ToolCalls  []toolCall    `json:"tool_calls,omitempty"`
	ToolCallID string        `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Parameters  any    `json:"parameters,omitempty"`
	} `json:"function"`
}

// encode writes the body of a request.
func (p *Provider) encode(q *protocol.ModelRequest, names *endpoint.Names) ([]byte, error) {
	r := request{Model: p.model, Temperature: q.Temperature, Stop: q.Stop, Messages: make([]message, 0, len(q.Messages))}
	for i := range q.Messages {
		m, err := messageOf(&q.Messages[i], names)
		if err != nil {
			return nil, p.bad("message %d: %s", i, err)
		}
		r.Messages = append(r.Messages, m)
	}
	for i := range q.Tools {
		t := tool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = names.Wire(q.Tools[i].Name), q.Tools[i].Description, q.Tools[i].Parameters
		if t.Function.Parameters == nil {
			t.Function.Parameters = map[string]any{"type": "object", "properties": map[string]any{}} // some servers want it
		}
		r.Tools = append(r.Tools, t)
	}
	more := map[string]any{}
	if q.MaxTokens > 0 {
		more[p.dialect.MaxTokens] = q.MaxTokens
	}
	if p.stream {
		r.Stream = true
		if ask := p.dialect.StreamUsage; ask != nil && *ask {
			r.StreamOptions = map[string]any{"include_usage": true}
		}
	}
	r.ResponseFormat = p.format(q)
	var extra map[string]any
	if o := q.Options; o != nil {
		r.TopP, r.Seed, extra = o.TopP, o.Seed, o.Extra
		if err := p.options(o, &r, names, more); err != nil {
			return nil, err
		}
	}
	body, err := endpoint.Body(&r, more, extra)
	if err != nil {
		return nil, p.bad("the request cannot be written: %s", err)
	}
	return body, nil
}

func messageOf(m *protocol.ModelMessage, names *endpoint.Names) (message, error) {
	out := message{Role: m.Role, ToolCallID: m.CallID}
	if m.Text != "" || len(m.Calls) == 0 {
		out.Content = &m.Text
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		arguments, err := endpoint.Arguments(c)
		if err != nil {
			return out, err
		}
		out.ToolCalls = append(out.ToolCalls, toolCall{ID: c.ID, Type: "function", Function: function{Name: names.Wire(c.Tool), Arguments: string(arguments)}})
	}
	return out, nil
}

// format is how a JSON answer is asked for.
func (p *Provider) format(q *protocol.ModelRequest) any {
	switch {
	case !q.JSON || p.dialect.Schema == "none":
		return nil
	case q.Options != nil && q.Options.Schema != nil && p.dialect.Schema == "json_schema":
		return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": q.Options.Schema}}
	}
	return map[string]any{"type": "json_object"}
}

func (p *Provider) options(o *protocol.ModelOptions, r *request, names *endpoint.Names, more map[string]any) error {
	if o.Parallel != nil && len(r.Tools) > 0 {
		r.ParallelToolCalls = o.Parallel
	}
	switch o.ToolChoice {
	case "":
	case "auto", "none", "required":
		r.ToolChoice = o.ToolChoice
	default:
		r.ToolChoice = map[string]any{"type": "function", "function": map[string]any{"name": names.Wire(o.ToolChoice)}}
	}
	if o.Effort != "" {
		outer, inner, nested := strings.Cut(p.dialect.Effort, ".")
		switch {
		case p.dialect.Effort == "none":
			return p.bad("effort %q: this server has none (dialect.effort of the endpoint)", o.Effort)
		case nested:
			more[outer] = map[string]any{inner: o.Effort}
		default:
			more[outer] = o.Effort
		}
	}
	return nil
}

func (p *Provider) bad(format string, args ...any) error {
	return p.to.Failed(llm.OutcomeBadRequest, format, args...)
}
