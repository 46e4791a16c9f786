package script

import (
	"slices"

	"tavernsim/engine/agent/private"
	"tavernsim/engine/script/plot"
	"tavernsim/engine/script/value"
)

func (c *compiler) actions(list []any, roots []string, steps []any) (out []*action) {
	if len(list) > plot.MaxActions {
		c.fault(steps, "", "%d actions; at most %d", len(list), plot.MaxActions)
	}
	for i, v := range list {
		at := append(slices.Clone(steps), i)
		m, _ := v.(map[string]any)
		if len(m) != 1 {
			c.fault(at, "", "want an object with one field, the kind of the action")
			continue
		}
		for kind, fields := range m {
			if a := c.action(kind, fields, roots, append(at, kind)); a != nil {
				out = append(out, a)
			}
		}
	}
	return out
}

func (c *compiler) action(kind string, fields any, roots []string, steps []any) *action {
	if kind == "transition" {
		c.fault(steps, "add a transition to the state", "an action does not change the state of its own script")
		return nil
	}
	m, ok := fields.(map[string]any)
	if !ok && fields != nil {
		c.fault(steps, "", "want an object with the fields of %s", kind)
		return nil
	}
	a := &action{kind: kind, where: where(steps)}
	a.fields = value.Compile(m, roots, steps, func(steps []any, message string) { c.fault(steps, "", "%s", message) })
	if a.fields.Fields == nil {
		a.fields = &value.Made{Fields: map[string]*value.Made{}}
	}
	dynamic := map[string]bool{}
	for name, f := range a.fields.Fields {
		dynamic[name] = f.Dynamic
	}
	static, _ := a.fields.Static().(map[string]any)
	missing := forgotten(kind, static, dynamic)
	if missing != nil {
		static["value"] = nil // which older programs took it for, and who carries it out
	}
	if err := c.Change(kind, static, dynamic); err != nil {
		c.fault(steps, "", "%s", err)
		return nil
	}
	if missing != nil {
		c.strict(steps, "", "%s", missing)
	}
	c.p.Beyond = c.p.Beyond || kind != "world"
	if kind == kindSet || kind == kindVariable {
		c.sets(static, steps)
	}
	if kind == KindAsk || kind == KindRun {
		c.replying(a, static, dynamic, steps)
	}
	return a
}

// forgotten says that a change of a state needs a value and has none; nil = it has one, or may need none.
func forgotten(kind string, fields map[string]any, dynamic map[string]bool) error {
	if kind != "world" && kind != "private_state" || dynamic["op"] {
		return nil
	}
	_, err := private.ValueOf(fields, private.OpOf(fields))
	return err
}
