package block

import (
	"maps"
	"reflect"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Results are those of steps that have ended, for the references of later steps.
type Results struct {
	Named bool // some step names results: else none is kept
	list  []Result
}

// Result is that of a step.
type Result struct {
	Block, Index int
	Status       protocol.CallStatus
	Output       any
	Artifact     string // the first one; "" = there is none
}

// Keep keeps the result of a call, and what it left; of two results of one call the first counts,
// which is whole.
func (r *Results) Keep(c *protocol.Call, res *protocol.CallResult, made ...tool.Artifact) {
	if !r.Named || c.Block == 0 || c.Origin != protocol.OriginTAM {
		return
	}
	kept := Result{Block: c.Block, Index: c.Index, Status: res.Status, Output: tool.Readable(res.Output)}
	if len(made) > 0 {
		kept.Artifact = made[0].URI()
	}
	r.Add(kept)
}

// Add adds a result.
func (r *Results) Add(res Result) { r.list = append(r.list, res) }

// List are the results, in the order in which they came.
func (r *Results) List() []Result { return r.list }

// Forget drops the results.
func (r *Results) Forget() { r.list = nil }

// Values gives what the references in a step name: values that its block shares, results of steps
// of its block, and what else is known.
func (r *Results) Values(c *protocol.Call, more Values) Values {
	return func(name string) (any, bool) {
		if shared, ok := strings.CutPrefix(name, "common_"); ok {
			for _, key := range protocol.SortedKeys(c.Common) {
				if Same(key, shared) {
					return c.Common[key], true
				}
			}
			return nil, false
		}
		if n, rest, ok := StepName(name); ok {
			return r.ofStep(c.Block, n, rest)
		}
		return more(name)
	}
}

func (r *Results) ofStep(number, index int, rest string) (any, bool) {
	for _, o := range r.list {
		if o.Block != number || o.Index != index {
			continue
		}
		if rest == "status" {
			return string(o.Status), true
		}
		if rest == "artifact" {
			return o.Artifact, o.Artifact != ""
		}
		path, ok := strings.CutPrefix(rest+".", "output.")
		if !ok || o.Output == nil {
			return nil, false
		}
		return At(o.Output, strings.TrimSuffix(path, "."))
	}
	return nil, false
}

// HasReferences reports whether a call may have references.
func HasReferences(c *protocol.Call) bool {
	for _, v := range c.Params {
		if Refers(v) {
			return true
		}
	}
	for _, uri := range c.URIs {
		if Refers(uri) {
			return true
		}
	}
	return false
}

// Bind binds the parameters of a call, and replaces the references in them. They are replaced in
// bound values, so that what is put into a JSON value stays a value of it; then the values are read
// once more by their types. Those of URIs are replaced before, and what they put in is not read again.
// unknown are the references that stay. Of a tool whose texts may name secrets, what is put in names none.
func Bind(c *protocol.Call, schema *bind.Schema, values Values) (params map[string]any, unknown []string, err error) {
	call := *c
	uris := make(map[string]any, len(c.URIs))
	for name, uri := range c.URIs {
		uris[name] = uri
	}
	uris, unknown, err = Substitute(uris, values)
	if err != nil {
		return nil, nil, err
	}
	call.URIs = maps.Clone(c.URIs)
	for name, uri := range uris {
		if text, ok := uri.(string); ok {
			call.URIs[name] = text
		}
	}
	params, err = bind.Bind(&call, schema.Loosely())
	if err != nil {
		return nil, nil, err
	}
	fetched := map[string]any{}
	for _, name := range bind.FromURIs(&call, schema, params) {
		fetched[name] = params[name]
		delete(params, name)
	}
	var embedded []string
	for i := range schema.Properties {
		if p := &schema.Properties[i]; p.Raw {
			embedded = append(embedded, p.Name)
		}
	}
	with, more, err := (&substitution{of: values, secrets: schema.Secrets}).params(params, embedded)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(with, fetched)
	out, err := bind.Bind(&protocol.Call{Tool: c.Tool, Params: with, Origin: protocol.OriginNative}, schema)
	if schema.Secrets {
		for name, v := range out {
			if Refers(params[name]) && !reflect.DeepEqual(v, with[name]) { // a text was read once more
				out[name] = rewritten(v, nameless)
			}
		}
	}
	return out, append(unknown, more...), err
}
