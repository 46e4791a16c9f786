// Package approvals lets a person answer questions about calls during a
// run: a [Door] is a folder in which a question is a file, and its answer another.
//
// [Door.Ask] asks and waits; [List] and [Answer] are for the process that answers.
// The caller of Ask gives a context that ends with the run.
//
// # Promises
//
//  1. A question has one answer: a second one is refused.
//  2. Silence is never a yes: after the deadline there is no answer.
//  3. A question that is asked again after a kill finds its earlier answer.
//  4. Files are written completely or not at all, for their owner alone.
//  5. A secret answer ([KindValue]) is in no file: it goes through a pipe to the
//     process that asks. If that process dies, the secret is asked for again.
//  6. The answer to a form ([KindForm]) fits it.
//
// # Not here
//
// Which calls need a question (engine/permit), and the effect of a yes (engine/agent).
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tavernsim/internal/lenient"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/ownfile"
)

// Question is one about a call.
type Question struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind,omitempty"` // "" = leave for the call, KindValue or KindForm
	Scene   string         `json:"scene"`
	Agent   string         `json:"agent"`
	Profile string         `json:"profile"`
	Tool    string         `json:"tool"`
	Params  map[string]any `json:"params"`
	Rule    string         `json:"rule"`
	Reason  string         `json:"reason"`
	Until   time.Time      `json:"until"`
	// Contents are the ids (sha256-…, missing) of what its references lead to, by URI.
	Contents map[string]string `json:"contents,omitempty"`
	// Form is what is asked, of the kind KindForm.
	Form *tools.Form `json:"form,omitempty"`
}

// Line says what is asked in the run of a folder, and how a person answers.
func (q *Question) Line(runDir string) string {
	until := q.Until.Local().Format(time.TimeOnly)
	switch {
	case q.Kind == KindValue:
		return fmt.Sprintf("%s asks for a secret %v until %s: simd approve %s %s yes --value-file FILE", q.Agent, q.Params["key"], until, runDir, q.ID)
	case q.Kind == KindForm && q.Form != nil:
		return fmt.Sprintf("the call of %s by %s asks %q until %s: simd approve %s %s yes --answer JSON, or no", q.Tool, q.Agent, protocol.Short(q.Form.Message, 200), until, runDir, q.ID)
	}
	params, _ := json.Marshal(q.Params) // a value
	return fmt.Sprintf("%s asks for leave to call %s %s until %s: simd approve %s %s yes|no", q.Agent, q.Tool, protocol.Short(string(params), 200), until, runDir, q.ID)
}

// maxShown bounds what is shown of a parameter, in bytes; the question has all of it.
const maxShown = 1000

// Lines are what a person should know to answer, beside who asks. What stands in them is of
// models and servers.
func (q *Question) Lines() (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	shown := func(v any) string { b, _ := json.Marshal(v); return protocol.Short(string(b), maxShown) } // it was read from JSON
	if q.Form != nil {
		say("it asks: %s", strings.Join(strings.Fields(q.Form.Message), " "))
		fields := q.Form.Fields()
		for _, name := range protocol.SortedKeys(fields) {
			say("--answer %s, %s: %s", name, map[bool]string{true: "must be given", false: "may be given"}[q.Form.Required(name)], shown(fields[name]))
		}
	}
	if q.Reason != "" {
		say("%s: %s", q.Rule, q.Reason)
	}
	for _, uri := range protocol.SortedKeys(q.Contents) {
		say("%s is %s", uri, q.Contents[uri])
	}
	for _, name := range protocol.SortedKeys(q.Params) { // each on a line of its own: a long one hides no other
		say("%s = %s", name, shown(q.Params[name]))
	}
	return lines
}

// ReadAnswer reads the answer to a form, which goes with a yes; "" is none.
func (v *Verdict) ReadAnswer(text string) error {
	if text == "" {
		return nil
	}
	if !v.Yes {
		return protocol.Errorf(protocol.KindInvalid, "it goes with yes")
	}
	t, err := lenient.Read(text, lenient.Options{Plain: true, Strict: true})
	if v.Answer, _ = t.Value.(map[string]any); err != nil || v.Answer == nil {
		return protocol.Errorf(protocol.KindInvalid, "want a JSON object such as {\"name\": \"value\"}")
	}
	return nil
}

// KindForm is the kind of a question that the other side of a call asks while the call is out.
const KindForm = "form"

// Verdict is an answer.
type Verdict struct {
	Yes    bool   `json:"yes"`
	Reason string `json:"reason"`
	// Contents are those of the question that was answered.
	Contents map[string]string `json:"contents,omitempty"`
	// By is who answered, as permit.Leave says it; "" = a person.
	By string `json:"-"`
	// Value is the secret that was asked for. Token finds it among those that were sent.
	Value string `json:"-"`
	Token string `json:"token,omitempty"`
	// Answer is what was given to a form.
	Answer map[string]any `json:"answer,omitempty"`
}

// Approver answers questions. It returns soon after ctx ends; an error is no answer.
type Approver interface {
	Ask(ctx context.Context, q *Question) (Verdict, error)
}

// Door is an Approver that waits for [Answer].
type Door struct{ Dir string }

