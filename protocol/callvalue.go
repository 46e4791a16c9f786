package protocol

// CallValue is the form in which workflows handle a call. Fields that are not
// set are left out.
func CallValue(c *Call) map[string]any {
	params := c.Params
	if params == nil {
		params = map[string]any{}
	}
	m := map[string]any{"tool": c.Tool, "params": params}
	text := func(key, v string) {
		if v != "" {
			m[key] = v
		}
	}
	text("id", c.ID)
	text("origin", string(c.Origin))
	text("requestId", c.RequestID)
	text("onError", string(c.OnError))
	number := func(key string, n int) {
		if n != 0 {
			m[key] = int64(n)
		}
	}
	number("index", c.Index)
	number("retry", c.Retry)
	number("block", c.Block)
	texts := func(key string, from map[string]string) {
		if len(from) > 0 {
			to := make(map[string]any, len(from))
			for k, v := range from {
				to[k] = v
			}
			m[key] = to
		}
	}
	texts("uris", c.URIs)
	texts("typeHints", c.TypeHints)
	texts("orphans", c.Orphans)
	if len(c.Inherited) > 0 {
		list := make([]any, len(c.Inherited))
		for i, name := range c.Inherited {
			list[i] = name
		}
		m["inherited"] = list
	}
	return m
}

// ReadCall reads what CallValue made, and what models write for it: the tool
// also under name, toolName, command or id, the parameters also under arguments,
// parameters or inputs.
func ReadCall(v any) (Call, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return Call{}, Errorf(KindInvalid, "call: want an object with tool and params, got %T", v)
	}
	c := Call{
		ID: textOf(m, "id"), Tool: textOf(m, "tool", "name", "toolName", "command"), Origin: Origin(textOf(m, "origin")),
		RequestID: textOf(m, "requestId", "request_id"), OnError: OnError(textOf(m, "onError", "on_error")),
		Index: countOf(m["index"]), Retry: countOf(m["retry"]), Block: countOf(m["block"]),
		URIs: textsOf(m["uris"]), TypeHints: textsOf(m["typeHints"]), Orphans: textsOf(m["orphans"]),
	}
	if c.Tool == "" {
		c.Tool, c.ID = c.ID, ""
	}
	if c.Tool == "" {
		return Call{}, Errorf(KindInvalid, "call: no tool; want {\"tool\": id, \"params\": {…}}")
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
			return Call{}, Errorf(KindInvalid, "call %s: %s is %T; want an object", c.Tool, key, m[key])
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
	f, _ := Number(v)
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
