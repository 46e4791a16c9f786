package wire

import (
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// message writes the object of an answer; at the begin of a stream it says
// nothing yet.
func (a *Answer) message(p *Page, begins bool) {
	p.Add(`{"id":"msg_`, a.ID, `","type":"message","role":"assistant","model":`)
	p.text(a.Model)
	p.Add(`,"content":`)
	if begins {
		p.Add(`[],"stop_reason":null,"stop_sequence":null`)
	} else {
		a.blocks(p)
		p.Add(",")
		a.stop(p)
	}
	if !a.Uncounted {
		p.Add(`,"usage":{"input_tokens":`)
		p.number(a.Usage.Input - a.Usage.CacheRead)
		p.Add(`,"cache_creation_input_tokens":0,"cache_read_input_tokens":`)
		p.number(a.Usage.CacheRead)
		p.Add(`,"output_tokens":`)
		if begins {
			p.number(min(a.Usage.Output, 1))
		} else {
			p.number(a.Usage.Output)
		}
		p.Add("}")
	}
	p.Add("}")
}

func (a *Answer) blocks(p *Page) {
	if a.Null && len(a.Calls) == 0 {
		p.Add("null")
		return
	}
	if a.Empty {
		p.Add("[]")
		return
	}
	p.Add("[")
	n := 0
	each := func(write func()) {
		p.Add(open(n, ""))
		n++
		write()
	}
	if a.Reasoning != "" {
		each(func() { p.Add(`{"type":"thinking","thinking":`); p.text(a.Reasoning); p.Add(`,"signature":"mock"}`) })
	}
	if text := a.Text + a.Refusal; text != "" {
		each(func() { p.Add(`{"type":"text","text":`); p.text(text); p.Add("}") })
	}
	for _, c := range a.Calls {
		each(func() {
			p.Add(`{"type":"tool_use","id":`)
			p.text(toolUse(c.ID))
			p.Add(`,"name":`)
			p.text(c.Name)
			p.Add(`,"input":`, c.Args, "}")
		})
	}
	p.Add("]")
}

func toolUse(id string) string { return "toolu_" + strings.TrimPrefix(id, "call_") }

// stop writes why the model stopped.
func (a *Answer) stop(p *Page) {
	reason := stopReason(a)
	p.Add(`"stop_reason":`, reason, `,"stop_sequence":`)
	if reason == stopSequence {
		p.text(a.Stopped)
		return
	}
	p.Add("null")
}

const stopSequence = `"stop_sequence"`

func stopReason(a *Answer) string {
	switch {
	case a.Refusal != "" || a.Finish == protocol.FinishFiltered:
		return `"refusal"`
	case a.Finish == protocol.FinishLength:
		return `"max_tokens"`
	case a.Finish == protocol.FinishToolCalls:
		return `"tool_use"`
	case a.Finish == protocol.FinishStop && a.Stopped != "":
		return stopSequence
	case a.Finish == protocol.FinishStop:
		return `"end_turn"`
	}
	return "null"
}

// messagesStream writes an answer of the messages protocol as events.
func (a *Answer) messagesStream(p *Page) {
	event := func(name string, tokens int, write func()) {
		p.begin(tokens)
		p.Add("event: ", name, "\ndata: {\"type\":\"", name, `"`)
		write()
		p.Add("}\n\n")
	}
	event("message_start", 0, func() { p.Add(`,"message":`); a.message(p, true) })
	index := 0
	block := func(begin, delta, member, text string) {
		at := `,"index":` + strconv.Itoa(index)
		event("content_block_start", 0, func() { p.Add(at, `,"content_block":`, begin) })
		if index == 0 {
			event("ping", 0, func() {})
		}
		chunks(text, func(s string) {
			event("content_block_delta", 1, func() {
				p.Add(at, `,"delta":{"type":"`, delta, `","`, member, `":`)
				p.text(s)
				p.Add("}")
			})
		})
		if member == "thinking" {
			event("content_block_delta", 0, func() { p.Add(at, `,"delta":{"type":"signature_delta","signature":"mock"}`) })
		}
		event("content_block_stop", 0, func() { p.Add(at) })
		index++
	}
	if !a.Empty {
		a.streamed(block)
	}
	event("message_delta", 0, func() {
		p.Add(`,"delta":{`)
		a.stop(p)
		if p.Add("}"); !a.Uncounted {
			p.Add(`,"usage":{"output_tokens":`)
			p.number(a.Usage.Output)
			p.Add("}")
		}
	})
	event("message_stop", 0, func() {})
}

// streamed gives the blocks of a stream, in order.
func (a *Answer) streamed(block func(begin, delta, member, text string)) {
	if a.Reasoning != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", a.Reasoning)
	}
	if text := a.Text + a.Refusal; text != "" {
		block(`{"type":"text","text":""}`, "text_delta", "text", text)
	}
	for _, c := range a.Calls {
		var p Page
		p.Add(`{"type":"tool_use","id":`)
		p.text(toolUse(c.ID))
		p.Add(`,"name":`)
		p.text(c.Name)
		p.Add(`,"input":{}}`)
		block(string(p.Body), "input_json_delta", "partial_json", c.Args)
	}
}
