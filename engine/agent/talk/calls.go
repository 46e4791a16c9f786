package talk

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// AppendCalls encodes the native calls of an answer, as its fact keeps them: a list of
// {params, tool}, byte for byte like the equal value. ids are those of an endpoint, and
// kept.
func AppendCalls(b []byte, calls []protocol.Call, ids bool) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(calls)))
	for i := range calls {
		if ids {
			b = msgp.AppendMapHeader(b, 3)
			b = msgp.AppendString(msgp.AppendString(b, "id"), calls[i].ID)
		} else {
			b = msgp.AppendMapHeader(b, 2)
		}
		b = AppendParams(msgp.AppendString(b, "params"), &calls[i])
		b = msgp.AppendString(b, "tool")
		b = msgp.AppendString(b, calls[i].Tool)
	}
	return b
}

// ReadCalls is the reverse of AppendCalls.
func ReadCalls(raw protocol.Raw) ([]protocol.Call, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	v, err := raw.Value()
	list, ok := v.([]any)
	calls := make([]protocol.Call, 0, len(list))
	for _, e := range list {
		m, _ := e.(map[string]any)
		tool, _ := m["tool"].(string)
		c := protocol.Call{Tool: tool, Origin: protocol.OriginNative}
		c.ID, _ = m["id"].(string)
		SetParams(&c, m["params"])
		calls = append(calls, c)
	}
	return calls, ok && err == nil
}

// AppendParams writes the parameters of a call, or the text that could not be read as
// parameters.
func AppendParams(b []byte, c *protocol.Call) []byte {
	switch {
	case c.Broken != "":
		return msgp.AppendString(b, c.Broken)
	case c.Params == nil:
		return protocol.AppendValue(b, map[string]any{})
	}
	return protocol.AppendValue(b, c.Params)
}

// SetParams is the reverse of AppendParams.
func SetParams(c *protocol.Call, v any) {
	c.Params, _ = v.(map[string]any)
	c.Broken, _ = v.(string)
}
