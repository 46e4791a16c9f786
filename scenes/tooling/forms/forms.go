// Package forms passes the questions of a server during a call to a person, through the
// approvals of the run (tools/approvals).
//
// An [Asker], made by [For], is for one call: its executor calls [Asker.Ask], and [Asker.Left] gives
// the questions and answers when the call has ended.
//
// # Promises
//
//  1. If the run has no approvals, or a rule of the operator denies the call, no person is asked: the
//     answer is no, with the reason.
//  2. No person is asked for a secret, and an answer that contains one of the operator's secrets is not sent.
//     Neither a person nor a file sees a value of the operator's, wherever the form has it.
//  3. A call asks one question after the other, at most [Most].
//  4. Each call has one file with its questions and answers; a call without questions
//     has none.
//  5. The same question of the same call has the same id, also after a kill.
//
// # Not here
//
// The approvals (tools/approvals), forms and their schemas (tools), protocols (tools/mcp).
package forms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/permit"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/secrets"
)

// Most is how many questions a call may ask.
const Most = 8

// File is the name of the file with the questions of a call.
const File = tool.AskedPeople

// Of says for which call is asked, and whom.
type Of struct {
	Door approvals.Approver // nil = nobody is there
	// Rule is what a rule of the operator says about the call; false = none does.
	Rule func() (permit.Leave, bool)
	// Question gives one about the call, with an id that is the call's.
	Question func() *approvals.Question
	Timeout  time.Duration // of silence
	// Secrets are those that neither a question nor an answer may have.
	Secrets func() *secrets.Store
	// Waits says that the call waits for a person until done is called.
	Waits func() (done func())
}

// Asker asks for one call.
type Asker struct {
	Of
	turn  chan struct{} // holds an element while a question is open
	mu    sync.Mutex    // guards asked
	asked []exchange
}

// For makes an Asker.
func For(of Of) *Asker { return &Asker{Of: of, turn: make(chan struct{}, 1)} }

// exchange is a question with what came of it.
type exchange struct {
	tools.Form
	Result string         `json:"result"` // given, declined, silence
	Answer map[string]any `json:"answer,omitempty"`
	By     string         `json:"by,omitempty"`
	Why    string         `json:"why,omitempty"`
}

var errSilence = errors.New("nobody answered in time")

// Ask implements tools.Ask.
func (a *Asker) Ask(ctx context.Context, f tools.Form) tools.Filled {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return tools.Filled{Silent: true, Why: "another question of the call had no answer"}
	}
	x := exchange{Form: f}
	filled := a.ask(ctx, &x)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) < Most {
		a.asked = append(a.asked, x)
	}
	return filled
}

// ask is Ask; it completes the exchange.
func (a *Asker) ask(ctx context.Context, x *exchange) tools.Filled {
	no := func(by string, err error) tools.Filled {
		x.Result, x.By, x.Why = "declined", by, protocol.Short(a.Secrets().Shown(err.Error()), 400)
		return tools.Filled{Why: x.Why}
	}
	if err := a.may(&x.Form); err != nil {
		return no(permit.ByPolicy, err)
	}
	if l, ok := a.Rule(); ok && !l.Yes {
		return no(permit.ByFile, errors.New("a rule says no: "+cmp.Or(l.Reason, permit.Why(permit.ByFile))))
	}
	if a.Door == nil {
		return no(permit.ByNever, errors.New(permit.Why(permit.ByNever)))
	}
	until, stop := context.WithTimeoutCause(ctx, a.Timeout, errSilence)
	defer stop()
	defer a.Waits()()
	v, err := a.Door.Ask(until, a.question(until, &x.Form))
	switch {
	case err == nil && !v.Yes:
		return no(cmp.Or(v.By, permit.ByPerson), errors.New(cmp.Or(v.Reason, permit.Why(permit.ByPerson))))
	case errors.Is(err, errSilence) || until.Err() != nil:
		x.Result, x.By, x.Why = "silence", permit.BySilence, permit.Why(permit.BySilence)
		return tools.Filled{Silent: true, Why: x.Why}
	case err != nil:
		return no(permit.ByFailure, fmt.Errorf("nobody could be asked: %w", err))
	}
	answer := x.Whole(v.Answer)
	if err := errors.Join(x.Check(answer), a.open(answer)); err != nil {
		return no(permit.ByFailure, err)
	}
	x.Result, x.By, x.Answer = "given", cmp.Or(v.By, permit.ByPerson), answer
	return tools.Filled{Given: true, Answer: answer}
}

