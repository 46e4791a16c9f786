package anthropic

import (
	"cmp"
	"io"
	"slices"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// answer is an answer that came at once, or what a stream begins with.
type answer struct {
	kind, id, model string
	content         []content
	stop            string
	usage           usage
}

func (a *answer) read(r *wirejson.Reader, model string) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "type":
			a.kind = r.Text("message")
		case "id":
			a.id = r.TextOrSkip()
		case "model":
			a.model = r.TextOrSkip(model)
		case "content":
			r.Array(func() {
				a.content = append(a.content, content{})
				a.content[len(a.content)-1].read(r)
			})
		case "stop_reason":
			a.stop = r.TextOrSkip("end_turn", "tool_use", "max_tokens")
		case "usage":
			a.usage.read(r)
		}
	})
}

// content is a block of an answer, or what is new of one.
type content struct {
	kind           string
	text, thinking string
	id, name       string
	input          string // JSON
	partialInput   string
	stop           string // of the whole answer
}

func (c *content) read(r *wirejson.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "type":
			c.kind = r.Text("text", "tool_use", "text_delta", "input_json_delta")
		case "text":
			c.text = r.TextPart()
		case "thinking":
			c.thinking = r.TextOrSkip()
		case "id":
			c.id = r.TextOrSkip()
		case "name":
			c.name = r.Text()
		case "input":
			c.input = string(r.Raw())
		case "partial_json":
			c.partialInput = r.TextPart()
		case "stop_reason":
			c.stop = r.TextOrSkip("end_turn", "tool_use", "max_tokens")
		}
	})
}

// event is a part of a stream.
type event struct {
	kind    string
	index   int
	message answer
	block   content // it begins
	delta   content // it goes on
	usage   usage
}

func (e *event) read(r *wirejson.Reader, model string) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "type":
			e.kind = r.Text("content_block_delta")
		case "index":
			e.index = r.Int()
		case "message":
			e.message.read(r, model)
		case "content_block":
			e.block.read(r)
		case "delta":
			e.delta.read(r)
		case "usage":
			e.usage.read(r)
		}
	})
}

// usage counts tokens; those from and for a cache are not among the input's.
type usage struct {
	input, cacheWrite, cacheRead, output endpoint.Tokens
}

// read leaves what is no object: then nothing was counted.
func (u *usage) read(r *wirejson.Reader) {
	if !r.Is('{') {
		return
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "input_tokens":
			u.input.Read(r)
		case "cache_creation_input_tokens":
			u.cacheWrite.Read(r)
		case "cache_read_input_tokens":
			u.cacheRead.Read(r)
		case "output_tokens":
			u.output.Read(r)
		}
	})
}

// take adopts the counts that are there: a stream gives them more than once.
func (u *usage) take(n *usage) {
	u.input, u.cacheWrite = cmp.Or(n.input, u.input), cmp.Or(n.cacheWrite, u.cacheWrite)
	u.cacheRead, u.output = cmp.Or(n.cacheRead, u.cacheRead), cmp.Or(n.output, u.output)
}

func (u *usage) tokens() protocol.Usage {
	t := protocol.Usage{Input: int64(u.input), CacheRead: int64(u.cacheRead), CacheWrite: int64(u.cacheWrite), Output: int64(u.output)}
	if t.Input >= 0 {
		t.Input += t.CacheRead + t.CacheWrite // a sum that is too large is negative, which nobody believes
	}
	return t
}

// reading collects an answer. It is an [endpoint.Reader].
type reading struct {
	*messages
	asked  *protocol.ModelRequest
	names  toolcall.Names
	origin protocol.ModelOrigin
	said   string // the model's name, as the answer gives it

	text, reasoning wirejson.Text
	calls           []calling
	usage           usage
	stop            string // why the model stopped

	in wirejson.Reader
}

// calling is a call that is being read.
type calling struct {
	index    int
	id, name string
	given    string // its input, if it came at once
	parts    wirejson.Text
	again    bool // it is an answer after the first; only the first is read
}

