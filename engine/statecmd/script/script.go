// Package script carries out the texts of `simd state apply`: commands on a JSON state
// ([Apply]), or a script of commands and passing time with one engine ([Run]). It takes
// and returns values; the program reads files and flags.
package script

import (
	"encoding/json"
	"strings"
	"time"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// Output answers one batch on the command line.
type Output struct {
	State    json.RawMessage      `json:"state"`
	Results  []statecmd.Result    `json:"results"`
	Audit    []statecmd.Record    `json:"audit"`
	Warnings []command.Warning    `json:"warnings"`
	Debug    []statecmd.Inspected `json:"debug,omitempty"`
}

// RunOutput answers a script.
type RunOutput struct {
	State json.RawMessage   `json:"state"`
	Steps []StepOutput      `json:"steps"`
	Audit []statecmd.Record `json:"audit"`
}

// StepOutput answers one step of a script.
type StepOutput struct {
	Results  []statecmd.Result    `json:"results"`
	Warnings []command.Warning    `json:"warnings"`
	Debug    []statecmd.Inspected `json:"debug,omitempty"`
}

// MaxSteps bounds a script.
const MaxSteps = 10_000

// Apply carries out one text of commands on a JSON state. prefix "" is
// the default prefix. The state is either what lies below the prefix or an object in
// which the prefix can be walked: when the state has the prefix's first segment,
// keys begin at its root, else below the prefix.
func Apply(state []byte, prefix, commands string, now protocol.Time) (*Output, error) {
	value, err := readState(string(state))
	if err != nil {
		return nil, err
	}
	batch, err := command.Decode(commands)
	if err != nil {
		return nil, err
	}
	e, s, err := standalone(value, prefix)
	if err != nil {
		return nil, err
	}
	dec := e.Decide(s, statecmd.Input{Now: now, Batch: batch})
	return &Output{State: stateJSON(dec.Next), Results: dec.Results, Audit: records(dec.Audit), Warnings: dec.Warnings, Debug: dec.Debug}, nil
}

func records(r []statecmd.Record) []statecmd.Record {
	if r == nil {
		return []statecmd.Record{}
	}
	return r
}

func stateJSON(s statecmd.State) json.RawMessage { return s.Document("state").AppendJSON(nil) }

func readState(text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	t, err := lenient.Read(text, lenient.Options{Strict: true})
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "state: %w", err)
	}
	return plainState(t.Value)
}

func plainState(v any) (any, error) {
	plain, err := lenient.Plain(v)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "state: %w", err)
	}
	return plain, nil
}

// standalone makes an engine with one document.
func standalone(value any, prefix string) (*statecmd.Engine, statecmd.State, error) {
	if prefix == "" {
		prefix = statecmd.DefaultPrefix
	}
	doc, err := world.FromValue(value, 0)
	if err != nil {
		return nil, statecmd.State{}, protocol.Errorf(protocol.KindInvalid, "state: %w", err)
	}
	m := statecmd.Mount{Prefix: prefix, Document: "state"}
	if stem := strings.TrimSuffix(prefix, "."); stem != "" {
		root, err := world.ParsePath(stem)
		if err != nil {
			return nil, statecmd.State{}, protocol.Errorf(protocol.KindInvalid, "prefix: %w", err)
		}
		if doc.Has(root[:1]) {
			m.Root = root
		}
	}
	e, err := statecmd.New(statecmd.Settings{Mounts: []statecmd.Mount{m}})
	if err != nil {
		return nil, statecmd.State{}, err
	}
	return e, statecmd.NewState(map[string]*world.Document{"state": doc}), nil
}

// Run carries out {"state", "now", "prefix", "steps"}: one engine lives
// through all steps. A step is {"commands"}, {"advance": "10s"} or {"restore":
// opId}. now is the clock's start when the script names none.
func Run(text string, now protocol.Time) (*RunOutput, error) {
	s, err := readScript(text, now)
	if err != nil {
		return nil, err
	}
	e, state, err := standalone(s.state, s.prefix)
	if err != nil {
		return nil, err
	}
	out := &RunOutput{Steps: []StepOutput{}, Audit: []statecmd.Record{}}
	for i, step := range s.steps {
		var dec statecmd.Decision
		if dec, s.now, err = runStep(e, state, step, s.now); err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "step %d: %w", i, err)
		}
		state = dec.Next
		out.Steps = append(out.Steps, StepOutput{dec.Results, dec.Warnings, dec.Debug})
		out.Audit = append(out.Audit, dec.Audit...)
	}
	out.State = stateJSON(state)
	return out, nil
}

