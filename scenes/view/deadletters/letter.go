// Package deadletters reads dead letters from a scene's facts: messages that did not
// reach a receiver, whichever component refused them.
//
// [Of] returns the letters of one fact. If a fact names an event without its
// content, find the fact that routed it and call [Letter.Complete].
//
// # Not here
//
// Reading a journal, selecting, counting and sending again: scenes/view/inspect.
// Refusals of mailboxes in a running scene: scenes/deadletters.go.
package deadletters

import "tavernsim/protocol"

// Letter is a message that did not reach whom it was meant for.
type Letter struct {
	Seq         uint64   `json:"seq"` // of the fact that says so
	Wave        uint64   `json:"wave"`
	Time        string   `json:"time"`
	Event       string   `json:"event"` // id
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Agent       string   `json:"agent,omitempty"` // the one receiver; none: nobody may hear it
	Reason      string   `json:"reason"`
	Detail      string   `json:"detail,omitempty"`
	Priority    string   `json:"priority,omitempty"`
	Trace       string   `json:"trace,omitempty"`
	Chain       []string `json:"chain,omitempty"` // causes, oldest first
	Payload     any      `json:"payload"`
	Count       int64    `json:"count"`       // of messages; more than 1 where the fact only counts them
	Redelivered bool     `json:"redelivered"` // it was sent again already
	Sendable    bool     `json:"sendable"`    // its content is kept, so it can be

	draft *protocol.Draft
}

// Draft is the message as it is sent again; nil where its content is not kept.
func (l *Letter) Draft() *protocol.Draft { return l.draft }

// Chain is a chain of causes as views show it, oldest first.
func Chain(links []protocol.Link) []string {
	var list []string
	for _, l := range links {
		list = append(list, l.Agent+" "+l.Type)
	}
	return list
}
