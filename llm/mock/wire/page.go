package wire

import (
	"slices"
	"strconv"

	"tavernsim/engine/template"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Created stands for the moment of every answer: an answer does not depend on time.
const Created = "1767225600" // 2026-01-01T00:00:00Z

// Answer is what a model says, before it has the form of a protocol.
type Answer struct {
	ID, Model                string // ID without the prefix of the protocol
	Text, Reasoning, Refusal string
	Calls                    []Call
	Finish                   protocol.FinishReason // "" = null
	Stopped                  string                // the stop text that ended the text; "" = none
	Usage                    protocol.Usage
	Null                     bool // no content instead of an empty one
	Empty                    bool // no choice, block or vector
	Uncounted                bool // no usage
}

// Call is a call as it travels: its arguments are JSON.
type Call struct{ ID, Name, Args string }

// Say takes over what a provider answered.
func (a *Answer) Say(said *protocol.ModelAnswer) {
	a.Text, a.Reasoning, a.Finish, a.Stopped, a.Usage = said.Text, said.Reasoning, said.Finish, said.Stopped, said.Usage
	var room [256]byte
	a.Calls = slices.Grow(a.Calls, len(said.Calls))
	for _, c := range said.Calls {
		a.Calls = append(a.Calls, Call{ID: c.ID, Name: c.Tool, Args: string(template.AppendJSON(room[:0], c.Params))})
	}
	a.Null = a.Text == "" && len(a.Calls) > 0
}

// Write gives the answer a form. The page's body goes into the room, if it fits.
func (a *Answer) Write(f Form, q *Question, room []byte) Page {
	p := Page{Body: room[:0]}
	switch f {
	case ChatPlain:
		a.chat(&p)
	case ChatStream:
		a.chatStream(&p, q.Counted)
	case MessagesPlain:
		a.message(&p, false)
	case MessagesStream:
		a.messagesStream(&p)
	default:
		a.vectors(&p, q)
	}
	return p
}

// Page is an answer as bytes. A stream notes its events.
type Page struct {
	Body   []byte
	Events []Event
}

// Event is a part of a stream: where it begins, and how many tokens it says.
type Event struct{ At, Tokens int }

// Add adds bytes as they are.
func (p *Page) Add(parts ...string) {
	for _, s := range parts {
		p.Body = append(p.Body, s...)
	}
}

func (p *Page) text(s string)  { p.Body = wirejson.AppendText(p.Body, s) }
func (p *Page) number(n int64) { p.Body = strconv.AppendInt(p.Body, n, 10) }

// begin starts an event.
func (p *Page) begin(tokens int) { p.Events = append(p.Events, Event{len(p.Body), tokens}) }
