package mock

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tavernsim/llm/mock/wire"
)

// Bounds of what a server remembers.
const (
	maxQuestions = 1 << 17 // of each of two generations
	maxLast      = 64      // requests
	maxLastBody  = 16 << 10
)

// endpoint is a path that a server answers.
type endpoint uint8

const (
	chat       = endpoint(wire.Chat)
	messages   = endpoint(wire.Messages)
	embeddings = endpoint(wire.Embeddings)
)

const (
	models endpoint = iota + 3
	metrics
	requests
	nowhere
)

func (e endpoint) String() string {
	return [...]string{"chat/completions", "messages", "embeddings", "models", "metrics", "requests", "other"}[e]
}

// outcome classes what became of a request.
type outcome uint8

const (
	sound   outcome = iota
	faulty          // a fault of the options
	failing         // the script says that it fails
	limited         // by --rpm or --tpm
	refused         // it was wrong: body, key, path
	gone            // the client left first
	outcomes
)

func (o outcome) String() string {
	return [...]string{"ok", "fault", "failed", "limited", "refused", "gone"}[o]
}

// key identifies a question: the endpoint and the hash of the body's bytes.
type key struct {
	endpoint endpoint
	hash     [16]byte
}

// Asked is how often a question came.
type Asked struct {
	Question string `json:"question"`
	Path     string `json:"path"`
	Times    int    `json:"times"`
	Answered int    `json:"answered"`
}

// Request is one of the last requests.
type Request struct {
	Path     string `json:"path"`
	Question string `json:"question,omitempty"`
	Attempt  int    `json:"attempt"`
	Model    string `json:"model,omitempty"`
	Stream   bool   `json:"stream"`
	Outcome  string `json:"outcome"`
	Fault    string `json:"fault,omitempty"`
	Status   int    `json:"status"`
	Input    int64  `json:"input"`
	Output   int64  `json:"output"`
	Body     string `json:"body,omitempty"`
}

// Report is what a server has done so far.
type Report struct {
	Requests  int64                       `json:"requests"`
	InFlight  int                         `json:"in_flight"`
	Outcomes  map[string]map[string]int64 `json:"outcomes"` // by path, then by outcome
	Faults    map[string]int64            `json:"faults"`
	Input     int64                       `json:"input"`     // tokens of the questions whose answers were sent to their end
	Output    int64                       `json:"output"`    // tokens of these answers
	Questions int                         `json:"questions"` // that are remembered
	Repeated  int64                       `json:"repeated"`  // requests whose question had come before
	Forgotten int64                       `json:"forgotten"`
	Asked     []Asked                     `json:"asked,omitempty"` // the most often asked first
	Last      []Request                   `json:"last,omitempty"`  // the newest last
}

type times struct{ asked, answered int32 }

// tally counts, and remembers a bounded number of questions and requests.
type tally struct {
	mu       sync.Mutex
	counts   [nowhere + 1][outcomes]int64
	faults   []int64 // by place in the catalogue
	input    int64
	output   int64
	repeated int64
	inFlight int

	// Questions of the present and of the generation before. When the present is
	// full, the one before is forgotten: its questions begin anew.
	now, before map[key]times
	forgotten   int64

	last []record // a ring
	next int
}

// record is one of the last requests, as it is kept.
type record struct {
	key      key
	attempt  int
	model    string
	stream   bool
	outcome  outcome
	fault    fault
	status   int
	in, out  int64
	body     []byte
	question bool // key is one
}

func newTally() *tally {
	return &tally{faults: make([]int64, len(catalogue())), now: map[key]times{}}
}

// ask counts a question and says how often it came before.
func (t *tally) ask(k key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.of(k)
	if n.asked++; n.asked > 1 {
		t.repeated++
	}
	t.keep(k, n)
	return int(n.asked) - 1
}

func (t *tally) of(k key) times {
	n, ok := t.now[k]
	if !ok {
		n = t.before[k]
	}
	return n
}

func (t *tally) keep(k key, n times) {
	if _, ok := t.now[k]; !ok {
		if len(t.now) >= maxQuestions {
			t.forgotten += int64(len(t.before))
			t.before, t.now = t.now, map[key]times{}
		}
		delete(t.before, k)
	}
	t.now[k] = n
}

func (t *tally) begin() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight++
	return t.inFlight
}

