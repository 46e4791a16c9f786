package statecmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// twin carries commands out as stupidly as possible: every entry on a deep copy
// of one plain map. It knows paths of plain names only.
type twin struct {
	root map[string]any
	keys map[string]bool
	// checked is how deep the object lies whose version was compared last.
	checked int
}

func copyOf(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range x {
			m[k] = copyOf(e)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range x {
			l = append(l, copyOf(e))
		}
		return l
	}
	return v
}

// twinEntry is what the generator made; the engine gets its text.
type twinEntry struct {
	action string
	path   []string
	value  any
	opt    map[string]any
}

func (e twinEntry) text() string {
	m := map[string]any{"action": e.action, "key": p + strings.Join(e.path, "."), "options": e.opt}
	if e.action != "delete" && (e.action != "pull" || e.opt["where"] == nil) {
		m["value"] = e.value
	}
	return string(world.AppendJSON(nil, m))
}

// get walks objects; blocked when the path leads through something else.
func (w *twin) get(path []string) (v any, ok, blocked bool) {
	v = w.root
	for _, name := range path {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil, false, true
		}
		if v, ok = m[name]; !ok {
			return nil, false, false
		}
	}
	return v, true, false
}

func (w *twin) put(path []string, v any) {
	m := w.root
	for _, name := range path[:len(path)-1] {
		if m[name] == nil {
			m[name] = map[string]any{}
		}
		m = m[name].(map[string]any)
	}
	m[path[len(path)-1]] = v
}

// batch returns outcomes like outcomes does.
func (w *twin) batch(entries []twinEntry, tx bool) string {
	before, keysBefore := copyOf(w.root).(map[string]any), copyKeys(w.keys)
	var out []string
	for i, e := range entries {
		saved := copyOf(w.root).(map[string]any)
		got := w.entry(e)
		if !strings.HasPrefix(got, "applied") {
			w.root = saved
		} else {
			if k := e.opt["idempotencyKey"]; k != nil {
				w.keys[fmt.Sprint(e.path, k)] = true
			}
			if !protocol.Equal(saved, w.root) || e.action == "push" { // a push into a full list of equals still moves
				w.bump(e)
				got += "*"
			}
		}
		out = append(out, got)
		if tx && strings.HasPrefix(got, "rejected") {
			w.root, w.keys = before, keysBefore
			for j := range out {
				if strings.HasPrefix(out[j], "applied") {
					out[j] = "rolled_back/transaction"
				}
			}
			for range entries[i+1:] {
				out = append(out, "rolled_back/transaction")
			}
			break
		}
	}
	for i := range out {
		if out[i] == "applied/?" {
			out[i] = "applied/unchanged"
		}
		out[i] = strings.Replace(out[i], "applied/?*", "applied/ok*", 1)
	}
	return strings.Join(out, " ")
}

func copyKeys(m map[string]bool) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

// bump raises the counters of the objects on the path that have one, and makes
// one where ifVersion asked.
func (w *twin) bump(e twinEntry) {
	for n := 0; n <= len(e.path); n++ {
		v, _, _ := w.get(e.path[:n])
		if m, ok := v.(map[string]any); ok && m["__version"] != nil {
			m["__version"] = m["__version"].(int64) + 1
		}
	}
	if e.opt["ifVersion"] == nil {
		return
	}
	v, _, _ := w.get(e.path[:w.checked])
	if m, ok := v.(map[string]any); ok && m["__version"] == nil {
		m["__version"] = int64(1)
	}
}

// version answers ifVersion.
func (w *twin) version(e twinEntry) int64 {
	_, ok, _ := w.get(e.path)
	_, becomes := e.value.(map[string]any)
	if !ok && becomes && e.action != "push" && e.action != "pull" && e.action != "delete" {
		w.checked = len(e.path)
		return 0
	}
	for n := len(e.path); n >= 0; n-- {
		v, _, _ := w.get(e.path[:n])
		if m, ok := v.(map[string]any); ok {
			w.checked = n
			n, _ := m["__version"].(int64)
			return n
		}
	}
	return 0
}

