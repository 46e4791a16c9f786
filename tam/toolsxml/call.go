package toolsxml

import (
	"fmt"

	"tavernsim/protocol"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// Calls gives the tools that may run as calls, in document order. prefix makes
// the ids: "prefix.index".
//
// The parameters are what the JSON of a tool holds: content (command, input,
// ctrl), bytes (ctrl, some input; a list of numbers), files (edit, read), key,
// reason and note (get_value). A pair whose entities can be read in two ways
// also has find_other and replace_other. Secret references are still in the
// texts. A failed tool does not stop the others: OnError is "continue". All are one
// block, in the order of [Plan].
func (r *Result) Calls(prefix string) []protocol.Call {
	var calls []protocol.Call
	plan := Plan(r.Tools)
	for i := range r.Tools {
		if t := &r.Tools[i]; t.Executable {
			calls = append(calls, protocol.Call{
				ID: fmt.Sprintf("%s.%d", prefix, t.Index), Tool: string(t.Type), Params: t.params(), Index: t.Index,
				Origin: protocol.OriginToolsXML, OnError: protocol.OnErrorContinue, Block: 1, After: plan[len(calls)].after(),
			})
		}
	}
	return calls
}

func (t *Tool) params() map[string]any {
	switch t.Type {
	case Edit, Read:
		return map[string]any{"files": t.fileValues()}
	case GetValue:
		return map[string]any{"key": t.Key, "reason": t.Reason, "note": t.Note}
	}
	params := map[string]any{"content": t.Content}
	if len(t.Bytes) > 0 {
		bytes := make([]any, len(t.Bytes))
		for i, b := range t.Bytes {
			bytes[i] = int64(b)
		}
		params["bytes"] = bytes
	}
	return params
}

func (t *Tool) fileValues() []any {
	files := make([]any, len(t.Files))
	for i, f := range t.Files {
		file := map[string]any{"src": f.Src}
		if t.Type == Edit {
			edits := make([]any, len(f.Edits))
			for j, e := range f.Edits {
				edits[j] = e.value()
			}
			file["edits"] = edits
		}
		files[i] = file
	}
	return files
}

func (p Pair) value() map[string]any {
	v := map[string]any{"find": p.Find, "replace": p.Replace}
	if p.All {
		v["all"] = true
	}
	if p.Nth > 0 {
		v["nth"] = int64(p.Nth)
	}
	if p.FindOther != p.Find || p.ReplaceOther != p.Replace {
		v["find_other"], v["replace_other"] = p.FindOther, p.ReplaceOther
	}
	return v
}

// Control gives the bytes of a key, named as in <ctrl>.
func Control(name string) (bytes []byte, ok bool) {
	_, bytes, ok = rawtext.Control(name)
	return bytes, ok
}
