// Package hook has the messages between turns and the hooks of plugins: the places at
// which hooks are asked, and the combined answer of all hooks of a place.
//
// # Not here
//
// When a turn asks (engine/agent); the services that answer, their order and their time
// (scenes/tooling). Hooks of single calls are a part of the call: [OfCall] is what its answer says of them.
package hook

import (
	"tavernsim/protocol"
)

// The places at which a turn asks.
const (
	BeforeDeliberate = "agent:before-deliberate"
	BeforeExecute    = "workflow:before-execute"
	AfterExecute     = "workflow:after-execute"
	SceneStart       = "scene:start"
	SceneEnd         = "scene:end"
)

// Places are those at which somebody is asked. True: what the place is about does not
// happen if nobody answers.
type Places map[string]bool

// Has reports whether somebody is asked.
func (p Places) Has(place string) bool {
	_, ok := p[place]
	return ok
}

// Answer is what came of the hooks of a place.
type Answer struct {
	Veto   string         // why it must not happen; "" = it may
	Values map[string]any // inputs or outputs in the place of those that were told, by name
	// Observations are what the agent observes in this turn, beside its own.
	Observations []Observation
	Steps        []Step // what each hook did, in order
}

// Observation is what a plugin lets an agent observe.
type Observation struct {
	Plugin string
	Value  any
}

// Step is what one hook did.
type Step struct{ Plugin, Did, Why string }

// What a hook did.
const (
	Nothing = "nothing"
	Changed = "changed"
	Forbade = "forbade"
	Failed  = "failed"
)

// Value is the answer as a value.
func (a *Answer) Value() map[string]any {
	v := map[string]any{"hooks": valueOf(a.Steps)}
	if a.Veto != "" {
		v["veto"] = a.Veto
	}
	if len(a.Values) > 0 {
		v["values"] = a.Values
	}
	if len(a.Observations) > 0 {
		list := make([]any, len(a.Observations))
		for i, o := range a.Observations {
			list[i] = map[string]any{"plugin": o.Plugin, "value": o.Value}
		}
		v["observations"] = list
	}
	return v
}

// Read reads the answer to a question about a place. err is why there is none: then it is
// a veto if closed says so.
func Read(v any, err error, closed bool) (a Answer) {
	if err != nil {
		if closed {
			a.Veto = "the hooks could not be asked: " + err.Error()
		}
		return a
	}
	m, _ := v.(map[string]any)
	a.Veto, _ = m["veto"].(string)
	a.Values, _ = m["values"].(map[string]any)
	for _, o := range protocol.ObjectsIn(m["observations"]) {
		a.Observations = append(a.Observations, Observation{Plugin: text(o, "plugin"), Value: o["value"]})
	}
	a.Steps = stepsIn(m["hooks"])
	return a
}

func valueOf(steps []Step) []any {
	list := make([]any, len(steps))
	for i, s := range steps {
		step := map[string]any{"plugin": s.Plugin, "did": s.Did}
		if s.Why != "" {
			step["why"] = s.Why
		}
		list[i] = step
	}
	return list
}

func stepsIn(v any) (steps []Step) {
	for _, s := range protocol.ObjectsIn(v) {
		steps = append(steps, Step{text(s, "plugin"), text(s, "did"), text(s, "why")})
	}
	return steps
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// MaxTold is how long a value may be that a hook is told, in bytes of its encoded form.
const MaxTold = 64 << 10

// Told are those of named values that a hook is told, as copies, and the names of those
// that are left out because they are longer than [MaxTold], nested too deep or no values.
func Told(names []string, value func(i int) any) (told map[string]any, left []any) {
	told = map[string]any{}
	for i, name := range names {
		v, err := protocol.NormalizeBounded(value(i))
		if v == nil && err == nil {
			continue
		}
		if err == nil {
			if raw := protocol.Encode(v); len(raw) <= MaxTold {
				if v, err = raw.Value(); err == nil {
					told[name] = v
					continue
				}
			}
		}
		left = append(left, name)
	}
	return told, left
}
