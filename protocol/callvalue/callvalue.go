// Package callvalue converts calls to values, the objects that workflows handle, and back.
package callvalue

import "tavernsim/protocol"

// Calls are the calls of an answer while no node of a workflow has looked at them: an
// array whose elements are made when it is opened. Most go straight to an output.
type Calls []protocol.Call

// Values opens the calls.
func (c Calls) Values() []any {
	list := make([]any, len(c))
	for i := range c {
		list[i] = Of(&c[i])
	}
	return list
}

// Read gives call i as [Read] reads its value, without making it for most.
func (c Calls) Read(i int) (protocol.Call, error) {
	call := c[i]
	if call.Tool == "" || call.Inherited != nil || call.URIs != nil || call.TypeHints != nil || call.Orphans != nil || call.Common != nil {
		return Read(Of(&call))
	}
	call.Params, call.Contents = orEmpty(call.Params), nil
	return call, nil
}

// Size is what [protocol.SizeOf] counts for the values of the calls.
func (c Calls) Size(limit int) int {
	n := protocol.ValueBytes
	for i := range c {
		if n > limit {
			break
		}
		n += sizeOf(&c[i], limit-n)
	}
	return n
}

func sizeOf(c *protocol.Call, limit int) int {
	const entry = 2 * protocol.ValueBytes // a name and a value
	n := protocol.ValueBytes + entry + len("tool") + len(c.Tool) + protocol.ValueBytes + len("params") + protocol.SizeOf(orEmpty(c.Params), limit)
	for _, f := range texts(c) {
		if f.text != "" {
			n += entry + len(f.name) + len(f.text)
		}
	}
	for _, f := range counts(c) {
		if f.n != 0 {
			n += entry + len(f.name)
		}
	}
	for _, f := range tables(c) {
		if len(f.texts) > 0 {
			n += entry + len(f.name)
			for k, v := range f.texts {
				n += entry + len(k) + len(v)
			}
		}
	}
	if len(c.Inherited) > 0 {
		n += entry + len("inherited")
		for _, name := range c.Inherited {
			n += protocol.ValueBytes + len(name)
		}
	}
	return n
}

func orEmpty(params map[string]any) map[string]any {
	if params == nil {
		return map[string]any{}
	}
	return params
}

type (
	textField  struct{ name, text string }
	countField struct {
		name string
		n    int
	}
	tableField struct {
		name  string
		texts map[string]string
	}
)

func texts(c *protocol.Call) [6]textField {
	return [...]textField{{"id", c.ID}, {"origin", string(c.Origin)}, {"requestId", c.RequestID}, {"onError", string(c.OnError)}, {"broken", c.Broken}, {"after", c.After}}
}

func counts(c *protocol.Call) [3]countField {
	return [...]countField{{"index", c.Index}, {"retry", c.Retry}, {"block", c.Block}}
}

func tables(c *protocol.Call) [4]tableField {
	return [...]tableField{{"uris", c.URIs}, {"typeHints", c.TypeHints}, {"orphans", c.Orphans}, {"common", c.Common}}
}

// Of is the form in which workflows handle a call. Fields that are not
// set are left out.
func Of(c *protocol.Call) map[string]any {
	m := map[string]any{"tool": c.Tool, "params": orEmpty(c.Params)}
	for _, f := range texts(c) {
		if f.text != "" {
			m[f.name] = f.text
		}
	}
	for _, f := range counts(c) {
		if f.n != 0 {
			m[f.name] = int64(f.n)
		}
	}
	for _, f := range tables(c) {
		if len(f.texts) > 0 {
			to := make(map[string]any, len(f.texts))
			for k, v := range f.texts {
				to[k] = v
			}
			m[f.name] = to
		}
	}
	if len(c.Inherited) > 0 {
		list := make([]any, len(c.Inherited))
		for i, name := range c.Inherited {
			list[i] = name
		}
		m["inherited"] = list
	}
	return m
}

// Read reads what Of made, and what models write for it: the tool
// also under name, toolName, command or id, the parameters also under arguments,
// parameters or inputs.
func Read(v any) (protocol.Call, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call: want an object with tool and params, got %T", v)
	}
	c := protocol.Call{ID: textOf(m, "id"), Tool: textOf(m, "tool"), Origin: protocol.Origin(textOf(m, "origin")), Broken: textOf(m, "broken")}
	params, _ := m["params"].(map[string]any)
	if len(m) == 4 && c.ID != "" && c.Tool != "" && c.Origin != "" && params != nil { // nothing else is there
		c.Params = params
		return c, nil
	}
	c.Tool = textOf(m, "tool", "name", "toolName", "command")
	c.RequestID, c.OnError = textOf(m, "requestId", "request_id"), protocol.OnError(textOf(m, "onError", "on_error"))
	c.Index, c.Retry, c.Block = countOf(m["index"]), countOf(m["retry"]), countOf(m["block"])
	c.URIs, c.TypeHints, c.Orphans, c.Common = textsOf(m["uris"]), textsOf(m["typeHints"]), textsOf(m["orphans"]), textsOf(m["common"])
	c.After = textOf(m, "after")
	if c.Tool == "" {
		c.Tool, c.ID = c.ID, ""
	}
	if c.Tool == "" {
		return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call: no tool; want {\"tool\": id, \"params\": {…}}")
	}
	list, _ := m["inherited"].([]any)
	for _, e := range list {
		if name, ok := e.(string); ok {
			c.Inherited = append(c.Inherited, name)
		}
	}
	for _, key := range []string{"params", "arguments", "parameters", "inputs"} {
		if m[key] == nil {
			continue
		}
		if c.Params, ok = m[key].(map[string]any); !ok {
			return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call %s: %s is %T; want an object", c.Tool, key, m[key])
		}
		break
	}
	return c, nil
}

func textOf(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func countOf(v any) int {
	f, _ := protocol.Number(v)
	return int(f)
}

func textsOf(v any) map[string]string {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, e := range m {
		if s, ok := e.(string); ok {
			out[k] = s
		}
	}
	return out
}