// may says why a form is shown to nobody.
func (a *Asker) may(f *tools.Form) error {
	a.mu.Lock()
	asked := len(a.asked)
	a.mu.Unlock()
	if asked >= Most {
		*f = tools.Form{} // it is not kept, either
		return protocol.Errorf(protocol.KindLimit, "a call asks at most %d questions", Most)
	}
	if err := a.mask(f); err != nil { // before anything is quoted
		return err
	}
	if err := f.Tame(); err != nil {
		*f = tools.Form{Message: protocol.Short(f.Message, 200)}
		return err
	}
	if err := a.mask(f); err != nil { // what it takes out may have hidden one
		return err
	}
	if len(f.Schema) > 0 && secret.Asks(f.Message) && writes(f) {
		return errors.New("it asks for a secret, which nobody is asked for: " + protocol.Short(f.Message, 80))
	}
	for _, name := range protocol.SortedKeys(f.Fields()) {
		s := f.Fields()[name]
		title, _ := s["title"].(string)
		about, _ := s["description"].(string)
		if secret.Asks(name) || secret.Asks(title) || secret.Asks(about) {
			return fmt.Errorf("the field %q asks for a secret, which nobody is asked for; secrets are given by --secrets", protocol.Short(name, 80))
		}
	}
	return nil
}

// mask takes the operator's secrets out of the message of a form. A form whose schema has one, or whose message
// spells one in another form, is emptied and refused: a schema without a part of it asks for something else.
func (a *Asker) mask(f *tools.Form) error {
	masked, err := a.Secrets().Text(f.Message)
	if err == nil {
		_, found, unread := a.Secrets().Value(f.Schema)
		if found || unread != nil {
			err = errors.New("its schema has a secret of the operator in it")
		}
	}
	if err != nil {
		*f = tools.Form{}
		return err
	}
	f.Message = masked
	return nil
}

// writes reports whether a person would write text into a field.
func writes(f *tools.Form) bool {
	for _, s := range f.Fields() {
		if s["type"] == "string" && s["enum"] == nil && s["oneOf"] == nil {
			return true
		}
	}
	return false
}

// open says that an answer has a secret of the operator in it.
func (a *Asker) open(answer map[string]any) error {
	if _, found, err := a.Secrets().Value(answer); found || err != nil {
		return errors.New("the answer has a secret of the operator in it")
	}
	return nil
}

// question is the one about a form.
func (a *Asker) question(ctx context.Context, f *tools.Form) *approvals.Question {
	q := a.Question()
	a.mu.Lock()
	defer a.mu.Unlock()
	q.Kind, q.Form = approvals.KindForm, f
	if end, ok := ctx.Deadline(); ok {
		q.Until = end.UTC().Truncate(time.Second)
	}
	b, _ := json.Marshal([]any{q.ID, len(a.asked), f}) // keys are sorted
	sum := sha256.Sum256(b)
	q.ID = hex.EncodeToString(sum[:4])
	return q
}

// Left are the files of the call.
func (a *Asker) Left() []tools.Blob {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) == 0 {
		return nil
	}
	shown, _ := secret.Hide(plain(a.asked))
	shown, _, err := a.Secrets().Value(shown) // also of secrets that were given after the question
	if err != nil {
		shown = err.Error()
	}
	b, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return nil // values are values
	}
	return []tools.Blob{{Name: File, Type: "application/json", Data: append(b, '\n')}}
}

// plain is a list of exchanges as a value.
func plain(list []exchange) (v any) {
	b, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return nil
	}
	return v
}
