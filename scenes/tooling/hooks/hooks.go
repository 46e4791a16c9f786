// Package hooks asks services of plugins at the places for which they have hooks.
//
// [Of] finds the hooks of a project, [Hooks.Open] gives them the executor of the services.
//
// # Promises
//
//  1. Hooks of a place are asked one after the other: those of higher priority first, then by
//     the name of the plugin. Each gets the results of the ones before it.
//  2. The time of a hook covers only its own answer: it begins when the question was
//     written to the service. The start of the service, and the wait for a free
//     slot of its concurrency, do not count; they take at most 5 min.
//  3. The answer of a hook is used if it has the form of its place, and fits the
//     interface of the workflow. Otherwise the hook has failed, and its manifest says what follows.
//  4. A hook without a grant is not asked. It has failed.
//  5. A call that a hook changed is bound, checked and judged as that of the agent was. It has no
//     reference and no secret that the call of the agent did not have in the same place. The
//     hook cannot put the value of a secret into it, in any encoding.
//
// # Not here
//
// The effect of an answer (engine/agent, scenes/tooling), and asking only once
// (scenes/outside). [Hook.Change] only makes the call that a hook wants.
package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/workflow"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/plugin"
	"tavernsim/tools/rpc"
)

// Hook is a place at which a service of a plugin is asked.
type Hook struct {
	plugin.Hook
	Plugin string
}

const (
	defaultTime = 100 * time.Millisecond // that an answer may take
	maxTurn     = 5 * time.Minute        // that a question may wait to be asked
)

// Hooks are those of a scene.
type Hooks struct {
	project *project.Project
	rpc     *rpc.Executor // nil = nobody is asked
	refused func(plugin string) error
	mask    func(text string) string
	masked  func(v any) (any, error)
	of      map[string][]*Hook // by place, in the order in which they are asked
}

