// Package talk keeps the conversation of one deliberation: the answers of the model of the core
// workflow in each round, the calls that were carried out, and their results.
//
// A turn has a [Talk] if its core workflow names the input conversation and it may
// have several rounds. The turn gives it each answer of a model with [Talk.Heard], and
// the results of the calls of a round with [Talk.Close]. [Talk.Messages] is the conversation as the
// workflow gets it.
//
// # Promises
//
//  1. Messages only grows, at its end: a provider's cache of the earlier ones stays valid.
//  2. Every call of an assistant has one result, and ids of calls are unique in a turn:
//     servers refuse other conversations.
//  3. The conversation depends on answers and calls as facts keep them, so a turn that is
//     decided again has the same.
//
// # Not here
//
// Which calls are carried out, and how many rounds there are: engine/agent.
package talk

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
	"tavernsim/protocol/picture"
)

// Talk is the conversation of a turn. All methods but Close do nothing for nil: a turn
// that keeps no conversation.
type Talk struct {
	messages []any           // of the rounds that have ended
	ids      map[string]bool // of native calls

	// Of the round that goes on.
	answers  []protocol.ModelAnswer
	response string
	problems []string
	reading  bool
	lost     bool
}

// Call is a call that was carried out.
type Call struct {
	ID     string // under which the model asked for it; "" = in no native call
	Result *protocol.CallResult
	Images []protocol.Image // that the call has left
	Files  string           // that it has left and its output does not name, in words
}

// Begin says that the response is read that the core workflow gave. Until End, problems
// are those of the model's words. In the last round nobody is told of them here.
func (t *Talk) Begin(response any, last bool) {
	if t != nil {
		t.response, _ = response.(string)
		t.reading = !last
	}
}

// End ends what Begin began.
func (t *Talk) End() {
	if t != nil {
		t.reading = false
	}
}

// Lost says that the response was meant to have calls, and none could be read: another
// round tells the model.
func (t *Talk) Lost() {
	if t != nil && t.reading {
		t.lost = true
	}
}

// Again reports whether a round follows although no call was made.
func (t *Talk) Again() bool { return t != nil && t.lost }

// Problem takes a problem of the response and reports whether the next turn should
// observe it, too: a round that made no call may be the last.
func (t *Talk) Problem(text string) (observe bool) {
	if t == nil || !t.reading {
		return true
	}
	t.problems = append(t.problems, text)
	return !t.lost
}

// Messages are the rounds that have ended, as values {role, text, calls, callId, images}; never
// nil, shared and read-only.
func (t *Talk) Messages() []any {
	if t == nil || t.messages == nil {
		return []any{}
	}
	return slices.Clip(t.messages)
}

// Heard takes an answer of a model to the core workflow, by the number of its request. It
// gives ids to the calls that have none that facts keep, or share one.
func (t *Talk) Heard(number int, a *protocol.ModelAnswer) {
	if t == nil {
		return
	}
	a.Calls = slices.Clone(a.Calls)
	for i := range a.Calls {
		c := &a.Calls[i]
		if a.Origin == nil { // the fact of the answer keeps no ids
			c.ID = ""
		}
		for n := 1; c.ID == "" || t.ids[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d_%d", number, i+n)
		}
		if t.ids == nil {
			t.ids = map[string]bool{}
		}
		t.ids[c.ID] = true
	}
	t.answers = append(t.answers, *a)
}

// Close ends a round: it adds what the model said whose calls were carried out, and the
// results. It returns about how many bytes it added.
func (t *Talk) Close(calls []Call) (size int) {
	from := len(t.messages)
	told, places := make([]bool, len(calls)), make([][]int, len(t.answers))
	for i := range t.answers {
		places[i] = carriedOut(&t.answers[i], calls, told)
	}
	for i := range t.answers {
		a := &t.answers[i]
		if a.Text != "" && begins(t.response, a.Text) {
			if len(t.response) > len(a.Text) {
				a.Text = t.response
			}
			t.say(a, places[i], calls)
		} else if places[i] != nil {
			t.say(a, places[i], calls)
		}
	}
	if text, images := t.rest(calls, told); text != "" {
		if n := len(t.answers); n > 0 && from == len(t.messages) { // the workflow made calls out of what the model said
			t.say(&t.answers[n-1], nil, nil)
		}
		show(t.add(protocol.RoleUser, text), images)
	}
	t.answers, t.response, t.problems, t.lost = nil, "", nil, false
	for _, m := range t.messages[from:] {
		size += protocol.SizeOf(m, 1<<30)
	}
	return size
}

