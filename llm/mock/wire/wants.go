package wire

import (
	"cmp"
	"slices"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Wants says which calls a request leaves to the model.
type Wants struct {
	None   bool   // no call
	Some   bool   // at least one
	Single bool   // at most one
	Name   string // of this tool alone; "" = of any

	given bool // there is a tool_choice
}

// chatChoice reads the tool_choice of chat completions.
func (w *Wants) chatChoice(r *reader) {
	*w = Wants{Single: w.Single, given: true}
	if r.Is('{') {
		w.Some = true
		r.member("function", func() { r.member("name", func() { w.Name = r.Text() }) })
		if w.Name == "" {
			r.Fail(`want auto, none, required or {"type": "function", "function": {"name": …}}`)
		}
		return
	}
	w.kind(r, r.Text(), "required")
}

// messagesChoice reads the tool_choice of messages.
func (w *Wants) messagesChoice(r *reader) {
	*w = Wants{given: true}
	kind := ""
	r.object(func(name string) {
		switch name {
		case "type":
			kind = r.Text()
		case "name":
			w.Name = r.Text()
		case "disable_parallel_tool_use":
			w.Single = r.yes()
		}
	})
	if kind == "tool" && w.Name != "" {
		w.Some = true
		return
	}
	w.kind(r, kind, "any")
}

// kind takes a choice that names no tool. some is how the protocol says that there has to be a call.
func (w *Wants) kind(r *reader, kind, some string) {
	switch kind {
	case "auto":
	case "none":
		w.None = true
	case some:
		w.Some = true
	default:
		r.Fail("want auto, none, " + some + " or the name of a tool")
	}
}

// AsksStream reports whether the body of a request asks for a stream, or is no JSON.
func AsksStream(body []byte) (yes bool) {
	var r reader
	err := wirejson.ReadLevels(body, maxLevels, func(in *wirejson.Reader) {
		r.Reader = in
		r.member("stream", func() { yes = r.yes() })
	})
	return yes || err != nil
}

// check holds what is wanted of calls to the tools that there are.
func (q *Question) check() error {
	w := &q.Wants
	switch {
	case w.given && len(q.Tools) == 0:
		return protocol.Errorf(protocol.KindInvalid, "tool_choice: there has to be a tool in tools")
	case w.Name != "" && !slices.ContainsFunc(q.Tools, func(t protocol.ToolSpec) bool { return t.Name == w.Name }):
		return protocol.Errorf(protocol.KindInvalid, "tool_choice: there is no tool %.64q in tools", w.Name)
	case w.Some && q.thinks:
		return protocol.Errorf(protocol.KindInvalid, "thinking may not be enabled where tool_choice requires a call")
	}
	return nil
}

// Required is the tool that is called where a call has to be, and the script has none: the one that is named, or the last.
// Who wants either a call or a document offers the document as the last tool.
func (q *Question) Required() string {
	return cmp.Or(q.Wants.Name, q.Tools[len(q.Tools)-1].Name)
}

// findSchema reads the body again for the parameters of the tool that has to be called: few requests require a call, and
// only then the others need not keep what their tools look like.
func (q *Question) findSchema(p Protocol, body []byte) error {
	want := q.Required()
	var r reader
	tool := func(member string) {
		name, schema := "", []byte(nil)
		r.object(func(n string) {
			switch n {
			case "name":
				name = r.Text()
			case member:
				schema = r.Raw()
			}
		})
		if name == want && q.Schema == nil {
			q.Schema = schema
		}
	}
	return wirejson.ReadLevels(body, maxLevels, func(in *wirejson.Reader) {
		r.Reader = in
		r.member("tools", func() {
			q.Schema = nil
			r.list(func() {
				if p == Messages {
					tool("input_schema")
					return
				}
				r.member("function", func() { tool("parameters") })
			})
		})
	})
}
