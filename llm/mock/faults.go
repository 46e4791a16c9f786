package mock

import (
	"slices"

	"tavernsim/llm/mock/wire"
	"tavernsim/protocol"
)

// kind is one way in which an answer can be bad.
type kind struct {
	Name string
	Doc  string    // what the client sees
	form wire.Form // of the answers that it spoils
}

// fault is a place in the catalogue.
type fault int

const (
	noFault fault = iota - 1
	rateLimited
	rateLimitedBare
	quota
	unauthorized
	serverError
	loading
	contextTooLong
	unknownModel
	slow
	stall
	timeout
	reset
	resetWithin
	errorWithin
	noEndMark
	noFinish
	malformed
	html
	emptyChoices
	nullContent
	wrongTool
	cutArguments
	refusal
	filtered
	length
	doubledChunk
	noUsage
	absurdUsage
	splitCharacter
	huge
)

// catalogue lists every kind in the order of the constants. docs/mock-llm.md
// shows it.
func catalogue() []kind {
	return []kind{
		rateLimited:     {"rate_limited", "429 with Retry-After", wire.All},
		rateLimitedBare: {"rate_limited_bare", "429 without Retry-After", wire.All},
		quota:           {"quota", "429 insufficient_quota; messages: 402 billing_error", wire.All},
		unauthorized:    {"unauthorized", "401", wire.All},
		serverError:     {"server_error", "500", wire.All},
		loading:         {"loading", "503, the model is being loaded; messages: 529 overloaded_error", wire.All},
		contextTooLong:  {"context_too_long", "400, the question is longer than the context", wire.All},
		unknownModel:    {"unknown_model", "404, there is no such model", wire.All},
		slow:            {"slow", "the first byte comes slow_for later", wire.All},
		stall:           {"stall", "silence for stall_for in the middle of the answer", wire.All},
		timeout:         {"timeout", "no answer; after hold_for the connection is reset", wire.All},
		reset:           {"reset", "the connection is reset before the answer", wire.All},
		resetWithin:     {"reset_within", "the connection is reset in the middle of the answer", wire.All},
		errorWithin:     {"error_within", "the stream breaks off in its middle with an error", wire.Streams},
		noEndMark:       {"no_end_mark", "the stream ends without [DONE] or message_stop", wire.Streams},
		noFinish:        {"no_finish", "the reason why the model stopped is null", wire.Spoken},
		malformed:       {"malformed", "broken JSON: the body, or one chunk, is cut", wire.All},
		html:            {"html", "200 with a page of HTML", wire.All},
		emptyChoices:    {"empty_choices", "an empty list of choices, of content or of vectors", wire.All},
		nullContent:     {"null_content", "neither text nor calls: content is null", wire.Spoken},
		wrongTool:       {"wrong_tool", "a call of a tool that does not exist", wire.Spoken},
		cutArguments:    {"cut_arguments", "the arguments of a call break off; needs a call, and in messages a stream", wire.Spoken &^ wire.MessagesPlain},
		refusal:         {"refusal", "the model refuses", wire.Spoken},
		filtered:        {"filtered", "finish content_filter and half the text; messages: 400, blocked by a filter", wire.Spoken},
		length:          {"length", "the answer is cut at the limit of tokens", wire.Spoken},
		doubledChunk:    {"doubled_chunk", "one chunk comes twice", wire.Streams},
		noUsage:         {"no_usage", "no usage", wire.All},
		absurdUsage:     {"absurd_usage", "usage of -1 and of 10^18 tokens", wire.All},
		splitCharacter:  {"split_character", "a character, or a line, arrives in two parts", wire.All},
		huge:            {"huge", "a body of 64 MiB", wire.All},
	}
}

// FaultNames lists the faults by name.
func FaultNames() (list []string) {
	for _, k := range catalogue() {
		list = append(list, k.Name)
	}
	slices.Sort(list)
	return list
}

// draw takes one of the faults that an answer of this form can have. Every other
// one has no effect.
func (s *Server) draw(d *protocol.Draw, f wire.Form, attempt int) fault {
	if len(s.odds) == 0 || s.opts.Faults.Attempts > 0 && attempt >= s.opts.Faults.Attempts {
		return noFault
	}
	x := d.Float64()
	for _, o := range s.odds {
		if x < o.p {
			if s.kinds[o.fault].form&f == 0 {
				return noFault
			}
			return o.fault
		}
		x -= o.p
	}
	return noFault
}

// spoil changes what the model says.
func spoil(a *wire.Answer, ft fault) {
	switch ft {
	case noFinish:
		a.Finish = ""
	case emptyChoices:
		a.Empty = true
	case nullContent:
		a.Text, a.Reasoning, a.Calls, a.Null, a.Finish = "", "", nil, true, protocol.FinishStop
	case wrongTool:
		a.Calls = []wire.Call{{ID: "call_" + a.ID, Name: "no_such_tool", Args: "{}"}}
		a.Finish = protocol.FinishToolCalls
	case cutArguments:
		for i := range a.Calls {
			args := &a.Calls[i].Args
			*args = (*args)[:len(*args)/2]
		}
	case refusal:
		a.Text, a.Reasoning, a.Calls, a.Refusal = "", "", nil, "I cannot help with that."
		a.Finish = protocol.FinishStop
	case filtered:
		a.Text, a.Calls, a.Finish = half(a.Text), nil, protocol.FinishFiltered
	case length:
		a.Text, a.Calls, a.Finish = half(a.Text), nil, protocol.FinishLength
	case noUsage:
		a.Uncounted = true
	case absurdUsage:
		a.Usage = protocol.Usage{Input: -1, Output: 1e18}
	case huge:
		a.Text, a.Calls, a.Null, a.Finish = hugeMark, nil, false, protocol.FinishStop
	default: // of the transport
	}
}

// half is the first half of a text, in whole characters.
func half(s string) string {
	runes := []rune(s)
	return string(runes[:len(runes)/2])
}