type script struct {
	state  any
	prefix string
	now    protocol.Time
	steps  []*lenient.Object
}

func readScript(text string, now protocol.Time) (script, error) {
	t, err := lenient.Read(text, lenient.Options{Strict: true})
	if err != nil {
		return script{}, protocol.Errorf(protocol.KindInvalid, "script: %w", err)
	}
	o, ok := t.Value.(*lenient.Object)
	if !ok {
		return script{}, protocol.Errorf(protocol.KindInvalid, `script: want an object {"state", "now", "steps"}`)
	}
	s := script{now: now}
	for _, m := range o.Members {
		if err := s.field(m); err != nil {
			return script{}, protocol.Errorf(protocol.KindInvalid, "script: %w", err)
		}
	}
	if len(s.steps) > MaxSteps {
		return script{}, protocol.Errorf(protocol.KindLimit, "script: %d steps; the limit is %d", len(s.steps), MaxSteps)
	}
	return s, nil
}

func (s *script) field(m lenient.Member) (err error) {
	ok := true
	switch m.Key {
	case "state":
		s.state, err = plainState(m.Value)
	case "prefix":
		s.prefix, ok = m.Value.(string)
	case "now":
		var at string
		if at, ok = m.Value.(string); ok {
			var t time.Time
			if t, err = time.Parse(time.RFC3339Nano, at); err == nil {
				s.now = protocol.TimeOf(t)
			}
		}
	case "steps":
		var list []any
		if list, ok = m.Value.([]any); ok {
			for i, item := range list {
				step, isObject := item.(*lenient.Object)
				if !isObject {
					return protocol.Errorf(protocol.KindInvalid, `step %d is no object; want {"commands"}, {"advance"} or {"restore"}`, i)
				}
				s.steps = append(s.steps, step)
			}
		}
	default:
		return protocol.Errorf(protocol.KindInvalid, "field %q is unknown%s", m.Key, command.Hint(command.Nearest(m.Key, []string{"state", "now", "prefix", "steps"})))
	}
	if err == nil && !ok {
		return protocol.Errorf(protocol.KindInvalid, "field %q has the wrong type", m.Key)
	}
	return err
}

func runStep(e *statecmd.Engine, s statecmd.State, step *lenient.Object, now protocol.Time) (statecmd.Decision, protocol.Time, error) {
	if v, ok := step.Get("commands"); ok {
		batch, err := command.DecodeParsed(v)
		if err != nil {
			return statecmd.Decision{}, now, err
		}
		return e.Decide(s, statecmd.Input{Now: now, Batch: batch}), now, nil
	}
	if v, ok := step.Get("advance"); ok {
		d, err := readDuration(v)
		if err != nil {
			return statecmd.Decision{}, now, err
		}
		now = now.Add(d)
		return e.Advance(s, now), now, nil
	}
	if v, ok := step.Get("restore"); ok {
		q := statecmd.Restoring{Now: now, Actor: "user"}
		if o, isObject := v.(*lenient.Object); isObject {
			q.Bin, _ = textField(o, "bin")
			overwrite, _ := o.Get("overwrite")
			q.Overwrite = overwrite == true
			v, _ = o.Get("opId")
		}
		q.OpID, ok = v.(string)
		if !ok {
			return statecmd.Decision{}, now, protocol.Errorf(protocol.KindInvalid, "restore wants an opId")
		}
		return e.Restore(s, q), now, nil
	}
	return statecmd.Decision{}, now, protocol.Errorf(protocol.KindInvalid, `want {"commands"}, {"advance"} or {"restore"}`)
}

func textField(o *lenient.Object, name string) (string, bool) {
	v, _ := o.Get(name)
	s, ok := v.(string)
	return s, ok
}

// readDuration takes "1h30m" or a number of seconds.
func readDuration(v any) (time.Duration, error) {
	var d time.Duration
	var err error
	if s, ok := v.(string); ok {
		d, err = time.ParseDuration(s)
	} else if n, ok := protocol.Number(v); ok && n < command.MaxTTL.Seconds() {
		d = time.Duration(n * float64(time.Second))
	} else {
		err = protocol.Errorf(protocol.KindInvalid, "advance wants a duration such as 10s")
	}
	if err == nil && d < 0 {
		err = protocol.Errorf(protocol.KindInvalid, "advance %s goes back in time", d)
	}
	return d, err
}
