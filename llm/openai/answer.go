package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// completion is an answer, or a part of a streamed one.
type completion struct {
	id, model, fingerprint string
	choices                []choice
	usage                  *usage
	problem                []byte

	room   [1]choice // of choices: one is asked for
	counts usage
}

func (c *completion) read(r *wirejson.Reader, model string) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "id":
			c.id = r.TextOrSkip()
		case "model":
			c.model = r.TextOrSkip(model)
		case "system_fingerprint":
			c.fingerprint = r.TextOrSkip()
		case "choices":
			r.Array(func() {
				if c.choices == nil {
					c.choices = c.room[:0]
				}
				c.choices = append(c.choices, choice{})
				c.choices[len(c.choices)-1].read(r)
			})
		case "usage":
			if r.Is('{') {
				c.counts = usage{}
				c.usage = &c.counts
				c.usage.read(r)
			}
		case "error":
			if !r.Null() {
				c.problem = r.Raw()
			}
		}
	})
}

type choice struct {
	index          int
	message, delta *said
	finish         string

	room said // of the first message or delta; there is rarely another one
}

func (c *choice) read(r *wirejson.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "index":
			c.index = max(0, readIndex(r))
		case "message":
			c.message = c.readSaid(r)
		case "delta":
			c.delta = c.readSaid(r)
		case "finish_reason":
			c.finish = r.TextOrSkip("stop", "tool_calls", "length")
		}
	})
}

// readIndex reads a place in a list, which some servers give as a text; -1 = it is none.
func readIndex(r *wirejson.Reader) int {
	n, err := strconv.Atoi(string(bytes.Trim(r.Raw(), `"`)))
	if err != nil {
		return -1
	}
	return n
}

// usualCalls is how many calls there is room for before a list of them grows.
const usualCalls = 2

// said is a message, or a part of one. [endpoint.Rules] allow these two names of the
// reasoning in a dialect and no others. Only its content and its calls must be of their types: the rest decides nothing
// unless it is a text.
type said struct {
	content, refusal            string
	reasoningContent, reasoning string
	calls                       []part

	room [usualCalls]part // of calls
}

func (c *choice) readSaid(r *wirejson.Reader) *said {
	if r.Null() {
		return nil
	}
	s := &c.room
	if c.message != nil || c.delta != nil {
		s = &said{}
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "content":
			s.content = readContent(r)
		case "refusal":
			s.refusal = r.TextOrSkip()
		case "reasoning_content":
			s.reasoningContent = r.TextOrSkip()
		case "reasoning":
			s.reasoning = r.TextOrSkip()
		case "tool_calls":
			s.readCalls(r)
		}
	})
	return s
}

// readCalls reads a list; {} and false are empty ones.
func (s *said) readCalls(r *wirejson.Reader) {
	switch {
	case r.Is('{'):
		r.Object(func([]byte) { r.Fail("want a list of calls") })
		return
	case r.Is('f'):
		r.Skip()
		return
	}
	r.Array(func() {
		if s.calls == nil {
			s.calls = s.room[:0]
		}
		s.calls = append(s.calls, part{})
		s.calls[len(s.calls)-1].read(r)
	})
}

// readContent reads a part of a text, null, or a list of parts with texts.
func readContent(r *wirejson.Reader) (content string) {
	if !r.Is('[') {
		return r.TextPart()
	}
	r.Array(func() {
		text, refusal := "", ""
		r.Object(func(name []byte) {
			switch string(name) {
			case "text":
				text = r.Text()
			case "refusal":
				refusal = r.TextOrSkip()
			}
		})
		content += text + refusal
	})
	return content
}

// part is a call, or a part of one.
type part struct {
	indexed             bool // some servers give no index
	index               int
	id, name, arguments string
}

func (p *part) read(r *wirejson.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "index":
			p.index = readIndex(r)
			p.indexed = p.index >= 0
		case "id":
			p.id = r.TextOrSkip()
		case "function":
			r.Object(func(name []byte) {
				switch string(name) {
				case "name":
					p.name = r.Text()
				case "arguments": // a text; some servers give the object itself
					if r.Is('"') || r.Is('n') {
						p.arguments = r.TextPart()
					} else {
						p.arguments = string(r.Raw())
					}
				}
			})
		}
	})
}

