package hook

import (
	"slices"

	"tavernsim/protocol"
)

// OfCall is what hooks did to a call: those that changed it or its output, forbade it, or failed.
type OfCall struct {
	Before, After []Step
	Params        any // with which the call was made; nil = with its own
	Output        any // in whose place the agent got another one; nil = it got its own
}

// Raw is it as the fact of the answer has it: an object with before, after, params and output. Of params and output those
// stand in left_out that are longer than [MaxTold]. It has no bytes if hooks did nothing.
func (o *OfCall) Raw() protocol.Raw {
	if len(o.Before)+len(o.After) == 0 {
		return nil
	}
	names := []string{"output", "params"}
	v, left := Told(names, func(i int) any { return []any{o.Output, o.Params}[i] })
	if len(left) > 0 {
		v["left_out"] = left
	}
	for name, steps := range map[string][]Step{"before": o.Before, "after": o.After} {
		if len(steps) > 0 {
			v[name] = valueOf(steps)
		}
	}
	return protocol.Encode(v)
}

// ReadOfCall is the reverse of [OfCall.Raw]; what is left out is a text that says so.
func ReadOfCall(raw protocol.Raw) (o OfCall) {
	v, err := raw.Value()
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return OfCall{}
	}
	left, _ := m["left_out"].([]any)
	value := func(name string) any {
		if slices.Contains(left, any(name)) {
			return "left out: it is longer than 64 KiB"
		}
		return m[name]
	}
	return OfCall{Before: stepsIn(m["before"]), After: stepsIn(m["after"]), Params: value("params"), Output: value("output")}
}
