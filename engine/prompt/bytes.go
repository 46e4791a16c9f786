package prompt

import (
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// AppendBytes appends what a model reads of a request, in the order in which endpoints read it:
// tools, then messages. Two requests share in a cache what these begin with.
func AppendBytes(b []byte, q *protocol.ModelRequest) []byte {
	for i := range q.Tools {
		t := &q.Tools[i]
		b = append(append(append(append(b, t.Name...), 0), t.Description...), 0)
		b = template.AppendJSON(b, t.Parameters)
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		b = append(append(append(append(b, 0), m.Role...), 0), m.Text...)
		b = append(append(b, 0), m.CallID...)
		for k := range m.Calls {
			b = append(append(append(b, 0), m.Calls[k].Tool...), 0)
			b = template.AppendJSON(b, m.Calls[k].Params)
		}
	}
	return b
}
