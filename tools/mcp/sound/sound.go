// Package sound makes what an MCP server sends readable for the library, or says why it cannot be.
//
// # Promises
//
//  1. An object that has a name twice is never read: in a result it is an error of the request, elsewhere the message is none.
//  2. A result that the library would refuse whole, or read in part, comes to it as an error of the request, or so that nothing
//     of it is lost: content of an unknown kind is named, and integers beyond 53 bits stay as they are ([ValueOf]).
//  3. What a message says beyond what the library knows, and simd needs, stands in its _meta ([TaskOnly], [Holds]).
//
// # Not here
//
// Bounds of messages (tools/child); which request a message answers (tools/mcp).
package sound

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"tavernsim/tools/child"
)

// NoMethod stands in the place of the method of an answer.
const NoMethod = "\x00"

// Mend is Message without the method.
func Mend(message []byte) ([]byte, error) {
	out, _, err := Message(message)
	return out, err
}

// Message is a message of a server as the library gets it, and its method. An object that has a name twice is
// refused, since nobody knows which of the two is meant: in a result that is an error of the
// call. So is a result that is no object: the library takes null for one without content; and one that it
// could not read.
func Message(message []byte) (out []byte, method string, err error) {
	id, raw, result, why, err := child.Parts(message)
	if err != nil {
		return nil, "", err
	}
	if method = NoMethod; raw != nil && json.Unmarshal(raw, &method) != nil {
		method = NoMethod // the library refuses it
	}
	out, err = mended(message, id, result, why)
	return out, method, err
}

// mended is a message with these parts as the library can read it. why = an object within it has a name twice.
func mended(message, id, result []byte, why error) ([]byte, error) {
	if why == nil && result != nil && result[0] == '{' && id != nil {
		if message, why = readable(message, result); why == nil {
			return noted(message, result), nil
		}
	}
	if why == nil && (result == nil || result[0] == '{') {
		return message, nil
	}
	if result == nil || id == nil {
		return message, why
	}
	return child.UnsoundAnswer(id, cmp.Or(why, errNoObject).Error()), nil
}

// TaskOnly is the field of _meta that says of a tool that its server offers it as a task only.
const TaskOnly = "simd/task-only"

// Holds is the field of _meta that says for how many milliseconds a list of tools holds.
const Holds = "simd/ttl-ms"

// noted is a message in which each tool that a server offers as a task only says so in its _meta: the library does not
// know the field in which the server says it. A list of tools says in its _meta how long it holds: the library would give
// the list once more until then, also when the server has said that it is another one.
func noted(message, result []byte) []byte {
	if !bytes.Contains(result, []byte(`"taskSupport"`)) && !bytes.Contains(result, []byte(`"ttlMs"`)) {
		return message
	}
	var list struct {
		Tools []struct{ Execution struct{ TaskSupport string } }
	}
	var whole map[string]any
	numbers := json.NewDecoder(bytes.NewReader(message))
	numbers.UseNumber()
	if json.Unmarshal(result, &list) != nil || numbers.Decode(&whole) != nil {
		return message
	}
	page, _ := whole["result"].(map[string]any)
	all, is := page["tools"].([]any)
	if !is {
		return message
	}
	if n, is := page["ttlMs"]; is {
		note(page, Holds, n)
		delete(page, "ttlMs")
	}
	for i := range list.Tools[:min(len(list.Tools), len(all))] {
		if tool, is := all[i].(map[string]any); is && list.Tools[i].Execution.TaskSupport == "required" {
			note(tool, TaskOnly, true)
		}
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return message
	}
	return b
}

// note puts a value into the _meta of an object.
func note(of map[string]any, name string, v any) {
	meta, _ := of["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[name] = v
	of["_meta"] = meta
}

var errNoObject = errors.New("it is no object")
