package anthropic

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// request is the body of a question.
type request struct {
	model         string
	maxTokens     int
	system        []block
	messages      []message
	tools         []tool
	toolChoice    *choice
	thinking      int // tokens; 0 = none
	temperature   *float64
	topP          *float64
	stopSequences []string
	stream        bool
}

type message struct {
	role    protocol.Role
	content []block
}

// block is a part of a message. Its fields are those of its kind alone.
type block struct {
	kind            string
	text            string
	id, name, input string  // of a call
	answers, result string  // a call's id, and what came of it
	images          []block // of a result
	media           string  // type of a picture
	data            []byte  // of it, in base64
	cache           bool    // marks the end of what later requests share
}

type tool struct {
	name        string
	description string
	schema      any
	cache       bool
}

type choice struct {
	kind     string
	name     string
	parallel bool // false = one call at most
}

// append writes the body.
func (r *request) append(b []byte) (_ []byte, err error) {
	b = wirejson.AppendText(append(b, `{"model":`...), r.model)
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(r.maxTokens), 10)
	if len(r.system) > 0 {
		b = appendBlocks(append(b, `,"system":`...), r.system)
	}
	b = append(b, `,"messages":[`...)
	for i := range r.messages {
		m := &r.messages[i]
		b = wirejson.AppendText(append(wirejson.Comma(b), `{"role":`...), string(m.role))
		b = append(appendBlocks(append(b, `,"content":`...), m.content), '}')
	}
	b = append(b, ']')
	if b, err = r.appendTools(b); err != nil {
		return nil, err
	}
	if r.thinking > 0 {
		b = strconv.AppendInt(append(b, `,"thinking":{"type":"enabled","budget_tokens":`...), int64(r.thinking), 10)
		b = append(b, '}')
	}
	if r.temperature != nil {
		if b, err = wirejson.AppendFloat(append(b, `,"temperature":`...), *r.temperature); err != nil {
			return nil, err
		}
	}
	if r.topP != nil {
		if b, err = wirejson.AppendFloat(append(b, `,"top_p":`...), *r.topP); err != nil {
			return nil, err
		}
	}
	if len(r.stopSequences) > 0 {
		if b, err = wirejson.AppendAny(append(b, `,"stop_sequences":`...), r.stopSequences); err != nil {
			return nil, err
		}
	}
	if r.stream {
		b = append(b, `,"stream":true`...)
	}
	return append(b, '}'), nil
}

