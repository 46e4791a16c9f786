package toolreplay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/secret"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Place is what asks: one request of a turn of an agent.
type Place struct {
	Scene  string `json:"scene"`
	Agent  string `json:"agent"` // instance id
	Turn   uint64 `json:"turn"`
	Number int64  `json:"number"` // in the turn, from 1
}

// Entry is one recorded answer.
type Entry struct {
	Place
	Question  string             `json:"question"`
	Tool      string             `json:"tool"`
	Params    string             `json:"params,omitempty"` // for people: JSON, cut, secrets hidden
	Output    protocol.Raw       `json:"output,omitempty"`
	Artifacts []tool.Artifact    `json:"artifacts,omitempty"`
	Latency   protocol.Duration  `json:"latency,omitempty"`
	Took      protocol.Duration  `json:"took,omitempty"` // scene time of a task; 0 = of none
	Error     string             `json:"error,omitempty"`
	ErrorKind protocol.ErrorKind `json:"error_kind,omitempty"`
	Carried   bool               `json:"carried,omitempty"` // as effect.Answered says it
	Hooks     protocol.Raw       `json:"hooks,omitempty"`   // likewise
}

const maxParams = 200

// New makes the entry of a call without an answer. kind is that of the request.
func New(at Place, kind string, c *protocol.Call) *Entry {
	shown, _ := secret.Hide(c.Params)
	return &Entry{Place: at, Question: Question(kind, c), Tool: c.Tool, Params: protocol.Short(string(template.AppendJSON(nil, shown)), maxParams)}
}

// Question is a hash of a call: of the kind of the request, the tool, its parameters, and
// what these refer to.
func Question(kind string, c *protocol.Call) string {
	b := protocol.AppendValue(nil, []any{kind, c.Tool, values(c.Params), texts(c.URIs)})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// values are parameters; none are an empty object.
func values(params map[string]any) map[string]any {
	if params == nil {
		return map[string]any{}
	}
	return params
}

func texts(uris map[string]string) map[string]any {
	v := make(map[string]any, len(uris))
	for name, uri := range uris {
		v[name] = uri
	}
	return v
}

// Err is the recorded failure; nil = the call worked.
func (e *Entry) Err() error {
	if e.Error == "" {
		return nil
	}
	return &protocol.Error{Kind: e.ErrorKind, Message: e.Error}
}

// Answers are recorded answers by their questions. After the last Add, they are safe for
// concurrent use.
type Answers struct {
	// From names the run, for errors.
	From string

	all    []*Entry
	by     map[string][]*Entry // by question
	agents map[owner][]*Entry
}

type owner struct{ scene, agent string }

// Len counts the entries.
func (a *Answers) Len() int { return len(a.all) }

// Add adds an entry.
func (a *Answers) Add(e *Entry) {
	if a.by == nil {
		a.by, a.agents = map[string][]*Entry{}, map[owner][]*Entry{}
	}
	o := owner{e.Scene, e.Agent}
	a.agents[o] = append(a.agents[o], e)
	a.by[e.Question] = append(a.by[e.Question], e)
	a.all = append(a.all, e)
}

// Find finds the answer to a question.
func (a *Answers) Find(question string, at Place) (best *Entry, ok bool) {
	for _, e := range a.by[question] {
		if e.Place == at {
			return e, true
		}
		if best == nil || e.before(best, at) {
			best = e
		}
	}
	return best, best != nil
}

// before reports whether an entry is a better answer than another one of the same question
// that was recorded earlier.
func (e *Entry) before(other *Entry, at Place) bool {
	if worked := e.Error == ""; worked != (other.Error == "") {
		return worked
	}
	if own := e.owns(at); own != other.owns(at) {
		return own
	}
	return e.owns(at) && nearer(e.Turn, other.Turn, at.Turn)
}

func (e *Entry) owns(at Place) bool { return e.Scene == at.Scene && e.Agent == at.Agent }

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

// Missed says that a call has no recorded answer, and which one of its agent is the nearest.
func (a *Answers) Missed(at Place, c *protocol.Call) string {
	var best *Entry
	for _, e := range a.agents[owner{at.Scene, at.Agent}] {
		if best == nil || e.Tool != best.Tool && e.Tool == c.Tool || (e.Tool == c.Tool) == (best.Tool == c.Tool) && nearer(e.Turn, best.Turn, at.Turn) {
			best = e
		}
	}
	text := fmt.Sprintf("%s has no answer to this call of %s", a.From, c.Tool)
	if i := slices.IndexFunc(a.all, func(e *Entry) bool { return e.Tool == c.Tool }); best == nil && i >= 0 {
		return fmt.Sprintf("%s; the first of anybody is of agent %s: %s %s", text, a.all[i].Agent, c.Tool, a.all[i].Params)
	}
	if best == nil {
		return fmt.Sprintf("%s, and none to any other call of agent %s of scene %q", text, at.Agent, at.Scene)
	}
	return fmt.Sprintf("%s; the nearest of this agent is request %d of turn %d: %s %s", text, best.Number, best.Turn, best.Tool, best.Params)
}