// done counts what became of a request.
func (t *tally) done(r *record, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	t.counts[r.key.endpoint][r.outcome]++
	if r.fault != noFault {
		t.faults[r.fault]++
	}
	t.input += r.in
	t.output += r.out
	if r.question && r.outcome == sound {
		n := t.of(r.key)
		n.answered++
		t.keep(r.key, n)
	}
	if len(t.last) < maxLast {
		t.last = append(t.last, record{})
	}
	kept := &t.last[t.next%maxLast]
	t.next++
	room := kept.body
	*kept = *r
	kept.body = append(room[:0], body[:min(len(body), maxLastBody)]...)
}

// report copies the counts, with at most so many questions and, if asked for, bodies.
func (t *tally) report(most int, bodies bool) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Report{InFlight: t.inFlight, Outcomes: map[string]map[string]int64{}, Faults: map[string]int64{}, Input: t.input, Output: t.output,
		Questions: len(t.now) + len(t.before), Repeated: t.repeated, Forgotten: t.forgotten}
	for e := range t.counts {
		for o, n := range t.counts[e] {
			if r.Requests += n; n > 0 {
				path := endpoint(e).String()
				if r.Outcomes[path] == nil {
					r.Outcomes[path] = map[string]int64{}
				}
				r.Outcomes[path][outcome(o).String()] = n
			}
		}
	}
	for i, n := range t.faults {
		if n > 0 {
			r.Faults[catalogue()[i].Name] = n
		}
	}
	if most > 0 {
		r.Asked = t.asked(most)
	}
	for i := range t.last {
		r.Last = append(r.Last, t.last[(t.next+i)%len(t.last)].public(bodies))
	}
	return r
}

func (t *tally) asked(most int) []Asked {
	list := make([]Asked, 0, len(t.now)+len(t.before))
	for _, generation := range []map[key]times{t.now, t.before} {
		for k, n := range generation { // sorted below
			list = append(list, Asked{hex.EncodeToString(k.hash[:]), k.endpoint.String(), int(n.asked), int(n.answered)})
		}
	}
	slices.SortFunc(list, func(a, b Asked) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Question, b.Question))
	})
	return list[:min(len(list), most)]
}

func (r *record) public(bodies bool) Request {
	out := Request{Path: r.key.endpoint.String(), Attempt: r.attempt, Model: r.model, Stream: r.stream, Outcome: r.outcome.String(), Status: r.status, Input: r.in, Output: r.out}
	if r.question {
		out.Question = hex.EncodeToString(r.key.hash[:])
	}
	if r.fault != noFault {
		out.Fault = catalogue()[r.fault].Name
	}
	if bodies {
		out.Body = string(r.body)
	}
	return out
}

// prometheus writes the counts in the text format.
func (t *tally) prometheus(w io.Writer, up time.Duration) {
	t.mu.Lock()
	counts, faults := t.counts, slices.Clone(t.faults)
	in, out, flying, questions := t.input, t.output, t.inFlight, len(t.now)+len(t.before)
	t.mu.Unlock()
	metric := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP mock_llm_%s %s\n# TYPE mock_llm_%s %s\n", name, help, name, kind)
	}
	metric("requests_total", "counter", "Requests that have ended, by path and outcome.")
	for e := range counts {
		for o, n := range counts[e] {
			fmt.Fprintf(w, "mock_llm_requests_total{path=%q,outcome=%q} %d\n", endpoint(e), outcome(o), n)
		}
	}
	metric("faults_total", "counter", "Answers that a fault has spoilt.")
	for i, k := range catalogue() {
		fmt.Fprintf(w, "mock_llm_faults_total{fault=%q} %d\n", k.Name, faults[i])
	}
	metric("tokens_total", "counter", "Tokens of answers that were sent to their end, and of their questions.")
	fmt.Fprintf(w, "mock_llm_tokens_total{token_type=\"input\"} %d\nmock_llm_tokens_total{token_type=\"output\"} %d\n", in, out)
	metric("inflight_requests", "gauge", "Requests that are being answered.")
	fmt.Fprintf(w, "mock_llm_inflight_requests %d\n", flying)
	metric("questions", "gauge", "Different questions that are remembered.")
	fmt.Fprintf(w, "mock_llm_questions %d\n", questions)
	metric("uptime_seconds", "gauge", "Time since the server was made.")
	fmt.Fprintf(w, "mock_llm_uptime_seconds %g\n", up.Seconds())
}