// longestMark is how long the end mark of a call is, at most.
const longestMark = 16

// begins reports whether a response is the text of an answer, or that and the end mark of
// a call, which providers leave out if the model stopped there.
func begins(response, text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(response), strings.TrimSpace(text))
	return ok && (rest == "" || rest[0] == '<' && len(rest) <= longestMark)
}

// carriedOut finds for each call of an answer its place among those that were carried
// out, -1 for none; nil if none of them was.
func carriedOut(a *protocol.ModelAnswer, calls []Call, told []bool) (places []int) {
	for i := range a.Calls {
		at := slices.IndexFunc(calls, func(c Call) bool { return c.ID == a.Calls[i].ID })
		if at < 0 || told[at] {
			continue
		}
		if places == nil {
			places = slices.Repeat([]int{-1}, len(a.Calls))
		}
		places[i], told[at] = at, true
	}
	return places
}

// say adds an answer, with its native calls and their results if it has places for them.
func (t *Talk) say(a *protocol.ModelAnswer, places []int, calls []Call) {
	if a.Text == "" && places == nil {
		return
	}
	m := t.add(protocol.RoleAssistant, a.Text)
	if places == nil {
		return
	}
	list := make([]any, len(a.Calls))
	for i := range a.Calls {
		list[i] = callvalue.Of(&a.Calls[i])
	}
	m["calls"] = list
	for i, at := range places {
		text := "not carried out: the workflow did not pass this call on"
		var images []protocol.Image
		if at >= 0 {
			text, images = calls[at].outcome(), calls[at].Images
		}
		m := t.add(protocol.RoleTool, text)
		m["callId"] = a.Calls[i].ID
		show(m, images)
	}
}

// show adds pictures to a message.
func show(m map[string]any, images []protocol.Image) {
	if len(images) == 0 {
		return
	}
	list := make([]any, len(images))
	for i := range images {
		list[i] = picture.Value(&images[i])
	}
	m["images"] = list
}

func (t *Talk) add(role protocol.Role, text string) map[string]any {
	m := map[string]any{"role": string(role), "text": text}
	t.messages = append(t.messages, m)
	return m
}

// rest is the text about calls that were no native calls of the model, with their pictures,
// and about problems.
func (t *Talk) rest(calls []Call, told []bool) (text string, images []protocol.Image) {
	var b strings.Builder
	for i, c := range calls {
		if !told[i] {
			fmt.Fprintf(&b, "- %s: %s\n", c.Result.Tool, c.outcome())
			images = append(images, c.Images...)
		}
	}
	for _, p := range t.problems {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	if b.Len() == 0 {
		return "", nil
	}
	return "What became of your calls:\n" + strings.TrimSuffix(b.String(), "\n"), images
}

// maxOutcome bounds the text of one result, in bytes.
const maxOutcome = 64 << 10

// outcome is what came of a call, with its files.
func (c *Call) outcome() string {
	text := outcome(c.Result)
	if c.Files != "" && c.Result.Error == nil {
		text += "\n" + c.Files
	}
	return text
}

// outcome is a result as a model reads it.
func outcome(r *protocol.CallResult) string {
	var text string
	switch {
	case r.Status == protocol.CallNotRun:
		return "not run: an earlier call of its block failed"
	case r.Error != nil:
		text = string(r.Status) + ": " + r.Error.Message
	case r.Output == nil:
		return string(r.Status)
	default:
		var ok bool
		if text, ok = r.Output.(string); !ok {
			text = string(template.AppendJSON(nil, r.Output))
		}
		if r.Status != protocol.CallOK {
			text = string(r.Status) + ": " + text
		}
	}
	if over := len(text) - maxOutcome; over > 0 {
		return fmt.Sprintf("%s (%d bytes more)", protocol.Short(text, maxOutcome), over)
	}
	return text
}
