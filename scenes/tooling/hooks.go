package tooling

import (
	"cmp"
	"context"
	"slices"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/tooling/hooks"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tam/answer"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

// hookRequest are the parameters of hook/call.
type hookRequest struct {
	Hook   string         `json:"hook"`
	Scene  string         `json:"scene"`
	Agent  string         `json:"agent"`
	Turn   uint64         `json:"turn"`
	Tool   string         `json:"tool"`
	Params map[string]any `json:"params"`
	Key    string         `json:"key"`

	// After the call.
	Status tools.Status `json:"status,omitempty"`
	Output any          `json:"output,omitempty"`
	Error  *tools.Error `json:"error,omitempty"`
}

func (s *Set) request(place string, c *tools.Call, q *effect.Ask) *hookRequest {
	return &hookRequest{Hook: place, Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn, Tool: c.Tool.ID, Params: c.Params, Key: c.Key}
}

// beforeCall lets hooks change the parameters of a call, or forbid it. It gives the request
// with what they made of it, and what each did.
func (s *Set) beforeCall(ctx context.Context, t *toolOf, c *tools.Call, q *effect.Ask) (_ *effect.Ask, did hook.OfCall, err error) {
	for _, h := range s.hooks.At(plugin.BeforeCall) {
		a, err := s.hooks.AskAboutCall(ctx, h, s.request(plugin.BeforeCall, c, q))
		switch {
		case err != nil:
			if did.Before = append(did.Before, s.step(h, hook.Failed, "")); h.Fail == plugin.Closed {
				return q, did, err
			}
		case a.Veto != "":
			did.Before = append(did.Before, s.step(h, hook.Forbade, a.Veto))
			return q, did, protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s forbids it: %s", h.Plugin, a.Veto)
		case a.Made:
			by := hooks.Caller{Agent: q.Model.Agent, Profile: cmp.Or(q.Model.Profile, s.opt.Profile)}
			call, err := s.hooks.Change(h, t.Tool, q.Call, by, s.opt.Project.Policy(), a.Value)
			if err != nil {
				did.Before = append(did.Before, s.step(h, hook.Failed, err.Error()))
				return q, did, err
			}
			next := *q
			q, next.Call, c.Params = &next, call, call.Params
			did.Before, did.Params = append(did.Before, s.step(h, hook.Changed, "")), s.shown(call.Params)
		}
	}
	return q, did, nil
}

// afterCall lets hooks change what an agent sees of a call, and adds what each did. What they make is bounded and
// tamed as the output was.
func (s *Set) afterCall(ctx context.Context, c *tools.Call, q *effect.Ask, o tools.Options, r tools.Result, did *hook.OfCall) tools.Result {
	first := r.Output
	for _, h := range s.hooks.At(plugin.AfterCall) {
		in := s.request(plugin.AfterCall, c, q)
		in.Status, in.Output, in.Error = r.Status, r.Output, r.Error
		a, err := s.hooks.AskAboutCall(ctx, h, in)
		was, step := r, s.step(h, hook.Changed, "")
		switch {
		case err != nil:
			if step = s.step(h, hook.Failed, ""); h.Fail == plugin.Closed {
				r = withheld(&was, err.Error())
			}
		case a.Veto != "":
			step = s.step(h, hook.Forbade, a.Veto)
			r = withheld(&was, "the hook of the plugin "+h.Plugin+" says: "+a.Veto)
		case !a.Made || r.Status != tools.OK:
			continue
		default:
			r = tools.Run(ctx, tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output(a.Value) }), c, tools.Options{Mask: s.mask, Check: o.Check, Keep: o.Keep})
			r.Artifacts, r.Blobs = append(slices.Clip(was.Artifacts), r.Artifacts...), was.Blobs
		}
		r.Meta, r.Carried = was.Meta, was.Carried
		if did.After = append(did.After, step); step.Did != hook.Failed || h.Fail == plugin.Closed {
			did.Output = s.shown(first)
		}
	}
	return r
}

// withheld is a result that an agent does not see. A call that failed, which may not have begun, stays what it was: only
// its text is withheld.
func withheld(was *tools.Result, why string) tools.Result {
	if was.Status == tools.OK {
		return tools.Fail(protocol.KindDenied, "the call was carried out, and its answer is withheld: "+why)
	}
	r := tools.Fail(was.Error.Kind, "the call failed, and what it says is withheld: "+why)
	r.Error.Retryable, r.Error.RetryAfter, r.Unsent, r.Lost = was.Error.Retryable, was.Error.RetryAfter, was.Unsent, was.Lost
	return r
}

// maxWhy is how much a fact has of what a hook says, in bytes.
const maxWhy = 1000

// step is what a hook did; why may come from its program.
func (s *Set) step(h *hooks.Hook, did, why string) hook.Step {
	return hook.Step{Plugin: h.Plugin, Did: did, Why: protocol.Short(s.said(why), maxWhy)}
}

// shown is a value as a fact may have it: without the values of secrets, and what stands under the names of some.
func (s *Set) shown(v any) any {
	v, err := s.Mask(v)
	if err != nil {
		return "withheld: it has a secret"
	}
	v, _ = secret.Hide(v)
	return v
}

// said is what a hook says as a fact and a model may have it: masked, and tamed as outputs are.
func (s *Set) said(text string) string { return answer.Clean(s.maskSaid(text)) }

// hooked makes the hooks ready. Without services nobody is asked.
func (s *Set) hooked() error {
	s.hooks = hooks.Of(s.opt.Project)
	name := s.hooks.Plugin()
	if name == "" || s.mode() != Live {
		return nil
	}
	if s.opt.Sandbox == nil {
		return protocol.Errorf(protocol.KindNotFound, "the plugin %s has hooks, which programs answer, and this program has no sandbox for them (runner.Options.Sandbox); run with --tools mock", name)
	}
	s.hooks.Open(s.services(), func(name string) error { return s.now().own.Refused(needs.OfPlugin(name)) }, s.said, s.Mask)
	return nil
}