const (
	look     = 200 * time.Millisecond // between two looks for an answer
	maxFile  = 8 << 20                // bytes; parameters are of 1 MiB each, and escapes make them longer
	stale    = time.Minute            // after the deadline of a question
	asked    = ".ask.json"
	answered = ".answer.json"
)

// Ask implements Approver. The deadline is that of ctx.
func (d *Door) Ask(ctx context.Context, q *Question) (Verdict, error) {
	if q.Kind == KindValue {
		return d.askValue(ctx, q)
	}
	if v, err := readAnswer(d.Dir, q.ID); err == nil { // somebody answered after a kill
		_ = os.Remove(filepath.Join(d.Dir, q.ID+asked))
		return v, nil
	}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return Verdict{}, err
	}
	return d.wait(ctx, q)
}

// wait writes a question and waits for its answer.
func (d *Door) wait(ctx context.Context, q *Question) (Verdict, error) {
	if err := write(filepath.Join(d.Dir, q.ID+asked), q); err != nil {
		return Verdict{}, err
	}
	defer os.Remove(filepath.Join(d.Dir, q.ID+asked))
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if v, err := readAnswer(d.Dir, q.ID); err == nil {
			return v, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Verdict{}, context.Cause(ctx)
		}
	}
}

// List lists the questions that are open, by id. The error names those that cannot be read; the list has the others.
func List(dir string) (list []Question, err error) {
	names, err := fs.Glob(os.DirFS(dir), "*"+asked)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var faults []error
	for _, name := range names {
		name = filepath.Join(dir, name)
		var q Question
		if err := read(name, &q); errors.Is(err, fs.ErrNotExist) {
			continue // it was answered in the meantime
		} else if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
			continue
		}
		late := !q.Until.IsZero() && time.Now().After(q.Until.Add(stale)) // whoever asked was killed
		if _, err := os.Stat(filepath.Join(dir, q.ID+answered)); err != nil && !late {
			list = append(list, q)
		}
	}
	if len(faults) > 0 {
		err = protocol.Errorf(protocol.KindCorrupt, "questions that cannot be read: %w", errors.Join(faults...))
	}
	return list, err
}

// Answer answers an open question.
func Answer(dir, id string, v Verdict) error {
	q, err := open(dir, id)
	if err != nil {
		return err
	}
	v.Contents = q.Contents
	if err := q.fits(&v); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".answer-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	err = json.NewEncoder(temp).Encode(v)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	err = os.Link(temp.Name(), filepath.Join(dir, id+answered)) // of two that answer at once, one does
	if errors.Is(err, fs.ErrExist) {
		return protocol.Errorf(protocol.KindConflict, "the question %s was answered already", id)
	}
	return err
}

// fits says why an answer is none to a question.
func (q *Question) fits(v *Verdict) error {
	switch {
	case q.Kind != KindForm && v.Answer != nil:
		return protocol.Errorf(protocol.KindInvalid, "the question %s asks for yes or no, and for no answer", q.ID)
	case q.Kind != KindForm || !v.Yes:
		return nil
	case q.Form == nil:
		return protocol.Errorf(protocol.KindCorrupt, "the question %s has no form", q.ID)
	}
	return q.Form.Check(v.Answer)
}

// open gives an open question, which alone can be answered.
func open(dir, id string) (q Question, err error) {
	if !regexp.MustCompile(`^[0-9a-f]{1,64}$`).MatchString(id) {
		return q, protocol.Errorf(protocol.KindNotFound, "there is no question %q", protocol.Short(id, 80))
	}
	if was, err := readAnswer(dir, id); err == nil {
		return q, protocol.Errorf(protocol.KindConflict, "the question %s was answered already: %s", id, word(was.Yes))
	}
	switch err := read(filepath.Join(dir, id+asked), &q); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return q, protocol.Errorf(protocol.KindCorrupt, "the question %s cannot be read: %w", id, err)
	case err != nil:
		return q, protocol.Errorf(protocol.KindNotFound, "there is no open question %s", id)
	}
	return q, nil
}

func word(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func readAnswer(dir, id string) (v Verdict, err error) {
	err = read(filepath.Join(dir, id+answered), &v)
	return v, err
}

func read(name string, v any) error {
	data, err := ownfile.ReadAll(name, maxFile)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	switch v := v.(type) { // whole numbers are exact
	case *Verdict:
		return plain(&v.Answer)
	case *Question:
		err = plain(&v.Params)
		if v.Form != nil {
			err = errors.Join(err, plain(&v.Form.Schema))
		}
	}
	return err
}

// plain makes values of the numbers of a decoder.
func plain(m *map[string]any) error {
	v, err := protocol.Normalize(*m)
	if values, is := v.(map[string]any); is {
		*m = values
	}
	return err
}

// write writes a file that read reads, or none.
func write(name string, v any) error {
	b, err := wirejson.AppendAny(nil, v)
	if err != nil {
		return err
	}
	if len(b) >= maxFile {
		return protocol.Errorf(protocol.KindLimit, "the question has %d bytes, and a person is asked about %d at most", len(b)+1, maxFile)
	}
	return ownfile.Write(name, ".ask-*", append(b, '\n'))
}