// Whole implements endpoint.Reader.
func (r *reading) Whole(body []byte) error {
	var a answer
	if err := r.in.Read(body, func(in *wirejson.Reader) { a.read(in, r.model) }); err != nil || a.kind != "message" {
		return r.unreadable(body, err)
	}
	for i := range a.content {
		r.begin(i, &a.content[i])
	}
	r.head(&a)
	return nil
}

func (r *reading) unreadable(data []byte, err error) error {
	return r.to.Unreadable(data, err, "message", "it has no type of a message")
}

// head takes what an answer says of itself.
func (r *reading) head(a *answer) {
	r.origin.ID, r.said = cmp.Or(r.origin.ID, a.id), cmp.Or(r.said, a.model)
	r.stop = cmp.Or(a.stop, r.stop)
	r.usage.take(&a.usage)
}

// Part implements endpoint.Reader.
func (r *reading) Part(e endpoint.Event) (llm.Chunk, error) {
	var v event
	if err := r.in.Read(e.Data, func(in *wirejson.Reader) { v.read(in, r.model) }); err != nil {
		return llm.Chunk{}, r.unreadable(e.Data, err)
	}
	switch cmp.Or(v.kind, e.Type) {
	case "message_start":
		v.message.usage.output = 0 // of the beginning; message_delta counts the answer, else it is estimated
		r.head(&v.message)
	case "content_block_start":
		return r.begin(v.index, &v.block), nil
	case "content_block_delta":
		return r.more(v.index, &v.delta), nil
	case "message_delta":
		r.stop = cmp.Or(v.delta.stop, r.stop)
		r.usage.take(&v.usage)
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
	if b.kind != "tool_use" || len(r.calls) >= endpoint.MaxCalls {
		return r.more(index, b)
	}
	c := calling{index: index, id: b.id, name: b.name}
	if b.input != "{}" && b.input != "null" {
		c.given = b.input
	}
	c.again = r.answers(&c) && slices.ContainsFunc(r.calls, func(c calling) bool { return r.answers(&c) })
	r.calls = append(r.calls, c)
	if c.given != "" && r.answers(&c) && !c.again {
		r.text.Add(c.given)
		return llm.Chunk{Text: c.given}
	}
	return llm.Chunk{}
}

// more takes a text, a thought, or a part of a call's parameters.
func (r *reading) more(index int, b *content) llm.Chunk {
	chunk := llm.Chunk{Text: b.text, Reasoning: b.thinking}
	at := -1
	for i := range r.calls { // the last: some servers give all blocks one index
		if r.calls[i].index == index {
			at = i
		}
	}
	if b.partialInput != "" && at >= 0 {
		switch c := &r.calls[at]; {
		case c.again:
		case r.answers(c):
			chunk.Text = b.partialInput
		default:
			c.parts.Add(b.partialInput)
		}
	}
	chunk.Text, chunk.Reasoning = r.text.Add(chunk.Text), r.reasoning.Add(chunk.Reasoning)
	return chunk
}

// answers reports whether a call is the tool whose parameters are the answer.
func (r *reading) answers(c *calling) bool { return r.names.ID(c.name) == answerTool }

// Answer implements endpoint.Reader.
func (r *reading) Answer(question int) (protocol.ModelAnswer, error) {
	origin := r.origin // a copy: nothing of the answer keeps the reader
	a := protocol.ModelAnswer{Model: r.said, Text: r.text.String(), Reasoning: r.reasoning.String(), Usage: r.usage.tokens(), Origin: &origin}
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
		a.Calls = append(a.Calls, r.names.Call(&r.in, c.id, c.name, input))
	}
	endpoint.Count(&a.Usage, r.asked, question, size)
	switch {
	case r.stop == "refusal":
		a.Finish, origin.Refused = protocol.FinishFiltered, a.Text
	case r.stop == "max_tokens" || r.stop == "model_context_window_exceeded" || r.stop == "pause_turn":
		a.Finish = protocol.FinishLength
	case len(a.Calls) > 0:
		a.Finish = protocol.FinishToolCalls
	case answered, r.stop == "end_turn", r.stop == "stop_sequence", len(a.Text)+len(a.Reasoning) > 0:
		a.Finish = protocol.FinishStop
	default:
		return a, r.to.Failed(llm.OutcomeTruncated, "the answer is empty")
	}
	return a, nil
}
