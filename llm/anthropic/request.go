package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// request is the body of a question.
type request struct {
	Model         string    `json:"model"`
	MaxTokens     int       `json:"max_tokens"`
	System        []block   `json:"system,omitempty"`
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools,omitempty"`
	ToolChoice    *choice   `json:"tool_choice,omitempty"`
	Thinking      *thinking `json:"thinking,omitempty"`
	Temperature   *float64  `json:"temperature,omitempty"`
	TopP          *float64  `json:"top_p,omitempty"`
	StopSequences []string  `json:"stop_sequences,omitempty"`
	Stream        bool      `json:"stream,omitempty"`
}

type message struct {
	Role    protocol.Role `json:"role"`
	Content []block       `json:"content"`
}

// block is a part of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

// cache marks the end of what later requests share.
type cache struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema any    `json:"input_schema"`
	Cache       *cache `json:"cache_control,omitempty"`
}

type choice struct {
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"`
	Parallel *bool  `json:"disable_parallel_tool_use,omitempty"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

const (
	defaultMaxTokens = 1024
	leastThinking    = 1024 // tokens; the protocol's bound

	answerTool = "$answer" // the tool whose parameters are a JSON answer; no tool of a project has a $
)

// prepare adds the tool for a JSON answer and names the tools.
func (p *Provider) prepare(q *protocol.ModelRequest) (*endpoint.Names, error) {
	o := cmp.Or(q.Options, &protocol.ModelOptions{})
	if q.JSON && o.ToolChoice != "required" && !named(o.ToolChoice) {
		q.Tools = append(slices.Clone(q.Tools), protocol.ToolSpec{Name: answerTool, Description: "Gives the answer.", Parameters: o.Schema})
	}
	return endpoint.NewNames(q), nil
}

// named reports whether a choice of tools is the name of one.
func named(choice string) bool {
	return !slices.Contains([]string{"", "auto", "none", "required"}, choice)
}

// encode writes the body of a request.
func (p *Provider) encode(q *protocol.ModelRequest, names *endpoint.Names) ([]byte, error) {
	o := cmp.Or(q.Options, &protocol.ModelOptions{})
	r := request{Model: p.model, MaxTokens: cmp.Or(q.MaxTokens, defaultMaxTokens), Temperature: q.Temperature, TopP: o.TopP, StopSequences: q.Stop, Stream: p.stream}
	if t := q.Temperature; t != nil && *t > 1 {
		return nil, p.bad("temperature %v: the messages protocol has 0 to 1", *t)
	}
	if err := p.say(&r, q, names); err != nil {
		return nil, err
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		schema := objectSchema(t.Parameters)
		if s, ok := schema.(map[string]any); t.Name == answerTool && (!ok || s["type"] != "object") {
			return nil, p.bad("the schema of the answer: the messages protocol has objects alone (type: object)")
		}
		r.Tools = append(r.Tools, tool{Name: names.Wire(t.Name), Description: t.Description, InputSchema: schema})
	}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].Cache = &cache{"ephemeral"}
		r.ToolChoice = choose(q, o, names)
	}
	if err := p.think(&r, q, o); err != nil {
		return nil, err
	}
	body, err := endpoint.Body(&r, nil, o.Extra)
	if err != nil {
		return nil, p.bad("the request cannot be written: %s", err)
	}
	return body, nil
}

// objectSchema is a schema that says that it is of an object, as the protocol wants it.
func objectSchema(schema any) any {
	s, ok := schema.(map[string]any)
	if schema != nil && (!ok || s["type"] != nil) {
		return schema
	}
	s = maps.Clone(s)
	if s == nil {
		s = map[string]any{}
	}
	s["type"] = "object"
	return s
}

// say writes the system text and the messages.
func (p *Provider) say(r *request, q *protocol.ModelRequest, names *endpoint.Names) error {
	var system []string
	for i := range q.Messages {
		m := &q.Messages[i]
		switch m.Role {
		case protocol.RoleSystem:
			if len(texts(m.Text)) > 0 {
				system = append(system, m.Text)
			}
		case protocol.RoleAssistant:
			blocks, err := said(m, names)
			if err != nil {
				return p.bad("message %d: %s", i, err)
			}
			r.add(protocol.RoleAssistant, blocks...)
		case protocol.RoleTool:
			r.add(protocol.RoleUser, block{Type: "tool_result", ToolUseID: wireID(m.CallID), Content: m.Text})
		case protocol.RoleUser:
			r.add(protocol.RoleUser, texts(m.Text)...)
		default:
			return p.bad("message %d: unknown role %q", i, m.Role)
		}
	}
	switch {
	case len(r.Messages) == 0 && len(system) == 0:
		return p.bad("the request has no message with a text")
	case len(r.Messages) == 0:
		r.add(protocol.RoleUser, texts(strings.Join(system, "\n\n"))...)
	case r.Messages[0].Role != protocol.RoleUser:
		return p.bad("the first message is the assistant's; the messages protocol wants a user's first")
	case len(system) > 0:
		r.System = texts(strings.Join(system, "\n\n"))
		r.System[0].Cache = &cache{"ephemeral"}
	}
	return nil
}

// add puts blocks into the last message if it is of the same side. Results of tools
// come first, as the protocol wants it.
func (r *request) add(role protocol.Role, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != role {
		r.Messages = append(r.Messages, message{Role: role})
	}
	m := &r.Messages[len(r.Messages)-1]
	m.Content = append(m.Content, blocks...)
	slices.SortStableFunc(m.Content, func(a, b block) int { return cmp.Compare(rank(&a), rank(&b)) })
}

func rank(b *block) int {
	if b.Type == "tool_result" {
		return 0
	}
	return 1
}

// texts is a block for a text; the protocol takes none without a character that is seen.
func texts(text string) []block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []block{{Type: "text", Text: text}}
}

// said are the blocks of an assistant.
func said(m *protocol.ModelMessage, names *endpoint.Names) ([]block, error) {
	blocks := texts(m.Text)
	for i := range m.Calls {
		c := &m.Calls[i]
		input, err := endpoint.Arguments(c)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block{Type: "tool_use", ID: wireID(c.ID), Name: names.Wire(c.Tool), Input: input})
	}
	return blocks, nil
}

// wireID is an id of a call with the characters that the protocol takes.
func wireID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// choose says whether calls are wanted; nil leaves it to the model.
func choose(q *protocol.ModelRequest, o *protocol.ModelOptions, names *endpoint.Names) *choice {
	c := &choice{Type: "auto"}
	if o.Parallel != nil && !*o.Parallel {
		no := true
		c.Parallel = &no
	}
	last := q.Tools[len(q.Tools)-1].Name
	switch {
	case named(o.ToolChoice):
		c.Type, c.Name = "tool", names.Wire(o.ToolChoice)
	case last == answerTool && (o.ToolChoice == "none" || len(q.Tools) == 1):
		c.Type, c.Name = "tool", names.Wire(answerTool)
	case o.ToolChoice == "required", last == answerTool:
		c.Type = "any"
	case o.ToolChoice == "none":
		return &choice{Type: "none"}
	case c.Parallel == nil && o.ToolChoice == "":
		return nil
	}
	return c
}

// think gives a part of the answer's tokens to thinking.
func (p *Provider) think(r *request, q *protocol.ModelRequest, o *protocol.ModelOptions) error {
	if o.Effort == "" || r.Messages[len(r.Messages)-1].Content[0].Type == "tool_result" {
		return nil
	}
	budget := map[string]int{"minimal": leastThinking, "low": r.MaxTokens / 4, "medium": r.MaxTokens / 2, "high": r.MaxTokens / 4 * 3}[o.Effort]
	switch {
	case budget == 0:
		return p.bad("effort %q: want minimal, low, medium or high", o.Effort)
	case r.MaxTokens <= leastThinking:
		return p.bad("effort %q: thinking takes at least %d of max_tokens, which are %d; set max_tokens higher", o.Effort, leastThinking, r.MaxTokens)
	case q.Temperature != nil && *q.Temperature != 1:
		return p.bad("effort %q with temperature %v: the messages protocol has 1 alone while a model thinks", o.Effort, *q.Temperature)
	case r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool"):
		return p.bad("effort %q: the messages protocol cannot require a call, or a JSON answer, of a model that thinks", o.Effort)
	}
	r.Thinking = &thinking{"enabled", max(budget, leastThinking)}
	return nil
}

func (p *Provider) bad(format string, args ...any) error {
	return p.to.Failed(llm.OutcomeBadRequest, format, args...)
}
