package tooltask

import (
	"strings"

	"time"

	"tavernsim/protocol"
)

// AppendMsg encodes a request, as a value with names.
func (q *Request) AppendMsg(b []byte) []byte {
	t := &q.Task
	if q.Cancel {
		return protocol.AppendValue(b, map[string]any{"do": "cancel", "id": t.ID, "by": t.Agent})
	}
	if q.Leave {
		return protocol.AppendValue(b, map[string]any{"do": "leave", "by": t.Agent})
	}
	if x := q.Settle; x != nil {
		value, _ := x.Value.Value()
		return protocol.AppendValue(b, map[string]any{"do": "settle", "id": t.ID, "by": x.By, "status": x.Status, "value": value})
	}
	if x := q.Report; x != nil {
		result, _ := x.Result.Value()
		return protocol.AppendValue(b, map[string]any{"do": "report", "id": t.ID, "by": t.Agent, "status": x.Status, "progress": x.Progress, "note": x.Note, "result": result})
	}
	if q.Seat != nil {
		return protocol.AppendValue(b, q.Seat.value())
	}
	if l := q.Left; l != nil {
		return protocol.AppendValue(b, map[string]any{"do": "left", "calls": l.Calls, "nano": l.Nano, "micro": l.Micro, "bytes": l.Bytes})
	}
	params, _ := t.Params.Value()
	uris, _ := t.URIs.Value()
	v := map[string]any{
		"do": "open", "id": t.ID, "by": t.Agent, "turn": int64(t.Turn), "number": t.Number, "kind": t.Kind, "tool": t.Tool, "params": params, "uris": uris,
		"timeout": int64(t.Timeout), "retry": t.Retry, "once": t.Once, "after": int64(q.After), "most": int64(q.Most),
	}
	if q.Cost > 0 {
		v["cost"] = q.Cost
	}
	return protocol.AppendValue(b, v)
}

// ReadRequest decodes a request.
func ReadRequest(raw protocol.Raw) (Request, error) {
	v, err := raw.Value()
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return Request{}, protocol.Errorf(protocol.KindCorrupt, "a request to %s: %v", Service, err)
	}
	text := func(name string) string { s, _ := m[name].(string); return s }
	whole := func(name string) int64 { n, _ := m[name].(int64); return n }
	if text("do") == "left" {
		return Request{Left: &Left{whole("calls"), whole("nano"), whole("micro"), whole("bytes")}}, nil
	}
	if text("do") == "seat" {
		return Request{Seat: readSeat(m)}, nil
	}
	if text("do") == "settle" {
		return Request{Task: Task{ID: text("id")}, Settle: &Settle{Status: text("status"), By: text("by"), Value: protocol.Encode(m["value"])}}, nil
	}
	if text("do") == "report" {
		progress, _ := m["progress"].(float64)
		return Request{Task: Task{ID: text("id"), Agent: text("by")}, Report: &Report{text("status"), progress, text("note"), protocol.Encode(m["result"])}}, nil
	}
	once, _ := m["once"].(bool)
	return Request{
		Cancel: text("do") == "cancel", Leave: text("do") == "leave", After: time.Duration(whole("after")), Most: int(whole("most")), Cost: whole("cost"),
		Task: Task{
			ID: text("id"), Agent: text("by"), Turn: uint64(whole("turn")), Number: whole("number"), Kind: text("kind"), Tool: text("tool"),
			Params: protocol.Encode(m["params"]), URIs: protocol.Encode(m["uris"]), Timeout: time.Duration(whole("timeout")), Retry: whole("retry"), Once: once,
		},
	}, nil
}

// contentsOf begins the entries of references that are contents: no parameter has such a name.
const contentsOf = "\x00"

// EncodeURIs encodes the references of a call, and the contents that somebody allowed.
func EncodeURIs(uris, contents map[string]string) protocol.Raw {
	if len(uris)+len(contents) == 0 {
		return protocol.Encode(nil)
	}
	v := make(map[string]any, len(uris))
	for name, uri := range uris {
		v[name] = uri
	}
	for uri, id := range contents {
		v[contentsOf+uri] = id
	}
	return protocol.Encode(v)
}

// References is the reverse of EncodeURIs.
func (t *Task) References() (uris, contents map[string]string) {
	v, _ := t.URIs.Value()
	m, _ := v.(map[string]any)
	for name, text := range m {
		into := &uris
		if uri, ok := strings.CutPrefix(name, contentsOf); ok {
			into, name = &contents, uri
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[name], _ = text.(string)
	}
	return uris, contents
}
