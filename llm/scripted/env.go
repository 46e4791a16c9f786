package scripted

import (
	"regexp"
	"strings"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// env is one request with what expressions and templates read of it. It is
// reused; nothing of it may be kept by an answer, except what the request holds.
type env struct {
	req    *protocol.ModelRequest
	chance protocol.Draw // all chance of the request derives from it
	rule   int           // at hand
	use    uint64        // what draw stands for
	text   protocol.Draw // stream of the template functions

	prompt string // joined, when it was asked for
	joined bool
	rounds int // plus 1; 0 = not counted yet
	events []any
	tokens int64 // of the calls made
	buf    []byte
}

// begin takes a request. Its chance depends on key and position of its Draw.
func (e *env) begin(req *protocol.ModelRequest) {
	e.req = req
	draw := req.Draw
	e.chance = protocol.NewDraw(draw.Uint64())
}

// at sets what draw stands for.
func (e *env) at(rule int, use uint64) { e.rule, e.use = rule, use }

// stream is the chance of one use of one rule.
func (e *env) stream(rule int, use uint64) protocol.Draw { return e.chance.Sub(uint64(rule), use) }

// Lookup gives the roots of expressions and templates.
func (e *env) Lookup(root string) (any, bool) {
	switch root {
	case "variables":
		return e.req.Variables, true
	case "agent":
		return e.req.Agent, true
	case "profile":
		return e.req.Profile, true
	case "scene":
		return e.req.Scene, true
	case "model":
		return e.req.Model, true
	case "purpose":
		return string(e.req.Purpose), true
	case "events":
		return e.eventList(), true
	case "prompt":
		return e.promptText(), true
	case "last":
		return e.lastText(), true
	case "tools":
		return e.toolNames(), true
	case "json":
		return e.req.JSON, true
	case "round":
		return int64(e.round()), true
	case "now":
		return e.req.Now.String(), true
	case "draw":
		d := e.stream(e.rule, e.use)
		return d.Float64(), true
	}
	return nil, false
}

func (e *env) eventList() []any {
	if e.events == nil {
		e.events = make([]any, len(e.req.Events))
		for i, t := range e.req.Events {
			e.events[i] = t
		}
	}
	return e.events
}

func (e *env) toolNames() []any {
	names := make([]any, len(e.req.Tools))
	for i := range e.req.Tools {
		names[i] = e.req.Tools[i].Name
	}
	return names
}

// promptText is the text of all messages, a line break between two.
func (e *env) promptText() string {
	if e.joined {
		return e.prompt
	}
	texts := make([]string, len(e.req.Messages))
	for i := range e.req.Messages {
		texts[i] = e.req.Messages[i].Text
	}
	e.prompt, e.joined = strings.Join(texts, "\n"), true
	return e.prompt
}

func (e *env) lastText() string {
	if n := len(e.req.Messages); n > 0 {
		return e.req.Messages[n-1].Text
	}
	return ""
}

// round counts the assistant's messages with calls.
func (e *env) round() int {
	if e.rounds == 0 {
		e.rounds = 1
		for i := range e.req.Messages {
			if len(e.req.Messages[i].Calls) > 0 {
				e.rounds++
			}
		}
	}
	return e.rounds - 1
}

// promptContains looks into each message by itself.
func (e *env) promptContains(s string) bool {
	for i := range e.req.Messages {
		if strings.Contains(e.req.Messages[i].Text, s) {
			return true
		}
	}
	return false
}

func (e *env) promptMatches(re *regexp.Regexp) bool {
	for i := range e.req.Messages {
		if re.MatchString(e.req.Messages[i].Text) {
			return true
		}
	}
	return false
}

// render makes the text of a template; nil is no text.
func (e *env) render(t *template.Template) (string, error) {
	if t == nil {
		return "", nil
	}
	if s, ok := t.Const(); ok {
		return s, nil
	}
	b, err := t.AppendFrom(e.buf[:0], e, e)
	if err != nil {
		return "", err
	}
	s := string(b)
	if cap(b) <= 64<<10 { // what is larger is not worth keeping
		e.buf = b[:0]
	}
	return s, nil
}