func (w *twin) entry(e twinEntry) string {
	if k := e.opt["idempotencyKey"]; k != nil && w.keys[fmt.Sprint(e.path, k)] {
		return "skipped/duplicate"
	}
	now, exists, blocked := w.get(e.path)
	switch {
	case exists && (e.opt["ifMissing"] == true || e.action == "ensure"):
		return "skipped/exists"
	case !exists && e.opt["ifExists"] == true:
		return "skipped/missing"
	}
	if want, ok := e.opt["ifEquals"]; ok && (!exists || !protocol.Equal(bare(now), want)) {
		return "skipped/not_equal"
	}
	if want, ok := e.opt["ifVersion"]; ok && want != w.version(e) {
		return "rejected/version_conflict"
	}
	if e.action == "pull" && !exists {
		return "skipped/missing"
	}
	if blocked {
		if e.action == "add" { // what is wrong with the value is said first
			scratch := &twin{root: map[string]any{}}
			if got := scratch.act(e, nil, false); strings.HasPrefix(got, "rejected") {
				return got
			}
		}
		return "rejected/wrong_type"
	}
	got := w.act(e, now, exists)
	if want, ok := e.opt["expect"]; ok && strings.HasPrefix(got, "applied") {
		v, has, _ := w.get(e.path)
		x := want.(map[string]any)
		if x["exists"] != nil && x["exists"] != has || x["equals"] != nil && !(has && protocol.Equal(bare(v), x["equals"])) {
			return "rejected/expect_failed"
		}
	}
	return got
}

func (w *twin) act(e twinEntry, now any, exists bool) string {
	const ok = "applied/?"
	list, isList := now.([]any)
	switch e.action {
	case "delete":
		return w.del(e, now, exists)
	case "push":
		if exists && !isList {
			return "rejected/wrong_type"
		}
		return w.push(e, list)
	case "pull":
		if !isList {
			return "rejected/wrong_type"
		}
		return w.pull(e, list)
	case "add":
		return w.add(e, now, exists)
	}
	strategy := e.opt["mergeStrategy"]
	if strategy == nil || e.action == "ensure" {
		strategy = map[string]string{"set": "replace", "ensure": "replace"}[e.action]
		if strategy == "" {
			strategy = "shallow"
		}
	}
	target, wasMap := now.(map[string]any)
	fields, isMap := e.value.(map[string]any)
	switch {
	case wasMap && isMap && strategy != "replace":
		merge(target, fields, strategy == "deep", true)
	case !exists || !protocol.Equal(bare(now), e.value):
		v := copyOf(e.value)
		if wasMap && isMap {
			keepCounters(target, v.(map[string]any), true)
		}
		w.put(e.path, v)
	}
	return ok
}

// keepCounters: objects that replace counted ones go on counting; the topmost is
// bumped by the entry itself.
func keepCounters(old, v map[string]any, top bool) {
	for k := range v {
		a, okA := old[k].(map[string]any)
		b, okB := v[k].(map[string]any)
		if okA && okB {
			keepCounters(a, b, false)
		}
	}
	if n, ok := old["__version"].(int64); ok {
		v["__version"] = n
		if !top {
			v["__version"] = n + 1
		}
	}
}

func merge(target, fields map[string]any, deep, top bool) (changed bool) {
	for k, v := range fields {
		a, okA := target[k].(map[string]any)
		b, okB := v.(map[string]any)
		if deep && okA && okB {
			changed = merge(a, b, true, false) || changed
			continue
		}
		if cur, has := target[k]; has && protocol.Equal(bare(cur), v) {
			continue
		}
		c := copyOf(v)
		if okA && okB {
			keepCounters(a, c.(map[string]any), false)
		}
		target[k], changed = c, true
	}
	if n, ok := target["__version"].(int64); ok && changed && !top {
		target["__version"] = n + 1
	}
	return changed
}

