package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// MaxTTL bounds ttl and expiresAt.
const MaxTTL = 100 * 365 * 24 * time.Hour

// OptionNames lists every option of an entry.
func OptionNames() []string {
	return []string{"idempotencyKey", "reason", "ifMissing", "ifExists", "ifEquals", "ifVersion", "mergeStrategy",
		"uniqueBy", "dedupe", "position", "limit", "where", "count", "softDelete", "recycleBinKey", "cascade",
		"allowMissing", "tags", "ttl", "expiresAt", "expect", "transaction", "onConflict"}
}

// Takes is the matrix of actions and options: it reports whether the option
// means something for the action. What an action does not take is ignored with
// a warning.
func Takes(a Action, option string) bool {
	switch option {
	case "ifMissing":
		return a != Pull && a != Delete // there it can only ever skip
	case "mergeStrategy":
		return a == Set || a == Update || a == Patch
	case "uniqueBy":
		return a == Add || a == Push
	case "dedupe", "onConflict":
		return a == Push
	case "position":
		return a == Push || a == Pull
	case "limit":
		return a == Add || a == Push
	case "where", "count":
		return a == Pull
	case "softDelete", "recycleBinKey":
		return a == Delete || a == Pull
	case "cascade":
		return a == Delete
	case "allowMissing":
		return a != Set && a != Add && a != Ensure
	case "ttl", "expiresAt":
		return a != Pull
	}
	return true
}

// readOptions reads options in the order written; of one that comes twice the
// last counts. The first fault stays.
func (e *Entry) readOptions(members []lenient.Member) {
	o := &Options{}
	e.Options = o
	o.Given = make(map[string]any, len(members))
	for _, m := range members {
		v, err := lenient.Plain(m.Value)
		if err != nil {
			e.bad("option %s: %s", m.Key, err)
			continue
		}
		o.Given[m.Key] = v
		switch {
		case m.Key == "patchFormat":
			e.BadOption = cmpFault(e.BadOption, &Fault{JSONPatch, "option patchFormat is not taken: patch merges the fields of an object; write the fields to change, or one command per operation"})
		case !known(m.Key):
			e.warn(WarnUnknownOption, fmt.Sprintf("option %q is unknown and was ignored%s", m.Key, Hint(Nearest(m.Key, OptionNames()))))
		case v == nil && m.Key != "ifEquals":
			// null is "not given", except where it is a value to compare with
		case e.Action != "" && !Takes(e.Action, m.Key):
			e.warn(WarnIgnored, fmt.Sprintf("option %q means nothing for %q and was ignored", m.Key, e.Action))
			if m.Key == "ifMissing" {
				e.readOption(m.Key, v)
			}
		default:
			e.readOption(m.Key, v)
		}
	}
}

func (e *Entry) bad(format string, args ...any) {
	if e.BadOption == nil {
		e.BadOption = &Fault{InvalidOption, fmt.Sprintf(format, args...)}
	}
}

func (e *Entry) want(name, what string, v any) {
	e.bad("option %s is %s; want %s", name, typeName(v), what)
}

func (e *Entry) readOption(name string, v any) {
	o := e.Options
	switch name {
	case "idempotencyKey":
		e.text(&o.IdempotencyKey, name, v)
		if o.IdempotencyKey == "" || len(o.IdempotencyKey) > MaxKey {
			e.bad("option idempotencyKey: want a text of 1 to %d bytes", MaxKey)
		}
	case "reason":
		e.text(&o.Reason, name, v)
	case "tags":
		e.texts(&o.Tags, name, v)
	case "ifMissing":
		e.tri(&o.IfMissing, name, v)
	case "ifExists":
		e.tri(&o.IfExists, name, v)
	case "ifEquals":
		o.HasIfEquals, o.IfEquals = true, v
	case "ifVersion":
		o.HasIfVersion = e.whole(&o.IfVersion, name, v, 0)
	case "mergeStrategy":
		e.oneOf(&o.MergeStrategy, name, v, "replace", "shallow", "deep")
	case "uniqueBy":
		e.texts(&o.UniqueBy, name, v)
		if len(o.UniqueBy) == 0 || slices.Contains(o.UniqueBy, "") {
			e.bad("option uniqueBy: want a field name or a list of them")
		}
	case "dedupe":
		e.tri(&o.Dedupe, name, v)
	case "onConflict":
		e.oneOf(&o.OnConflict, name, v, "keep", "replace")
	case "position":
		e.oneOf(&o.Position, name, v, "head", "tail")
	case "limit":
		e.count(&o.Limit, name, v)
	case "count":
		e.count(&o.Count, name, v)
	case "where":
		e.object(&o.Where, name, v)
		if len(o.Where) == 0 {
			e.bad("option where: an empty condition would match everything; name at least one field")
		}
	default:
		e.readLate(name, v)
	}
}