type usage struct {
	prompt, completion, total, cached, reasoning endpoint.Tokens
}

func (u *usage) read(r *wirejson.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "prompt_tokens":
			u.prompt.Read(r)
		case "completion_tokens":
			u.completion.Read(r)
		case "total_tokens":
			u.total.Read(r)
		case "prompt_tokens_details":
			readDetail(r, "cached_tokens", &u.cached)
		case "completion_tokens_details":
			readDetail(r, "reasoning_tokens", &u.reasoning)
		}
	})
}

// readDetail reads one count of an object; anything else has none.
func readDetail(r *wirejson.Reader, field string, n *endpoint.Tokens) {
	if !r.Is('{') {
		return
	}
	r.Object(func(name []byte) {
		if string(name) == field {
			n.Read(r)
		}
	})
}

func (u *usage) tokens() protocol.Usage {
	t := protocol.Usage{Input: int64(u.prompt), Output: int64(u.completion), CacheRead: int64(u.cached), Reasoning: int64(u.reasoning)}
	if t.Reasoning > 0 && int64(u.total) == t.Input+t.Output+t.Reasoning {
		t.Output += t.Reasoning // some services count it apart
	}
	return t
}

// reading collects an answer. It is an [endpoint.Reader].
type reading struct {
	*chat
	asked  *protocol.ModelRequest
	names  toolcall.Names
	answer protocol.ModelAnswer
	origin protocol.ModelOrigin

	text, reasoning, refused wirejson.Text
	calls                    []calling
	usage                    usage
	finish                   string

	in   wirejson.Reader
	came completion          // what was read last
	few  [usualCalls]calling // room of calls
}

// read reads an answer, or a part of one.
func (r *reading) read(data []byte) error {
	r.came = completion{}
	return r.in.Read(data, func(in *wirejson.Reader) { r.came.read(in, r.model) })
}

// Whole implements endpoint.Reader.
func (r *reading) Whole(body []byte) error {
	if err := r.read(body); err != nil || len(r.came.choices) == 0 {
		return r.to.Unreadable(body, err, "chat completion", "it has no choices")
	}
	_, err := r.take(&r.came)
	return err
}

// Part implements endpoint.Reader.
func (r *reading) Part(e endpoint.Event) (llm.Chunk, error) {
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return llm.Chunk{}, io.EOF
	}
	if e.Type == "error" {
		return llm.Chunk{}, r.to.Unreadable(e.Data, nil, "chat completion", "the server reports an error")
	}
	if err := r.read(e.Data); err != nil {
		return llm.Chunk{}, r.to.Unreadable(e.Data, err, "chat completion", "")
	}
	return r.take(&r.came)
}

// Ended implements endpoint.Reader.
func (r *reading) Ended() bool { return r.finish != "" }

// calling is a call that is being read.
type calling struct {
	index     int
	id, name  string
	arguments wirejson.Text
}

// take adds a completion, or a part of one, and returns what is new in it.
func (r *reading) take(c *completion) (add llm.Chunk, err error) {
	if c.problem != nil {
		p, _ := endpoint.ReadProblem(slices.Concat([]byte(`{"error":`), c.problem, []byte("}")))
		return add, r.to.Problem(0, p)
	}
	r.origin.ID, r.origin.Fingerprint = cmp.Or(r.origin.ID, c.id), cmp.Or(r.origin.Fingerprint, c.fingerprint)
	r.answer.Model = cmp.Or(r.answer.Model, c.model)
	if c.usage != nil {
		r.usage = *c.usage
	}
	for i := range c.choices {
		ch := &c.choices[i]
		if ch.index != 0 {
			continue // one answer was asked for
		}
		m := ch.message
		if m == nil {
			m = ch.delta
		}
		if m != nil {
			add.Text += r.text.Add(m.content)
			add.Reasoning += r.reasoning.Add(r.thought(m))
			r.refused.Add(m.refusal)
			for k := range m.calls {
				r.part(&m.calls[k])
			}
		}
		if ch.finish != "" {
			r.finish = ch.finish
		}
	}
	return add, nil
}