func (w *twin) del(e twinEntry, now any, exists bool) string {
	if !exists {
		if e.opt["allowMissing"] == true {
			return "applied/?"
		}
		return "rejected/missing"
	}
	m, _ := bare(now).(map[string]any)
	l, _ := now.([]any)
	if e.opt["cascade"] == false && len(m)+len(l) > 0 {
		return "rejected/not_empty"
	}
	parent, _, _ := w.get(e.path[:len(e.path)-1])
	delete(parent.(map[string]any), e.path[len(e.path)-1])
	return "applied/?"
}

func sameBy(a, b any, by any) bool {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if by == nil || !okX || y == nil || y[by.(string)] == nil {
		return protocol.Equal(bare(a), b)
	}
	return okY && x[by.(string)] != nil && protocol.Equal(x[by.(string)], y[by.(string)])
}

func (w *twin) push(e twinEntry, list []any) string {
	if e.opt["dedupe"] == true || e.opt["uniqueBy"] != nil {
		for _, x := range list {
			if sameBy(x, e.value, e.opt["uniqueBy"]) {
				return "skipped/duplicate"
			}
		}
	}
	limit, has := e.opt["limit"].(int64)
	if e.opt["position"] == "head" {
		list = append([]any{e.value}, list...)
		if has {
			list = list[:min(len(list), int(limit))]
		}
	} else {
		list = append(slices.Clip(list), e.value)
		if has {
			list = list[max(0, len(list)-int(limit)):]
		}
	}
	w.put(e.path, list)
	return "applied/?"
}

func (w *twin) pull(e twinEntry, list []any) string {
	matches := func(v any) bool {
		if where, ok := e.opt["where"].(map[string]any); ok {
			if m, isMap := v.(map[string]any); isMap {
				return ledger.HasFields(m, where)
			}
			return meets(v, where)
		}
		if fields, ok := e.value.(map[string]any); ok && len(fields) > 0 {
			return ledger.HasFields(v, fields)
		}
		return protocol.Equal(bare(v), e.value)
	}
	left := len(list)
	if n, ok := e.opt["count"].(int64); ok {
		left = int(n)
	}
	gone := make([]bool, len(list))
	for k := range list {
		i := k
		if e.opt["position"] == "tail" {
			i = len(list) - 1 - k
		}
		if left > 0 && matches(list[i]) {
			gone[i] = true
			left--
		}
	}
	rest := []any{}
	for i, v := range list {
		if !gone[i] {
			rest = append(rest, v)
		}
	}
	if len(rest) == len(list) {
		return "skipped/no_match"
	}
	w.put(e.path, rest)
	return "applied/?"
}

func (w *twin) add(e twinEntry, now any, exists bool) string {
	by := e.opt["uniqueBy"]
	n, isNumber := e.value.(int64)
	fields, isMap := e.value.(map[string]any)
	if list, ok := now.([]any); ok {
		for _, x := range list {
			if sameBy(x, e.value, by) {
				return "rejected/unique_conflict"
			}
		}
		w.put(e.path, append(slices.Clip(list), e.value))
		return "applied/?"
	}
	target, wasMap := now.(map[string]any)
	if by != nil {
		if exists && !wasMap || !isMap {
			return "rejected/wrong_type"
		}
		key := fmt.Sprint(fields[by.(string)])
		if _, isText := fields[by.(string)].(string); !isText || key == "" {
			if _, isInt := fields[by.(string)].(int64); !isInt {
				return "rejected/invalid_value"
			}
		}
		if target[key] != nil {
			return "rejected/unique_conflict"
		}
		if _, has := target[key]; has {
			return "rejected/unique_conflict"
		}
		w.put(append(slices.Clip(e.path), key), e.value)
		return "applied/?"
	}
	old, wasNumber := now.(int64)
	switch {
	case !exists:
		w.put(e.path, e.value)
	case isNumber && wasNumber:
		w.put(e.path, old+n)
	case isMap && wasMap:
		for k := range fields {
			if _, has := target[k]; has {
				return "rejected/unique_conflict"
			}
		}
		maps.Copy(target, fields)
	default:
		return "rejected/wrong_type"
	}
	return "applied/?"
}
