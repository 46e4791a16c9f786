package wire

import (
	"strconv"
	"unicode/utf8"

	"tavernsim/protocol"
)

// chunks cuts a text as a model would say it: four ASCII characters or one other
// are a token.
func chunks(s string, each func(string)) {
	for len(s) > 0 {
		n := 0
		for n < 4 && n < len(s) && s[n] < utf8.RuneSelf {
			n++
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
		}
		each(s[:n])
		s = s[n:]
	}
}

// chat writes a chat completion.
func (a *Answer) chat(p *Page) {
	p.Add(`{"id":"chatcmpl-`, a.ID, `","object":"chat.completion","created":`, Created, `,"model":`)
	p.text(a.Model)
	if p.Add(`,"system_fingerprint":"fp_mock","choices":[`); !a.Empty {
		p.Add(`{"index":0,"message":{"role":"assistant","content":`)
		a.chatText(p)
		if a.Reasoning != "" {
			p.Add(`,"reasoning_content":`)
			p.text(a.Reasoning)
		}
		if p.Add(`,"refusal":`); a.Refusal == "" {
			p.Add("null")
		} else {
			p.text(a.Refusal)
		}
		for i, c := range a.Calls {
			p.Add(open(i, `,"tool_calls":[`), `{"id":`)
			p.text(c.ID)
			p.Add(`,"type":"function","function":{"name":`)
			p.text(c.Name)
			p.Add(`,"arguments":`)
			p.text(c.Args)
			p.Add("}}")
		}
		if len(a.Calls) > 0 {
			p.Add("]")
		}
		p.Add(`},"logprobs":null,"finish_reason":`, chatFinish(a.Finish), "}")
	}
	if p.Add("]"); !a.Uncounted {
		p.Add(`,"usage":`)
		chatUsage(p, &a.Usage)
	}
	p.Add("}")
}

func (a *Answer) chatText(p *Page) {
	if a.Null || a.Refusal != "" {
		p.Add("null")
		return
	}
	p.text(a.Text)
}

func open(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

func chatFinish(f protocol.FinishReason) string {
	switch f {
	case "":
		return "null"
	case protocol.FinishFiltered:
		return `"content_filter"`
	}
	return `"` + string(f) + `"`
}

func chatUsage(p *Page, u *protocol.Usage) {
	p.Add(`{"prompt_tokens":`)
	p.number(u.Input)
	p.Add(`,"completion_tokens":`)
	p.number(u.Output)
	p.Add(`,"total_tokens":`)
	p.number(u.Input + u.Output)
	p.Add(`,"prompt_tokens_details":{"cached_tokens":`)
	p.number(u.CacheRead)
	p.Add(`},"completion_tokens_details":{"reasoning_tokens":`)
	p.number(u.Reasoning)
	p.Add("}}")
}

// chatStream writes a chat completion as events.
func (a *Answer) chatStream(p *Page, counted bool) {
	head := Page{}
	head.Add(`data: {"id":"chatcmpl-`, a.ID, `","object":"chat.completion.chunk","created":`, Created, `,"model":`)
	head.text(a.Model)
	head.Add(`,"system_fingerprint":"fp_mock","choices":[`)
	tail := "]}\n\n"
	if counted && !a.Uncounted {
		tail = `],"usage":null}` + "\n\n"
	}
	chunk := func(tokens int, delta func(), finish string) {
		p.begin(tokens)
		p.Body = append(p.Body, head.Body...)
		if !a.Empty {
			p.Add(`{"index":0,"delta":{`)
			delta()
			p.Add(`},"logprobs":null,"finish_reason":`, finish, "}")
		}
		p.Add(tail)
	}
	said := func(name, text string) {
		chunks(text, func(s string) {
			chunk(1, func() { p.Add(`"`, name, `":`); p.text(s) }, "null")
		})
	}
	chunk(0, func() {
		if p.Add(`"role":"assistant","content":`); a.Null || a.Refusal != "" {
			p.Add("null")
			return
		}
		p.Add(`""`)
	}, "null")
	said("reasoning_content", a.Reasoning)
	said("refusal", a.Refusal)
	said("content", a.Text)
	for i, c := range a.Calls {
		at := `"tool_calls":[{"index":` + strconv.Itoa(i)
		chunk(1, func() {
			p.Add(at, `,"id":`)
			p.text(c.ID)
			p.Add(`,"type":"function","function":{"name":`)
			p.text(c.Name)
			p.Add(`,"arguments":""}}]`)
		}, "null")
		chunks(c.Args, func(s string) {
			chunk(1, func() { p.Add(at, `,"function":{"arguments":`); p.text(s); p.Add("}}]") }, "null")
		})
	}
	chunk(0, func() {}, chatFinish(a.Finish))
	if counted && !a.Uncounted {
		p.begin(0)
		p.Body = append(p.Body, head.Body...)
		p.Add(`],"usage":`)
		chatUsage(p, &a.Usage)
		p.Add("}\n\n")
	}
	p.begin(0)
	p.Add("data: [DONE]\n\n")
}
