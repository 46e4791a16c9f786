package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/engine/secret"
	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Entry is one recorded answer, or failure.
type Entry struct {
	Scene    string `json:"scene"`
	Agent    string `json:"agent"` // instance id
	Turn     uint64 `json:"turn"`
	Request  int64  `json:"request"`  // number in the turn, from 1
	Question string `json:"question"` // hash of what the model read
	// Default is the model that answered requests without a name in that run, as in its manifest; nil = not said.
	Default *string `json:"default,omitempty"`

	Model     string                `json:"model,omitempty"`
	Text      string                `json:"text,omitempty"`
	Reasoning string                `json:"reasoning,omitempty"`
	Calls     []Call                `json:"calls,omitempty"`
	Finish    protocol.FinishReason `json:"finish,omitempty"`
	Usage     Usage                 `json:"usage,omitzero"`
	Latency   protocol.Duration     `json:"latency,omitempty"`
	Origin    Origin                `json:"origin"`

	// What a surrogate compares (llm/surrogate); "" = the cassette has no situations.
	Profile   string           `json:"profile,omitempty"`
	Purpose   protocol.Purpose `json:"purpose,omitempty"`
	Situation string           `json:"situation,omitempty"` // what the model read, without the system's messages

	Error     string             `json:"error,omitempty"`
	ErrorKind protocol.ErrorKind `json:"error_kind,omitempty"`

	Terms *Terms `json:"terms,omitempty"` // of the whole run: a line of its own, without an answer
}

// Call is a native call of an answer.
type Call struct {
	ID     string         `json:"id"`
	Tool   string         `json:"tool"`
	Params map[string]any `json:"params,omitempty"`
	Broken string         `json:"broken,omitempty"` // arguments that are no JSON object or hold a number that no value can
}

// Usage are the tokens of an answer.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	Estimated  bool  `json:"estimated,omitempty"`
}

