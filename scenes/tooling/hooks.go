package tooling

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/permit"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

// hook is a place at which a service of a plugin is asked.
type hook struct {
	plugin.Hook
	plugin  string
	refused error // why it is not asked: the operator has not granted it; nil = it is
}

// defaultHook is how long a hook may take.
const defaultHook = 100 * time.Millisecond

// hooksOf finds those of one place, in the order in which they are asked.
func (s *Set) hooksOf(place string) (list []*hook) {
	for _, name := range protocol.SortedKeys(s.opt.Project.Plugins()) {
		p := s.opt.Project.Plugins()[name]
		if p.Broken() {
			continue
		}
		for _, h := range p.Manifest.Hooks {
			if h.Hook == place {
				list = append(list, &hook{Hook: h, plugin: name})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *hook) int { return cmp.Compare(b.Priority, a.Priority) })
	return list
}

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

// hookAnswer is what a hook says. A field that is not there changes nothing.
type hookAnswer struct {
	Veto   *string         `json:"veto"`
	Params json.RawMessage `json:"params"`
	Output json.RawMessage `json:"output"`
}

// askHook asks a hook. An error says what fails with it.
func (s *Set) askHook(ctx context.Context, h *hook, q *hookRequest) (a hookAnswer, err error) {
	service := path.Join(h.plugin, h.Service)
	bad := func(why string) error {
		return protocol.Errorf(protocol.KindDenied, "the hook %s of the service %s: %s", h.Hook.Hook, service, why)
	}
	if h.refused != nil {
		return a, bad(h.refused.Error())
	}
	if failed := s.rpc.Ready(ctx, service); failed != nil { // its start is not a part of its time
		return a, bad(failed.Error.Message)
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(h.Timeout.Std(), defaultHook))
	defer stop()
	raw, failed := s.rpc.Ask(ctx, service, "hook/call", q)
	if failed != nil {
		return a, bad(failed.Error.Message)
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, bad("the answer is no object with veto, params or output")
	}
	return a, nil
}

// hookValue reads a value of an answer.
func hookValue(raw json.RawMessage) (any, bool) {
	report := &source.Report{}
	doc := source.Parse("hook.json", raw, source.Limits{MaxDepth: maxHookDepth}, report)
	if doc == nil || report.Total() > 0 {
		return nil, false
	}
	return doc.Root.Value(), true
}

const maxHookDepth = 64

func (s *Set) request(place string, c *tools.Call, q *effect.Ask) *hookRequest {
	return &hookRequest{Hook: place, Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn, Tool: c.Tool.ID, Params: c.Params, Key: c.Key}
}

// beforeCall lets hooks change the parameters of a call, or forbid it. Changed ones are
// checked and judged as those of the agent were.
func (s *Set) beforeCall(ctx context.Context, t *toolOf, c *tools.Call, q *effect.Ask) error {
	for _, h := range s.before {
		a, err := s.askHook(ctx, h, s.request(plugin.BeforeCall, c, q))
		switch {
		case err != nil && h.Fail == plugin.Closed:
			return err
		case err != nil: // it goes on
		case a.Veto != nil:
			return protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s forbids it: %s", h.plugin, protocol.Short(*a.Veto, maxReason))
		case a.Params != nil:
			if err := s.changed(t, c, q, h, a.Params); err != nil {
				return err
			}
		}
	}
	return nil
}

const maxReason = 400 // bytes

func (s *Set) changed(t *toolOf, c *tools.Call, q *effect.Ask, h *hook, raw json.RawMessage) error {
	v, _ := hookValue(raw)
	params, ok := v.(map[string]any)
	if !ok {
		return protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s made parameters that are no object", h.plugin)
	}
	if t.Check != nil {
		if err := t.Check(params); err != nil {
			return protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s made wrong parameters: %w", h.plugin, err)
		}
	}
	profile := cmp.Or(q.Model.Profile, s.opt.Profile)
	if policy := s.opt.Project.Policy(); len(q.Call.URIs) > 0 || profile == "" && policy != nil {
		return protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s changed the parameters of a call with references, or of a task under a policy, which is not built in this version", h.plugin)
	}
	judged := permit.Call{Tool: c.Tool.ID, Profile: profile, Agent: q.Model.Agent, Params: params}
	if v := s.opt.Project.Policy().Judge(&judged); v.Do != permit.Allow {
		return protocol.Errorf(protocol.KindDenied, "the hook of the plugin %s made parameters that the policy does not allow (%s)", h.plugin, v.Rule)
	}
	c.Params = params
	return nil
}

// afterCall lets hooks change what an agent sees of a call. What they make is bounded and
// tamed as the output was.
func (s *Set) afterCall(ctx context.Context, c *tools.Call, q *effect.Ask, o tools.Options, r tools.Result) tools.Result {
	for _, h := range s.after {
		in := s.request(plugin.AfterCall, c, q)
		in.Status, in.Output, in.Error = r.Status, r.Output, r.Error
		a, err := s.askHook(ctx, h, in)
		was := r
		switch {
		case err != nil && h.Fail == plugin.Closed:
			r = tools.Fail(protocol.KindDenied, "the call was carried out, and its answer is withheld: "+err.Error())
		case err != nil:
			continue
		case a.Veto != nil:
			r = tools.Fail(protocol.KindDenied, "the call was carried out, and the hook of the plugin "+h.plugin+" withholds its answer: "+protocol.Short(*a.Veto, maxReason))
		case a.Output == nil || r.Status != tools.OK:
			continue
		default:
			v, ok := hookValue(a.Output)
			if !ok {
				v = nil
			}
			r = tools.Run(ctx, tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output(v) }), c, tools.Options{Mask: s.mask, Check: o.Check, Keep: o.Keep})
			r.Artifacts = append(slices.Clip(was.Artifacts), r.Artifacts...)
		}
		r.Meta = was.Meta
	}
	return r
}

// hooked makes the hooks of calls ready.
func (s *Set) hooked() error {
	s.before, s.after = s.hooksOf(plugin.BeforeCall), s.hooksOf(plugin.AfterCall)
	all := slices.Concat(s.before, s.after)
	if len(all) == 0 || s.mode() != Live {
		s.before, s.after = nil, nil
		return nil
	}
	if s.opt.Sandbox == nil {
		return protocol.Errorf(protocol.KindNotFound, "the plugin %s has hooks, which programs answer, and this program has no sandbox for them (runner.Options.Sandbox); run with --tools mock", all[0].plugin)
	}
	if s.rpc == nil {
		s.rpc = s.newServices()
	}
	for _, a := range Asked(s.opt.Project, s.opt.Place) {
		for _, h := range all {
			if a.Tool == PluginKey(h.plugin) {
				h.refused = s.opt.Grants.Check(&a)
			}
		}
	}
	return nil
}
