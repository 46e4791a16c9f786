package openai

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// encode writes the body of a chat completion. Fields have the names that all servers
// share; others follow by name, those of the model file last.
func (p *chat) encode(q *protocol.ModelRequest, names *toolcall.Names) ([]byte, error) {
	if choice := toolcall.Unmet(q); choice != "" {
		return nil, p.bad("tool_choice %q: the request has no tools", choice)
	}
	b := make([]byte, 0, sizeOf(q))
	b = wirejson.AppendText(append(b, `{"model":`...), p.model)
	b = append(b, `,"messages":[`...)
	var err error
	for i := range q.Messages {
		if b, err = appendMessage(wirejson.Comma(b), q, i, names); err != nil {
			return nil, p.bad("message %d: %s", i, err)
		}
	}
	if b, err = p.appendTools(append(b, ']'), q, names); err != nil {
		return nil, p.bad("the request cannot be written: %s", err)
	}
	if b, err = p.appendSampling(b, q); err != nil {
		return nil, p.bad("the request cannot be written: %s", err)
	}
	if q.MaxTokens > 0 {
		b = wirejson.AppendText(append(b, ','), p.dialect.MaxTokens)
		b = strconv.AppendInt(append(b, ':'), int64(q.MaxTokens), 10)
	}
	var extra map[string]any
	if o := q.Options; o != nil {
		if extra = o.Extra; o.Effort != "" {
			if b, err = p.appendEffort(b, o.Effort); err != nil {
				return nil, err
			}
		}
	}
	if b, err = endpoint.Extend(append(b, '}'), extra); err != nil {
		return nil, p.bad("the request cannot be written: %s", err)
	}
	return b, nil
}

// sizeOf is about the size of a request in bytes.
func sizeOf(q *protocol.ModelRequest) int {
	n := 256 + 512*len(q.Tools)
	for i := range q.Messages {
		n += len(q.Messages[i].Text) + len(q.Messages[i].Text)/16 + 48 + 128*len(q.Messages[i].Calls)
	}
	return n
}

// appendMessage writes message i. The protocol has no pictures in results of tools, and
// nothing but results behind calls: a message of the user follows the last of them.
func appendMessage(b []byte, q *protocol.ModelRequest, i int, names *toolcall.Names) (_ []byte, err error) {
	m := &q.Messages[i]
	b = wirejson.AppendText(append(b, `{"role":`...), string(m.Role))
	switch b = append(b, `,"content":`...); {
	case len(m.Images) > 0 && m.Role == protocol.RoleUser:
		if b, err = appendParts(b, q, m.Text, q.Messages[i:i+1]); err != nil {
			return nil, err
		}
	case m.Text != "" || len(m.Calls) == 0:
		b = wirejson.AppendText(b, m.Text)
	default:
		b = append(b, "null"...)
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		arguments, err := endpoint.Arguments(c)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		}
		b = wirejson.AppendText(append(wirejson.Comma(b), `{"id":`...), c.ID)
		b = wirejson.AppendText(append(b, `,"type":"function","function":{"name":`...), names.Wire(c.Tool))
		b = wirejson.AppendText(append(b, `,"arguments":`...), string(arguments))
		b = append(b, "}}"...)
	}
	if len(m.Calls) > 0 {
		b = append(b, ']')
	}
	if m.CallID != "" {
		b = wirejson.AppendText(append(b, `,"tool_call_id":`...), m.CallID)
	}
	if b = append(b, '}'); m.Role != protocol.RoleTool || i+1 < len(q.Messages) && q.Messages[i+1].Role == protocol.RoleTool {
		return b, nil
	}
	from := i
	for from > 0 && q.Messages[from-1].Role == protocol.RoleTool {
		from--
	}
	if !slices.ContainsFunc(q.Messages[from:i+1], func(m protocol.ModelMessage) bool { return len(m.Images) > 0 }) {
		return b, nil
	}
	b, err = appendParts(append(b, `,{"role":"user","content":`...), q, "The pictures of these results, in their order:", q.Messages[from:i+1])
	return append(b, '}'), err
}

// appendParts writes a text, and the pictures of messages.
func appendParts(b []byte, q *protocol.ModelRequest, text string, of []protocol.ModelMessage) (_ []byte, err error) {
	if b = append(b, '['); text != "" {
		b = append(wirejson.AppendText(append(b, `{"type":"text","text":`...), text), '}')
	}
	for i := range of {
		for k := range of[i].Images {
			image := &of[i].Images[k]
			b = append(wirejson.Comma(b), `{"type":"image_url","image_url":{"url":"data:`...)
			if b, err = llm.AppendPicture(append(append(b, image.Type...), ";base64,"...), q, image); err != nil {
				return nil, err
			}
			b = append(b, `"}}`...)
		}
	}
	return append(b, ']'), nil
}

