package statecmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// AuditCap is the most bytes of a value that a record holds; a longer one is
// replaced by {"$capped": true, "bytes": n, "xxh3": hash}.
const AuditCap = 8 << 10

// Record is the audit of one entry (§8 of the specification). Before and After
// are absent (no bytes) where there was nothing, or the entry did not get so far.
type Record struct {
	OpID         string
	Time         protocol.Time
	Actor        string
	Action       command.Action
	Key          string
	Before       protocol.Raw
	After        protocol.Raw
	Options      protocol.Raw
	BatchID      string
	TurnID       string
	Index        int
	Status       Status
	Code         command.Code
	BeforeExists bool
	AfterExists  bool
	Version      int64 // of the document after the entry; 0 when it names none
	Warnings     []command.Warning
	// What only the result says; see Outcome.
	Changed bool
	Message string
	Counter *int64 // after a version conflict: the current version of the object
}

// MarshalJSON writes the record with the names of the specification.
func (x Record) MarshalJSON() ([]byte, error) {
	before, err := jsonOf(x.Before)
	if err != nil {
		return nil, err
	}
	after, err := jsonOf(x.After)
	if err != nil {
		return nil, err
	}
	options, err := jsonOf(x.Options)
	if err != nil {
		return nil, err
	}
	warnings := x.Warnings
	if warnings == nil {
		warnings = []command.Warning{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err = enc.Encode(struct {
		OpID         string            `json:"opId"`
		Time         string            `json:"time"`
		Actor        string            `json:"actor"`
		Action       command.Action    `json:"action"`
		Key          string            `json:"key"`
		Before       json.RawMessage   `json:"before"`
		After        json.RawMessage   `json:"after"`
		Options      json.RawMessage   `json:"options"`
		BatchID      string            `json:"batchId"`
		TurnID       string            `json:"turnId"`
		Index        int               `json:"index"`
		Status       Status            `json:"status"`
		Code         command.Code      `json:"code"`
		BeforeExists bool              `json:"beforeExists"`
		AfterExists  bool              `json:"afterExists"`
		Version      int64             `json:"version"`
		Warnings     []command.Warning `json:"warnings"`
	}{x.OpID, x.Time.String(), x.Actor, x.Action, x.Key, before, after, options, x.BatchID, x.TurnID, x.Index,
		x.Status, x.Code, x.BeforeExists, x.AfterExists, x.Version, warnings})
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

func jsonOf(raw protocol.Raw) (json.RawMessage, error) {
	v, err := raw.Value()
	if err != nil {
		return nil, err
	}
	return world.AppendJSON(nil, v), nil
}

// record adds an entry to the audit; o is nil when it did not reach the pipeline.
func (r *run) record(e *command.Entry, res Result, o *op) {
	rec := Record{OpID: res.OpID, Time: r.in.Now, Actor: r.in.Actor, Action: e.Action, Key: res.Key, Options: r.auditOptions(e),
		BatchID: r.in.BatchID, TurnID: r.in.TurnID, Index: e.Index, Status: res.Status, Code: res.Code, Warnings: e.Warnings,
		Changed: res.Changed, Message: res.Message, Counter: res.Version}
	if o != nil && o.d != nil {
		o.auditEffect(&rec)
	}
	r.audit = append(r.audit, rec)
}

// auditEffect fills in what the entry did to its target.
func (o *op) auditEffect(rec *Record) {
	if o.before == nil { // the entry ended before it could change anything
		o.before = o.r.auditValue(o.path, &o.found)
	}
	rec.Before, rec.BeforeExists = o.before, o.exists
	rec.Version = o.d.base.doc.Version()
	if len(o.d.changes) > 0 {
		rec.Version++
	}
	if !o.result.Changed {
		rec.After, rec.AfterExists = o.before, o.exists
		return
	}
	if o.whole && len(o.raw) <= AuditCap && len(o.raw) > 0 && !isContainer(o.value) {
		rec.After, rec.AfterExists = o.raw, true
		if secretAt(o.path) {
			rec.After = protocol.Encode(secret.Redacted)
		}
		return
	}
	found := o.d.edit.Find(o.after())
	rec.After, rec.AfterExists = o.r.auditValue(found.Path, &found), found.Exists
}

func isContainer(v any) bool {
	kind := kindOf(v)
	return kind == world.KindList || kind == world.KindObject
}

// secretAt reports whether a path leads through the name of a secret.
func secretAt(path world.Path) bool {
	return slices.ContainsFunc(path, func(s world.Segment) bool { return secret.Is(s.Key) })
}

// auditValue encodes what was found at a path for the audit.
func (r *run) auditValue(path world.Path, found *world.Found) protocol.Raw {
	if !found.Exists {
		return nil
	}
	if secretAt(path) {
		return protocol.Encode(secret.Redacted)
	}
	raw := found.Raw()
	if len(raw) > AuditCap {
		return protocol.Encode(map[string]any{"$capped": true, "bytes": int64(len(raw)), "xxh3": fmt.Sprintf("%016x", xxh3.Hash(raw))})
	}
	if found.Kind != world.KindObject && found.Kind != world.KindList {
		return raw
	}
	if clean, changed := secret.Hide(found.Value()); changed {
		return protocol.Encode(clean)
	}
	return raw
}

func (r *run) auditOptions(e *command.Entry) protocol.Raw {
	if e.Options == nil || e.Options.Given == nil {
		return nil
	}
	given, _ := secret.Hide(e.Options.Given)
	m := given.(map[string]any)
	if path, err := world.ParsePath(e.Key); err == nil && secretAt(path) {
		m = maps.Clone(m)
		for _, name := range []string{"ifEquals", "expect", "where"} {
			if _, given := m[name]; given {
				m[name] = secret.Redacted
			}
		}
	}
	raw := protocol.Encode(m)
	if len(raw) > AuditCap {
		return protocol.Encode(map[string]any{"$capped": true, "bytes": int64(len(raw)), "xxh3": fmt.Sprintf("%016x", xxh3.Hash(raw))})
	}
	return raw
}

// shortJSON shows a value in a message.
func shortJSON(v any) string {
	text := string(world.AppendJSON(nil, v))
	if r := []rune(text); len(r) > 120 {
		return string(r[:120]) + "..."
	}
	return text
}
