package statecmd

import (
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// readValue cleans the value: counters are the engine's own, reserved keys
// belong to nobody, sizes are bounded (C8, C24, C29).
func (o *op) readValue() *command.Fault {
	if !o.e.HasValue {
		return nil
	}
	if o.e.Action == command.Delete {
		return nil
	}
	c := cleaner{}
	o.value = c.clean(o.e.Value, 0)
	if c.fault != nil {
		return c.fault
	}
	if c.stripped {
		o.warn(command.WarnStripped, "%s in the value was dropped; the engine keeps it", world.CounterKey)
	}
	o.raw = protocol.Encode(o.value)
	if len(o.raw) > command.MaxValue {
		return &command.Fault{Code: command.Limit, Message: textf("the value has %d bytes; the limit is %d", len(o.raw), command.MaxValue)}
	}
	return nil
}

// cleaner copies only what it changes.
type cleaner struct {
	stripped bool
	fault    *command.Fault
}

func (c *cleaner) clean(v any, depth int) any {
	if depth > protocol.MaxDepth-2 {
		c.fail(command.Limit, "the value nests deeper than %d levels", protocol.MaxDepth-2)
		return nil
	}
	switch x := v.(type) {
	case []any:
		if len(x) > command.MaxListItems {
			c.fail(command.Limit, "a list in the value has %d elements; the limit is %d", len(x), command.MaxListItems)
			return nil
		}
		return c.list(x, depth)
	case map[string]any:
		return c.object(x, depth)
	}
	return v
}

func (c *cleaner) fail(code command.Code, format string, args ...any) {
	if c.fault == nil {
		c.fault = &command.Fault{Code: code, Message: textf(format, args...)}
	}
}

func (c *cleaner) list(x []any, depth int) any {
	was := c.stripped
	c.stripped = false
	out := make([]any, len(x))
	for i := range x {
		out[i] = c.clean(x[i], depth+1)
	}
	changed := c.stripped
	c.stripped = c.stripped || was
	if !changed {
		return x
	}
	return out
}

func (c *cleaner) object(x map[string]any, depth int) any {
	was := c.stripped
	c.stripped = false
	out := make(map[string]any, len(x))
	for _, k := range protocol.SortedKeys(x) {
		if k == world.CounterKey {
			c.stripped = true
			continue
		}
		if world.Reserved(k) {
			c.fail(command.Reserved, "the value holds the reserved key %q", k)
		}
		out[k] = c.clean(x[k], depth+1)
	}
	changed := c.stripped
	c.stripped = c.stripped || was
	if !changed {
		return x
	}
	return out
}