// appendTools writes the tools and which of them are wanted.
func (p *chat) appendTools(b []byte, q *protocol.ModelRequest, names *toolcall.Names) (_ []byte, err error) {
	for i := range q.Tools {
		t := &q.Tools[i]
		if i == 0 {
			b = append(b, `,"tools":[`...)
		}
		b = wirejson.AppendText(append(wirejson.Comma(b), `{"type":"function","function":{"name":`...), names.Wire(t.Name))
		if t.Description != "" {
			b = wirejson.AppendText(append(b, `,"description":`...), t.Description)
		}
		if b = append(b, `,"parameters":`...); t.Parameters == nil {
			b = append(b, `{"properties":{},"type":"object"}`...) // some servers want it
		} else if b, err = wirejson.AppendAny(b, t.Parameters); err != nil {
			return nil, err
		}
		b = append(b, "}}"...)
	}
	if len(q.Tools) == 0 { // servers refuse a choice without tools
		return b, nil
	}
	if b = append(b, ']'); q.Options == nil {
		return b, nil
	}
	switch choice := q.Options.ToolChoice; choice {
	case "":
	case "auto", "none", "required":
		b = wirejson.AppendText(append(b, `,"tool_choice":`...), choice)
	default:
		b = wirejson.AppendText(append(b, `,"tool_choice":{"function":{"name":`...), names.Wire(choice))
		b = append(b, `},"type":"function"}`...)
	}
	if parallel := q.Options.Parallel; parallel != nil {
		b = strconv.AppendBool(append(b, `,"parallel_tool_calls":`...), *parallel)
	}
	return b, nil
}

// appendSampling writes how the answer is made. A temperature of 0 is sent.
func (p *chat) appendSampling(b []byte, q *protocol.ModelRequest) (_ []byte, err error) {
	if q.Temperature != nil {
		if b, err = wirejson.AppendFloat(append(b, `,"temperature":`...), *q.Temperature); err != nil {
			return nil, err
		}
	}
	if o := q.Options; o != nil && o.TopP != nil {
		if b, err = wirejson.AppendFloat(append(b, `,"top_p":`...), *o.TopP); err != nil {
			return nil, err
		}
	}
	if o := q.Options; o != nil && o.Seed != nil {
		b = strconv.AppendInt(append(b, `,"seed":`...), *o.Seed, 10)
	}
	if len(q.Stop) > 0 {
		if b, err = wirejson.AppendAny(append(b, `,"stop":`...), q.Stop); err != nil {
			return nil, err
		}
	}
	if b, err = p.appendFormat(b, q); err != nil {
		return nil, err
	}
	if p.stream {
		b = append(b, `,"stream":true`...)
		if ask := p.dialect.StreamUsage; ask != nil && *ask {
			b = append(b, `,"stream_options":{"include_usage":true}`...)
		}
	}
	return b, nil
}

// appendFormat asks for a JSON answer.
func (p *chat) appendFormat(b []byte, q *protocol.ModelRequest) (_ []byte, err error) {
	switch {
	case !q.JSON || p.dialect.Schema == "none":
		return b, nil
	case q.Options != nil && q.Options.Schema != nil && p.dialect.Schema == "json_schema":
		if b, err = wirejson.AppendAny(append(b, `,"response_format":{"json_schema":{"name":"answer","schema":`...), q.Options.Schema); err != nil {
			return nil, err
		}
		return append(b, `},"type":"json_schema"}`...), nil
	}
	return append(b, `,"response_format":{"type":"json_object"}`...), nil
}

func (p *chat) appendEffort(b []byte, effort string) ([]byte, error) {
	outer, inner, nested := strings.Cut(p.dialect.Effort, ".")
	if p.dialect.Effort == "none" {
		return nil, p.bad("effort %q: this server has none (dialect.effort of the endpoint)", effort)
	}
	b = append(wirejson.AppendText(append(b, ','), outer), ':')
	if !nested {
		return wirejson.AppendText(b, effort), nil
	}
	b = append(wirejson.AppendText(append(b, '{'), inner), ':')
	return append(wirejson.AppendText(b, effort), '}'), nil
}