func (r *request) appendTools(b []byte) (_ []byte, err error) {
	if len(r.tools) == 0 {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i := range r.tools {
		t := &r.tools[i]
		b = wirejson.AppendText(append(wirejson.Comma(b), `{"name":`...), t.name)
		if t.description != "" {
			b = wirejson.AppendText(append(b, `,"description":`...), t.description)
		}
		if b, err = wirejson.AppendAny(append(b, `,"input_schema":`...), t.schema); err != nil {
			return nil, err
		}
		b = append(appendCache(b, t.cache), '}')
	}
	b = append(b, ']')
	if c := r.toolChoice; c != nil {
		b = wirejson.AppendText(append(b, `,"tool_choice":{"type":`...), c.kind)
		if c.name != "" {
			b = wirejson.AppendText(append(b, `,"name":`...), c.name)
		}
		if !c.parallel {
			b = append(b, `,"disable_parallel_tool_use":true`...)
		}
		b = append(b, '}')
	}
	return b, nil
}

func appendBlocks(b []byte, blocks []block) []byte {
	b = append(b, '[')
	for i := range blocks {
		x := &blocks[i]
		b = wirejson.AppendText(append(wirejson.Comma(b), `{"type":`...), x.kind)
		field := func(name, value string) {
			if value != "" {
				b = wirejson.AppendText(append(append(append(b, `,"`...), name...), `":`...), value)
			}
		}
		field("text", x.text)
		field("id", x.id)
		field("name", x.name)
		if x.input != "" {
			b = append(append(b, `,"input":`...), x.input...)
		}
		field("tool_use_id", x.answers)
		if len(x.images) > 0 {
			b = appendBlocks(append(b, `,"content":`...), append(texts(x.result), x.images...))
		} else {
			field("content", x.result)
		}
		if x.media != "" {
			b = wirejson.AppendText(append(b, `,"source":{"type":"base64","media_type":`...), x.media)
			b = append(append(append(b, `,"data":"`...), x.data...), `"}`...)
		}
		b = append(appendCache(b, x.cache), '}')
	}
	return append(b, ']')
}

func appendCache(b []byte, marked bool) []byte {
	if marked {
		b = append(b, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return b
}

// sizeOf is about the size of a request in bytes.
func sizeOf(q *protocol.ModelRequest) int {
	n := 512 + 512*len(q.Tools)
	for i := range q.Messages {
		n += len(q.Messages[i].Text) + len(q.Messages[i].Text)/16 + 64 + 128*len(q.Messages[i].Calls)
	}
	return n
}

const (
	defaultMaxTokens = 1024
	leastThinking    = 1024 // tokens; the protocol's bound

	answerTool = "$answer" // the tool whose parameters are a JSON answer; no tool of a project has a $
)

// withAnswer adds the tool for a JSON answer.
func withAnswer(q *protocol.ModelRequest) *protocol.ModelRequest {
	o := cmp.Or(q.Options, &protocol.ModelOptions{})
	if !q.JSON || o.ToolChoice == "required" || named(o.ToolChoice) {
		return q
	}
	with := *q
	with.Tools = append(slices.Clone(q.Tools), protocol.ToolSpec{Name: answerTool, Description: "Gives the answer.", Parameters: o.Schema})
	return &with
}

// named reports whether a choice of tools is the name of one.
func named(choice string) bool {
	return !slices.Contains([]string{"", "auto", "none", "required"}, choice)
}

// encode writes the body of a request.
func (p *messages) encode(q *protocol.ModelRequest, names *toolcall.Names) ([]byte, error) {
	o := cmp.Or(q.Options, &protocol.ModelOptions{})
	r := request{model: p.model, maxTokens: cmp.Or(q.MaxTokens, defaultMaxTokens), temperature: q.Temperature, topP: o.TopP, stopSequences: q.Stop, stream: p.stream}
	if t := q.Temperature; t != nil && *t > 1 {
		return nil, p.bad("temperature %v: the messages protocol has 0 to 1", *t)
	}
	if choice := toolcall.Unmet(q); choice != "" {
		return nil, p.bad("tool_choice %q: the request has no tools", choice)
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
		r.tools = append(r.tools, tool{name: names.Wire(t.Name), description: t.Description, schema: schema})
	}
	if n := len(r.tools); n > 0 {
		r.tools[n-1].cache = true
		r.toolChoice = choose(q, o, names)
	}
	if err := p.think(&r, q, o); err != nil {
		return nil, err
	}
	body, err := r.append(make([]byte, 0, sizeOf(q)))
	if err == nil {
		body, err = endpoint.Extend(body, o.Extra)
	}
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
func (p *messages) say(r *request, q *protocol.ModelRequest, names *toolcall.Names) error {
	var system []string
	for i := range q.Messages {
		m := &q.Messages[i]
		images, err := pictures(q, m)
		if err != nil {
			return p.bad("message %d: %s", i, err)
		}
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
			r.add(protocol.RoleUser, block{kind: "tool_result", answers: wireID(m.CallID), result: m.Text, images: images})
		case protocol.RoleUser:
			r.add(protocol.RoleUser, append(texts(m.Text), images...)...)
		default:
			return p.bad("message %d: unknown role %q", i, m.Role)
		}
	}
	switch {
	case len(r.messages) == 0 && len(system) == 0:
		return p.bad("the request has no message with a text")
	case len(r.messages) == 0:
		r.add(protocol.RoleUser, texts(strings.Join(system, "\n\n"))...)
	case r.messages[0].role != protocol.RoleUser:
		return p.bad("the first message is the assistant's; the messages protocol wants a user's first")
	case len(system) > 0:
		r.system = texts(strings.Join(system, "\n\n"))
		r.system[0].cache = true
	}
	return nil
}

// add puts blocks into the last message if it is of the same side. Results of tools
// come first, as the protocol wants it.
func (r *request) add(role protocol.Role, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(r.messages); n == 0 || r.messages[n-1].role != role {
		r.messages = append(r.messages, message{role: role})
	}
	m := &r.messages[len(r.messages)-1]
	m.content = append(m.content, blocks...)
	slices.SortStableFunc(m.content, func(a, b block) int { return cmp.Compare(rank(&a), rank(&b)) })
}

func rank(b *block) int {
	if b.kind == "tool_result" {
		return 0
	}
	return 1
}

// texts is a block for a text; the protocol takes none without a character that is seen.
func texts(text string) []block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []block{{kind: "text", text: text}}
}

func pictures(q *protocol.ModelRequest, m *protocol.ModelMessage) (blocks []block, err error) {
	for i := range m.Images {
		b := block{kind: "image", media: m.Images[i].Type}
		if b.data, err = llm.AppendPicture(nil, q, &m.Images[i]); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// said are the blocks of an assistant.
func said(m *protocol.ModelMessage, names *toolcall.Names) ([]block, error) {
	blocks := texts(m.Text)
	for i := range m.Calls {
		c := &m.Calls[i]
		input, err := endpoint.Arguments(c)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block{kind: "tool_use", id: wireID(c.ID), name: names.Wire(c.Tool), input: string(input)})
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
func choose(q *protocol.ModelRequest, o *protocol.ModelOptions, names *toolcall.Names) *choice {
	c := &choice{kind: "auto", parallel: o.Parallel == nil || *o.Parallel}
	last := q.Tools[len(q.Tools)-1].Name
	switch {
	case named(o.ToolChoice):
		c.kind, c.name = "tool", names.Wire(o.ToolChoice)
	case last == answerTool && (o.ToolChoice == "none" || len(q.Tools) == 1):
		c.kind, c.name, c.parallel = "tool", names.Wire(answerTool), false // one answer
	case o.ToolChoice == "required", last == answerTool:
		c.kind = "any"
	case o.ToolChoice == "none":
		return &choice{kind: "none", parallel: true}
	case c.parallel && o.ToolChoice == "":
		return nil
	}
	return c
}

// think gives a part of the answer's tokens to thinking.
func (p *messages) think(r *request, q *protocol.ModelRequest, o *protocol.ModelOptions) error {
	if o.Effort == "" || r.messages[len(r.messages)-1].content[0].kind == "tool_result" {
		return nil
	}
	budget := map[string]int{"minimal": leastThinking, "low": r.maxTokens / 4, "medium": r.maxTokens / 2, "high": r.maxTokens / 4 * 3}[o.Effort]
	switch {
	case budget == 0:
		return p.bad("effort %q: want minimal, low, medium or high", o.Effort)
	case r.maxTokens <= leastThinking:
		return p.bad("effort %q: thinking takes at least %d of max_tokens, which are %d; set max_tokens higher", o.Effort, leastThinking, r.maxTokens)
	case q.Temperature != nil && *q.Temperature != 1:
		return p.bad("effort %q with temperature %v: the messages protocol has 1 alone while a model thinks", o.Effort, *q.Temperature)
	case r.toolChoice != nil && (r.toolChoice.kind == "any" || r.toolChoice.kind == "tool"):
		return p.bad("effort %q: the messages protocol cannot require a call, or a JSON answer, of a model that thinks", o.Effort)
	}
	r.thinking = max(budget, leastThinking)
	return nil
}

func (p *messages) bad(format string, args ...any) error {
	return p.to.Failed(llm.OutcomeBadRequest, format, args...)
}