// Origin is where the answer came from.
type Origin struct {
	Endpoint    string `json:"endpoint"`
	ID          string `json:"id,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Attempts    int64  `json:"attempts,omitempty"`
	Refused     string `json:"refused,omitempty"`
	Cost        *int64 `json:"cost,omitempty"` // nano-dollars; nil = the price was not known

	// What budgets had to do with it, for a replay.
	Saved    bool   `json:"saved,omitempty"`     // a record had answered, which counts nothing
	Lost     int64  `json:"lost,omitempty"`      // tokens that a failure counted
	LostNano int64  `json:"lost_nano,omitempty"` // nano-dollars, in the same way
	Ledger   string `json:"ledger,omitempty"`    // that refused it; no answer to anybody else

	Served *llm.Served `json:"served,omitempty"`
}

// Of makes an entry of an answer with an origin.
func Of(scene, agent string, turn uint64, request int64, a *protocol.ModelAnswer, err error) Entry {
	o := a.Origin
	e := Entry{
		Scene: scene, Agent: agent, Turn: turn, Request: request, Question: o.Question,
		Model: a.Model, Text: a.Text, Reasoning: a.Reasoning, Finish: a.Finish, Latency: protocol.Duration(a.Latency),
		Usage:  Usage{a.Usage.Input, a.Usage.Output, a.Usage.CacheRead, a.Usage.CacheWrite, a.Usage.Reasoning, a.Usage.Estimated},
		Origin: Origin{Endpoint: o.Endpoint, ID: o.ID, Fingerprint: o.Fingerprint, Attempts: o.Attempts, Refused: o.Refused, Served: llm.ServedOf(o.Served)},
	}
	if b := o.Budget; b != nil {
		e.Origin.Saved, e.Origin.Lost, e.Origin.LostNano = b.Saved, b.Lost, b.LostNano
		if err != nil && o.Endpoint == "" {
			e.Origin.Ledger = b.Ledger
		}
	}
	if o.Priced {
		e.Origin.Cost = &o.Cost
	}
	for i := range a.Calls {
		c := &a.Calls[i]
		e.Calls = append(e.Calls, Call{c.ID, c.Tool, c.Params, c.Broken})
	}
	if err != nil {
		e.Error, e.ErrorKind = err.Error(), protocol.KindOf(err)
	}
	return e
}

// Answer is the reverse of Of.
func (e *Entry) Answer() (protocol.ModelAnswer, error) {
	a := protocol.ModelAnswer{
		Model: e.Model, Text: e.Text, Reasoning: e.Reasoning, Finish: e.Finish, Latency: time.Duration(e.Latency),
		Usage: protocol.Usage{Input: e.Usage.Input, Output: e.Usage.Output, CacheRead: e.Usage.CacheRead, CacheWrite: e.Usage.CacheWrite, Reasoning: e.Usage.Reasoning, Estimated: e.Usage.Estimated},
		Origin: &protocol.ModelOrigin{
			Endpoint: e.Origin.Endpoint, ID: e.Origin.ID, Fingerprint: e.Origin.Fingerprint, Question: e.Question, Attempts: e.Origin.Attempts, Refused: e.Origin.Refused,
			Served: e.Origin.Served.Raw(),
		},
	}
	if e.Origin.Cost != nil {
		a.Origin.Cost, a.Origin.Priced = *e.Origin.Cost, true
	}
	if b := (protocol.ModelBudget{Ledger: e.Origin.Ledger, Lost: e.Origin.Lost, LostNano: e.Origin.LostNano}); b != (protocol.ModelBudget{}) {
		a.Origin.Budget = &b
	}
	for _, c := range e.Calls {
		a.Calls = append(a.Calls, protocol.Call{ID: c.ID, Tool: c.Tool, Params: c.Params, Broken: c.Broken, Origin: protocol.OriginNative})
	}
	if e.Error != "" {
		return a, &protocol.Error{Kind: e.ErrorKind, Message: e.Error}
	}
	return a, nil
}

// Hide hides the values of secrets (engine/secret).
func (e *Entry) Hide() {
	e.Text, e.Reasoning, e.Error, e.Situation = secret.Text(e.Text), secret.Text(e.Reasoning), secret.Text(e.Error), secret.Text(e.Situation)
	for i := range e.Calls {
		c := &e.Calls[i]
		v, _ := secret.Hide(c.Params)
		c.Params, _ = v.(map[string]any)
		c.Broken = secret.Text(c.Broken)
	}
}

// Terms are what a run asked endpoints on: with them its budgets refuse the same again.
type Terms struct {
	Prices  map[string]*price.Price   `json:"prices"`            // by the name of the model's file; null = the price was not known
	Budgets map[string]*budget.Budget `json:"budgets,omitempty"` // of endpoints, by name
}

// check refuses terms that no run has.
func (t *Terms) check() error {
	if t.Prices == nil {
		return errors.New("terms: prices are missing; give those of each model at an endpoint by the name of its file, null if they were not known, or {} if there was no model")
	}
	for _, name := range protocol.SortedKeys(t.Prices) {
		if field, n := t.Prices[name].Negative(); n < 0 {
			return fmt.Errorf("terms: prices.%s.%s is %d; it must be 0 or more", name, field, n)
		}
	}
	for _, name := range protocol.SortedKeys(t.Budgets) {
		_, err := t.Budgets[name].Limits(budget.Refuse)
		if t.Budgets[name] == nil {
			err = errors.New("it is null")
		}
		if err != nil {
			return fmt.Errorf("terms: endpoint %s has no valid budget: %w", name, err)
		}
	}
	return nil
}

// Answers are recorded answers by their questions. After the last Add, Find is safe for
// concurrent use.
type Answers struct {
	Terms *Terms // nil = they do not say

	all    []*Entry
	by     map[string][]*Entry // by question
	agents map[owner][]*Entry
}

type owner struct{ scene, agent string }

// Len counts the entries.
func (a *Answers) Len() int { return len(a.all) }

// Add adds an entry.
func (a *Answers) Add(e *Entry) {
	if e.Terms != nil {
		a.Terms = e.Terms
		return
	}
	if a.by == nil {
		a.by, a.agents = map[string][]*Entry{}, map[owner][]*Entry{}
	}
	who := owner{e.Scene, e.Agent}
	a.agents[who] = append(a.agents[who], e)
	a.by[e.Question] = append(a.by[e.Question], e)
	a.all = append(a.all, e)
}

// All are the entries, in the order in which they were added.
func (a *Answers) All() []*Entry { return slices.Clip(a.all) }

// Each calls yield for every entry, in the order in which they were added.
func (a *Answers) Each(yield func(*Entry) error) error {
	for _, e := range a.all {
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// Place is what asks: one request of a turn of an agent.
type Place struct {
	Scene, Agent string
	Turn         uint64
	Request      int64
}

// Place is what asked.
func (e *Entry) Place() Place { return Place{e.Scene, e.Agent, e.Turn, e.Request} }

// Nearest finds the entry of an agent whose turn is nearest to a request, of those the one
// with its number; nil = it has none.
func (a *Answers) Nearest(at Place) (best *Entry) {
	for _, e := range a.agents[owner{at.Scene, at.Agent}] {
		if best == nil || nearer(e.Turn, best.Turn, at.Turn) || e.Turn == best.Turn && e.Request == at.Request {
			best = e
		}
	}
	return best
}

// Find finds the answer to a question. any says that an answer to anybody will do.
func (a *Answers) Find(question string, at Place, any bool) (*Entry, bool) {
	var best, first *Entry
	for _, e := range a.by[question] {
		own := e.Scene == at.Scene && e.Agent == at.Agent
		if own && e.Turn == at.Turn && e.Request == at.Request {
			return e, true
		}
		if e.Error != "" {
			continue
		}
		if first == nil {
			first = e
		}
		if own && (best == nil || nearer(e.Turn, best.Turn, at.Turn)) {
			best = e
		}
	}
	if best == nil && any {
		best = first
	}
	return best, best != nil
}

// nearer reports whether turn a is nearer to at than turn b: the next later one, else
// the last earlier one.
func nearer(a, b, at uint64) bool {
	if later := a >= at; later != (b >= at) {
		return later
	}
	if a >= at {
		return a < b
	}
	return a > b
}

// Write writes an entry as one line.
func Write(w io.Writer, e *Entry) error { return writeLine(w, e) }

// Write writes the terms as one line; def is [Entry.Default] of the run. nil writes nothing.
func (t *Terms) Write(w io.Writer, def *string) error {
	if t == nil {
		return nil
	}
	return writeLine(w, struct {
		Terms   *Terms  `json:"terms"`
		Default *string `json:"default,omitempty"`
	}{t, def})
}

func writeLine(w io.Writer, line any) error {
	b, err := wirejson.AppendAny(nil, line)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// MaxLine bounds the bytes of a line.
const MaxLine = 32 << 20

// Read reads a cassette; name is the file's, for errors.
func Read(name string, r io.Reader) (*Answers, error) {
	a := &Answers{}
	return a, Lines(name, r, func(e *Entry) error { a.Add(e); return nil })
}

// Lines calls yield for each line of a cassette, until it returns an error.
func Lines(name string, r io.Reader, yield func(*Entry) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	terms := false
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		e, err := readLine(line)
		if err == nil && e.Terms != nil {
			if terms {
				err = errors.New("terms stand twice; a cassette has those of one run")
			}
			terms = true
		}
		if err != nil {
			return protocol.Errorf(protocol.KindInvalid, "%s:%d: this is no line of a cassette: %w", name, n, err)
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return protocol.Errorf(protocol.KindLimit, "%s: a line has more than %d bytes", name, MaxLine)
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readLine(line []byte) (*Entry, error) {
	e := &Entry{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(e); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	if e.Terms != nil && (e.Agent != "" || e.Question != "") {
		return nil, errors.New("terms and an answer; give each a line of its own")
	}
	if e.Terms != nil {
		return e, e.Terms.check()
	}
	var lacks []string
	for _, f := range []struct {
		name  string
		given bool
	}{{"agent", e.Agent != ""}, {"question", len(e.Question) == 32}, {"turn", e.Turn > 0}, {"request", e.Request > 0}} {
		if !f.given {
			lacks = append(lacks, f.name)
		}
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("it has no valid %s", strings.Join(slices.Clip(lacks), ", "))
	}
	for i := range e.Calls {
		v, err := protocol.Normalize(e.Calls[i].Params)
		if err != nil {
			return nil, err
		}
		e.Calls[i].Params, _ = v.(map[string]any)
	}
	return e, nil
}