// Of finds the hooks of a project. Until they are opened nobody is asked.
func Of(p *project.Project) *Hooks {
	x := &Hooks{project: p, of: map[string][]*Hook{}}
	for _, name := range protocol.SortedKeys(p.Plugins()) {
		own := p.Plugins()[name]
		if own.Broken() {
			continue
		}
		for _, h := range own.Manifest.Hooks {
			x.of[h.Hook] = append(x.of[h.Hook], &Hook{Hook: h, Plugin: name})
		}
	}
	for _, list := range x.of {
		slices.SortStableFunc(list, func(a, b *Hook) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	return x
}

// Open lets the services be asked. refused says of each question why the plugin is not asked:
// the operator has not granted it; nil = it is. mask and masked take secrets out of what services say; an error says
// that a value has one in another form than its own.
func (x *Hooks) Open(services *rpc.Executor, refused func(plugin string) error, mask func(text string) string, masked func(v any) (any, error)) {
	x.rpc, x.refused, x.mask, x.masked = services, refused, mask, masked
}

// Plugin is the name of one that has hooks; "" = none has.
func (x *Hooks) Plugin() string {
	for _, place := range protocol.SortedKeys(x.of) {
		return x.of[place][0].Plugin
	}
	return ""
}

// Turns reports whether turns ask some of them, beside those about calls.
func (x *Hooks) Turns() bool {
	for place := range x.of {
		if place != plugin.BeforeCall && place != plugin.AfterCall {
			return true
		}
	}
	return false
}

// AtOnce is how many requests the services that are asked work on at once, all together.
func (x *Hooks) AtOnce() (n int) {
	services := map[string]bool{}
	for _, list := range x.of {
		for _, h := range list {
			services[path.Join(h.Plugin, h.Service)] = true
		}
	}
	for name := range services {
		n += max(1, x.project.Services()[name].AtOnce)
	}
	return n
}

// At are the hooks of a place, in the order in which they are asked; none if nobody is.
func (x *Hooks) At(place string) []*Hook {
	if x.rpc == nil {
		return nil
	}
	return x.of[place]
}

// ask asks a hook. An error says what fails with it.
func (x *Hooks) ask(ctx context.Context, h *Hook, q any) (json.RawMessage, error) {
	if err := x.refused(h.Plugin); err != nil {
		return nil, h.failed(err.Error())
	}
	raw, failed := x.rpc.Ask(ctx, &rpc.Request{Service: path.Join(h.Plugin, h.Service), Method: "hook/call", Params: q, Turn: maxTurn, Answer: cmp.Or(h.Timeout.Std(), defaultTime)})
	if failed != nil {
		return nil, h.failed(x.mask(failed.Error.Message))
	}
	return raw, nil
}

// failed is the error of a hook.
func (h *Hook) failed(why string) error {
	return protocol.Errorf(protocol.KindDenied, "the hook %s of the service %s: %s", h.Hook.Hook, path.Join(h.Plugin, h.Service), why)
}

// AboutCall is what a hook answers about a call.
type AboutCall struct {
	Veto  string // why the call, or what it gave, is withheld, for agents and people; "" = it is not
	Made  bool   // it made Value: the parameters of the call, or its output
	Value any
}

// AskAboutCall asks a hook about a call. An error says what fails with it.
func (x *Hooks) AskAboutCall(ctx context.Context, h *Hook, q any) (AboutCall, error) {
	raw, err := x.ask(ctx, h, q)
	if err != nil {
		return AboutCall{}, err
	}
	s, by := &said{}, rules{fields: []string{"veto", "params"}}
	if h.Hook.Hook == plugin.AfterCall {
		by.fields[1] = "output"
	}
	if err := s.read(raw, by); err != nil {
		return AboutCall{}, h.failed(x.mask(err.Error()))
	}
	if s.veto != "" {
		s.veto = protocol.Short(x.mask(s.veto), maxReason)
	}
	return AboutCall{s.veto, s.made, s.value}, nil
}

// valueOf reads a value of an answer; false = it is none.
func valueOf(raw json.RawMessage) (any, bool) {
	v, err := source.ParseValue("hook.json", raw, source.Limits{MaxDepth: protocol.MaxNested + 1}) // the answer is around the output of a call
	return v, err == nil
}

// maxReason is how much of a reason is kept, in bytes.
const maxReason = 400

// Answer asks all hooks of the place that a question of a turn names.
func (x *Hooks) Answer(ctx context.Context, q *effect.Ask) (a hook.Answer, err error) {
	told := maps.Clone(q.Call.Params)
	told["scene"], told["agent"], told["turn"] = q.Model.Scene, q.Model.Agent, q.Model.Turn
	for _, h := range x.At(q.Call.Tool) {
		told["hook"] = h.Hook.Hook
		step := x.step(ctx, h, told, &a)
		if ctx.Err() != nil {
			return a, protocol.Errorf(protocol.KindCancelled, "hooks: %w", context.Cause(ctx))
		}
		if a.Steps = append(a.Steps, step); a.Veto != "" {
			break
		}
	}
	return a, nil
}

// step asks one hook and notes in the answer, and in what the next one is told, what it says.
func (x *Hooks) step(ctx context.Context, h *Hook, told map[string]any, a *hook.Answer) hook.Step {
	raw, err := x.ask(ctx, h, told)
	s := &said{}
	if len(raw) > maxSaid {
		err = h.failed(fmt.Sprintf("the answer has %d bytes, more than %d", len(raw), maxSaid))
	}
	if err == nil {
		if err = s.read(raw, x.rulesOf(h.Hook.Hook, told)); err != nil {
			err = h.failed(err.Error())
		}
	}
	switch {
	case err != nil:
		why := protocol.Short(x.mask(err.Error()), maxReason)
		if h.Fail == plugin.Closed {
			a.Veto = why
		}
		return hook.Step{Plugin: h.Plugin, Did: hook.Failed, Why: why}
	case s.veto != "":
		why := protocol.Short(x.mask(s.veto), maxReason)
		a.Veto = "the hook of the plugin " + h.Plugin + " forbids it: " + why
		return hook.Step{Plugin: h.Plugin, Did: hook.Forbade, Why: why}
	case len(s.values)+len(s.observations) == 0:
		return hook.Step{Plugin: h.Plugin, Did: hook.Nothing}
	}
	for _, v := range s.observations {
		a.Observations = append(a.Observations, hook.Observation{Plugin: h.Plugin, Value: v})
	}
	if len(s.values) > 0 {
		field := valuesAt(h.Hook.Hook)
		now, _ := told[field].(map[string]any)
		if now = maps.Clone(now); now == nil {
			now = map[string]any{}
		}
		maps.Copy(now, s.values)
		if told[field] = now; a.Values == nil {
			a.Values = map[string]any{}
		}
		maps.Copy(a.Values, s.values)
	}
	return hook.Step{Plugin: h.Plugin, Did: hook.Changed, Why: strings.Join(protocol.SortedKeys(s.values), ", ")}
}

// valuesAt is the field of named values at a place; "" = it has none.
func valuesAt(place string) string {
	switch place {
	case hook.BeforeExecute:
		return "inputs"
	case hook.AfterExecute:
		return "outputs"
	}
	return ""
}

// rules are what a hook may answer.
type rules struct {
	fields []string
	check  func(name string, v any) (any, error) // gives a named value as the workflow has it
}

const (
	maxSaid         = 1 << 20 // bytes of an answer of a turn; an output of a call is cut
	maxObservations = 16
)

func (x *Hooks) rulesOf(place string, told map[string]any) rules {
	switch place {
	case hook.BeforeDeliberate:
		return rules{fields: []string{"veto", "observations"}}
	case hook.SceneStart, hook.SceneEnd:
		return rules{}
	case hook.AfterExecute:
		if told["error"] != nil {
			return rules{fields: []string{"veto"}}
		}
	}
	id, _ := told["workflow"].(string)
	w, ok := x.project.Workflow(id)
	return rules{[]string{"veto", valuesAt(place)}, func(name string, v any) (any, error) {
		if !ok {
			return nil, protocol.Errorf(protocol.KindInvalid, "nobody knows the interface of the workflow %s", id)
		}
		find, names, typ := w.Plan.Input, w.Plan.Inputs, func(i int) workflow.Type { return w.Plan.InputPort(i).DataFlowType }
		if place == hook.AfterExecute {
			find, names, typ = w.Plan.Output, w.Plan.Outputs, w.Plan.OutputType
		}
		if i := find(name); i >= 0 {
			return typ(i).Takes(v)
		}
		return nil, protocol.Errorf(protocol.KindInvalid, "the workflow %s has no such name; it has %s", id, cmp.Or(strings.Join(names(), ", "), "none"))
	}}
}

// said is the answer of one hook.
type said struct {
	veto         string // as a whole
	values       map[string]any
	observations []any
	made         bool // value is what a hook made of a call
	value        any
}

func (x *said) read(raw json.RawMessage, by rules) error {
	v, ok := valueOf(raw)
	if !ok {
		return protocol.Errorf(protocol.KindInvalid, "the answer is no value")
	}
	m, object := v.(map[string]any)
	if v != nil && !object {
		return protocol.Errorf(protocol.KindInvalid, "the answer is no object")
	}
	for _, field := range protocol.SortedKeys(m) {
		if !slices.Contains(by.fields, field) {
			want := "nothing but {}"
			if len(by.fields) > 0 {
				want = strings.Join(by.fields, " or ")
			}
			return protocol.Errorf(protocol.KindInvalid, "the answer has the field %q; want %s", protocol.Short(field, 80), want)
		}
		if err := x.take(field, m[field], by.check); err != nil {
			return err
		}
	}
	return nil
}

func (x *said) take(field string, v any, check func(string, any) (any, error)) (err error) {
	switch field {
	case "veto":
		why, ok := v.(string)
		if !ok || strings.TrimSpace(why) == "" {
			return protocol.Errorf(protocol.KindInvalid, "veto says why: want a text")
		}
		x.veto = why
	case "observations":
		list, ok := v.([]any)
		if !ok || len(list) > maxObservations {
			return protocol.Errorf(protocol.KindInvalid, "observations: want a list of at most %d values", maxObservations)
		}
		x.observations = list
	case "params", "output":
		x.made, x.value = true, v
	default:
		values, ok := v.(map[string]any)
		if !ok {
			return protocol.Errorf(protocol.KindInvalid, "%s: want an object", field)
		}
		for _, name := range protocol.SortedKeys(values) {
			if values[name], err = check(name, values[name]); err != nil {
				return protocol.Errorf(protocol.KindInvalid, "%s.%s: %w", field, protocol.Short(name, 80), err)
			}
		}
		x.values = values
	}
	return nil
}