func (e *Entry) readLate(name string, v any) {
	o := e.Options
	switch name {
	case "softDelete":
		e.tri(&o.SoftDelete, name, v)
	case "recycleBinKey":
		e.text(&o.RecycleBinKey, name, v)
	case "cascade":
		e.tri(&o.Cascade, name, v)
	case "allowMissing":
		e.tri(&o.AllowMissing, name, v)
	case "ttl":
		e.ttl(v)
	case "expiresAt":
		e.expiresAt(v)
	case "expect":
		e.object(&o.Expect, name, v)
	case "transaction":
		e.tri(&o.Transaction, name, v)
	}
}

func (e *Entry) text(into *string, name string, v any) {
	s, ok := v.(string)
	if !ok {
		e.want(name, "a text", v)
	}
	*into = s
}

func (e *Entry) texts(into *[]string, name string, v any) {
	if s, ok := v.(string); ok {
		*into = []string{s}
		return
	}
	list, ok := v.([]any)
	*into = nil
	for _, item := range list {
		s, isText := item.(string)
		ok = ok && isText
		*into = append(*into, s)
	}
	if !ok {
		e.want(name, "a text or a list of texts", v)
	}
}

func (e *Entry) tri(into *Tri, name string, v any) {
	b, ok := v.(bool)
	if !ok {
		e.want(name, "true or false", v)
	}
	*into = No
	if b {
		*into = Yes
	}
}

func (e *Entry) whole(into *int64, name string, v any, least int64) bool {
	n, ok := v.(int64)
	if f, isFloat := v.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n, ok = int64(f), true
	}
	if !ok {
		e.want(name, "a whole number", v)
	} else if n < least {
		e.bad("option %s is %d; want at least %d", name, n, least)
	}
	*into = n
	return ok
}

func (e *Entry) count(into *int, name string, v any) {
	var n int64
	e.whole(&n, name, v, 1)
	*into = int(min(n, 1<<30))
}

func (e *Entry) oneOf(into *string, name string, v any, words ...string) {
	s, ok := v.(string)
	s = strings.ToLower(strings.TrimSpace(s))
	if !ok || !slices.Contains(words, s) {
		e.bad("option %s is %.60q; want one of %s", name, fmt.Sprint(v), strings.Join(words, ", "))
	}
	*into = s
}

func (e *Entry) object(into *map[string]any, name string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		e.want(name, "an object", v)
	}
	*into = m
}

func (e *Entry) ttl(v any) {
	seconds, ok := protocol.Number(v)
	if !ok {
		e.want("ttl", "a number of seconds", v)
		return
	}
	if seconds <= 0 || seconds > MaxTTL.Seconds() || time.Duration(seconds*float64(time.Second)) <= 0 {
		e.BadOption = cmpFault(e.BadOption, &Fault{InvalidExpiry, fmt.Sprintf("ttl is %v seconds; want more than 0 and at most 100 years", v)})
		return
	}
	e.Options.TTL = time.Duration(seconds * float64(time.Second))
}

func cmpFault(first, second *Fault) *Fault {
	if first != nil {
		return first
	}
	return second
}

func (e *Entry) expiresAt(v any) {
	s, ok := v.(string)
	if !ok {
		e.want("expiresAt", "an ISO 8601 text", v)
		return
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		t, err := time.Parse(layout, strings.TrimSpace(s))
		if err == nil && t.Year() >= 1678 && t.Year() <= 2261 { // what nanoseconds in 64 bits can hold
			e.Options.ExpiresAt = protocol.TimeOf(t)
			return
		}
	}
	e.BadOption = cmpFault(e.BadOption, &Fault{InvalidExpiry, fmt.Sprintf("expiresAt is %.60q; want a moment such as 2025-09-20T08:00:00Z", s)})
}

// Check holds the entry's options against each other and the action, once they
// are known to be well-formed (C6, C10, C13, C25).
func (e *Entry) Check() *Fault {
	o := e.Options
	if o == nil {
		o = &Options{}
	}
	switch {
	case e.BadOption != nil:
		return e.BadOption
	case o.IfExists == Yes && (o.IfMissing == Yes || e.Action == Ensure):
		return &Fault{ConflictingOptions, "ifMissing and ifExists cannot both hold (ensure implies ifMissing); keep one"}
	case e.Action == Pull && o.Where == nil && o.Count == 0 && !e.HasValue:
		return &Fault{MissingCriteria, "pull without where, value or count would empty the list; say what to remove"}
	case !e.HasValue && e.Action != Pull && e.Action != Delete:
		return &Fault{MissingValue, fmt.Sprintf("%s needs a value; null is one", e.Action)}
	case e.Action == Patch && isJSONPatch(e.Value):
		return &Fault{JSONPatch, "patch merges an object; a list of JSON Patch operations is not taken: write the fields to change, or one command per operation"}
	}
	return nil
}

func isJSONPatch(v any) bool {
	list, ok := v.([]any)
	for _, item := range list {
		op, isObject := item.(map[string]any)
		_, hasOp := op["op"].(string)
		_, hasPath := op["path"].(string)
		ok = ok && isObject && hasOp && hasPath
	}
	return ok && len(list) > 0
}
