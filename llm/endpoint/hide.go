package endpoint

import (
	"tavernsim/llm/endpoint/hidden"
	"tavernsim/protocol"
)

// Warnings say what of the key, the headers and the parameters is hidden nowhere, or may be a word of an answer.
// They have no value of them.
func (e *Endpoint) Warnings() []string { return e.access.Load().warnings }

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