func (r *reading) thought(m *said) string {
	for _, field := range r.dialect.Reasoning {
		text := m.reasoningContent
		if field == "reasoning" {
			text = m.reasoning
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// part adds a part of a call: to the call of its index, or without an index to a new
// one if it has a name. Of calls with one index the same id wins, else the last one goes on: some
// servers give several calls one index, and others give each part of a call an id. Another
// id with a name is another call, and so is a name with the begin of arguments where those before are whole.
func (r *reading) part(p *part) {
	at, same := -1, false
	if p.indexed {
		for i := range r.calls {
			switch c := &r.calls[i]; {
			case c.index != p.index || same:
			case p.id != "" && c.id == p.id:
				at, same = i, true
			case p.name == "" || (c.id == "" || p.id == "") && !(strings.HasPrefix(p.arguments, "{") && json.Valid([]byte(c.arguments.String()))):
				at = i
			}
		}
	} else if p.name == "" {
		at = len(r.calls) - 1
	}
	if at < 0 {
		if len(r.calls) == endpoint.MaxCalls {
			return
		}
		if at = len(r.calls); at == 0 {
			r.calls = r.few[:0]
		}
		r.calls = append(r.calls, calling{index: at})
		if p.indexed {
			r.calls[at].index = p.index
		}
	}
	c := &r.calls[at]
	c.id, c.name = cmp.Or(c.id, p.id), cmp.Or(c.name, p.name)
	c.arguments.Add(p.arguments)
}

// Answer implements endpoint.Reader. Another question has the memory of this one.
func (r *reading) Answer(question int) (protocol.ModelAnswer, error) {
	defer func() {
		p := r.chat
		*r = reading{in: r.in}
		p.readings.Put(r)
	}()
	a := &r.answer
	a.Text, a.Reasoning = r.text.String(), r.reasoning.String()
	size := len(a.Text) + len(a.Reasoning)
	slices.SortStableFunc(r.calls, func(x, y calling) int { return x.index - y.index }) // parts come in any order
	if len(r.calls) > 0 {
		a.Calls = make([]protocol.Call, len(r.calls))
	}
	for i := range r.calls {
		c := &r.calls[i]
		size += c.arguments.Len() + len(c.name)
		a.Calls[i] = r.names.Call(&r.in, c.id, c.name, c.arguments.String())
	}
	a.Usage = r.usage.tokens()
	endpoint.Count(&a.Usage, r.asked, question, size)
	origin := r.origin // nothing of the answer keeps the reader
	origin.Refused = r.refused.String()
	a.Origin = &origin
	var err error
	a.Finish, err = r.finished()
	return *a, err
}

// finished reads the reason, for which services have words of their own: of Zhipu "sensitive" and "network_error", of
// Mistral "model_length", of DeepSeek "insufficient_system_resource", of vLLM "abort".
func (r *reading) finished() (protocol.FinishReason, error) {
	switch r.finish {
	case "error", "abort", "network_error", "insufficient_system_resource":
		return "", r.to.Failed(llm.OutcomeServerError, "the server broke the answer off (finish_reason %s)", r.finish)
	case "content_filter", "sensitive":
		return protocol.FinishFiltered, nil
	}
	switch {
	case r.refused.Len() > 0:
		return protocol.FinishFiltered, nil
	case r.finish == "length" || r.finish == "model_length" || r.finish == "max_tokens":
		return protocol.FinishLength, nil
	case len(r.calls) > 0:
		return protocol.FinishToolCalls, nil
	case r.text.Len() == 0 && r.reasoning.Len() == 0 && r.finish != "stop":
		return "", r.to.Failed(llm.OutcomeTruncated, "the answer is empty")
	}
	return protocol.FinishStop, nil
}
