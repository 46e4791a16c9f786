package endpoint

import (
	"strings"

	"tavernsim/llm/endpoint/hidden"
	"tavernsim/protocol"
)

// secretsOf are the key and what the user gives in headers and parameters. What says a version or a name is none.
func secretsOf(key string, given Definition) []string {
	var list []string
	add := func(name, value string) {
		name = strings.ToLower(name)
		for _, word := range []string{"version", "beta", "content-type", "accept", "user-agent", "referer", "title"} {
			if strings.Contains(name, word) {
				return
			}
		}
		for word := range strings.FieldsSeq(value) { // "Bearer abc"
			if len(word) >= hidden.Short {
				list = append(list, word)
			}
		}
	}
	for _, fields := range []map[string]string{given.Headers, given.Query} {
		for name, value := range fields {
			add(name, value)
		}
	}
	if key != "" {
		list = append(list, key)
	}
	return list
}

// secrets are none before New has ended.
func (e *Endpoint) secrets() hidden.Secrets {
	if a := e.access.Load(); a != nil {
		return a.secrets
	}
	return nil
}

// Hide takes the secrets out of a text.
func (e *Endpoint) Hide(s string) string { return e.secrets().Hide(s) }

// hide takes the secrets out of everything that a server can write.
func (e *Endpoint) hide(a *protocol.ModelAnswer) {
	if len(e.secrets()) == 0 {
		return
	}
	o := a.Origin
	for _, s := range []*string{&a.Model, &a.Text, &a.Reasoning, &o.ID, &o.Fingerprint, &o.Refused} {
		*s = e.Hide(*s)
	}
	for i := range a.Calls {
		c := &a.Calls[i]
		c.ID, c.Tool, c.Broken = e.Hide(c.ID), e.Hide(c.Tool), e.Hide(c.Broken)
		c.Params, _ = e.hidden(c.Params).(map[string]any)
	}
}

// hidden is a value without the secrets.
func (e *Endpoint) hidden(v any) any {
	switch v := v.(type) {
	case string:
		return e.Hide(v)
	case []any:
		for i := range v {
			v[i] = e.hidden(v[i])
		}
	case map[string]any:
		for _, name := range protocol.SortedKeys(v) {
			x := e.hidden(v[name])
			delete(v, name)
			v[e.Hide(name)] = x
		}
	}
	return v
}
