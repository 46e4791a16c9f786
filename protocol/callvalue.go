package protocol

// CallValue is the form in which workflows handle a call. Fields that are not
// set are left out.
func CallValue(c *Call) map[string]any {
	params := c.Params
	if params == nil {
		params = map[string]any{}
	}
	m := map[string]any{"tool": c.Tool, "params": params}
	for _, f := range [...][2]string{{"id", c.ID}, {"origin", string(c.Origin)}, {"requestId", c.RequestID}, {"onError", string(c.OnError)}, {"broken", c.Broken}, {"after", c.After}} {
		if f[1] != "" {
			m[f[0]] = f[1]
		}
	}
	for i, n := range [...]int{c.Index, c.Retry, c.Block} {
		if n != 0 {
			m[[...]string{"index", "retry", "block"}[i]] = int64(n)
		}
	}
	for i, texts := range [...]map[string]string{c.URIs, c.TypeHints, c.Orphans, c.Common} {
		if len(texts) > 0 {
			to := make(map[string]any, len(texts))
			for k, v := range texts {
				to[k] = v
			}
			m[[...]string{"uris", "typeHints", "orphans", "common"}[i]] = to
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

// ReadCall reads what CallValue made, and what models write for it: the tool
// also under name, toolName, command or id, the parameters also under arguments,
// parameters or inputs.
func ReadCall(v any) (Call, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return Call{}, Errorf(KindInvalid, "call: want an object with tool and params, got %T", v)
	}
	c := Call{ID: textOf(m, "id"), Tool: textOf(m, "tool"), Origin: Origin(textOf(m, "origin")), Broken: textOf(m, "broken")}
	params, _ := m["params"].(map[string]any)
	if len(m) == 4 && c.ID != "" && c.Tool != "" && c.Origin != "" && params != nil { // nothing else is there
		c.Params = params
		return c, nil
	}
	c.Tool = textOf(m, "tool", "name", "toolName", "command")
	c.RequestID, c.OnError = textOf(m, "requestId", "request_id"), OnError(textOf(m, "onError", "on_error"))
	c.Index, c.Retry, c.Block = countOf(m["index"]), countOf(m["retry"]), countOf(m["block"])
	c.URIs, c.TypeHints, c.Orphans, c.Common = textsOf(m["uris"]), textsOf(m["typeHints"]), textsOf(m["orphans"]), textsOf(m["common"])
	c.After = textOf(m, "after")
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
