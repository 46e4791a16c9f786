// Package contexts reads the context sizes of models from model files. It imports no
// provider, so that views of a run import no model.
package contexts

import (
	"math"
	"path"
	"strings"

	"tavernsim/internal/source"
)

// Of gives the context of each model of a project, in tokens, by its name; that of the
// model in the file def also by "". A model that answers by others has the smallest of
// theirs. A model without one is left out. files are by path; faults are for whoever reads
// them as models.
func Of(files map[string][]byte, def string) map[string]int {
	all := map[string]model{}
	for file, data := range files {
		if m, ok := read(file, data); ok {
			all[nameOf(file)] = m
		}
	}
	out := map[string]int{}
	for name := range all {
		if n := least(all, name, map[string]bool{}); n > 0 {
			out[name] = n
			if def != "" && name == nameOf(def) {
				out[""] = n
			}
		}
	}
	return out
}

// model is what counts here of a file.
type model struct {
	own   int      // 0 = it says none
	names []string // models that answer for it
}

func read(file string, data []byte) (m model, ok bool) {
	doc := source.Parse(file, data, source.Limits{}, &source.Report{})
	if doc == nil {
		return m, false
	}
	fields, _ := doc.Root.Value().(map[string]any)
	switch kind, _ := fields["kind"].(string); kind {
	case "route":
		m.use(fields["route"])
		m.use(fields["fallback"])
	case "replay", "faulty", "surrogate":
		name, _ := fields["model"].(string)
		m.names = []string{name}
	default: // of a protocol; other files have no such field
		m.own = whole(fields["context"])
	}
	return m, true
}

// whole is a whole number as decoding reads it: 3.2e4 is 32000; 0 = it is none.
func whole(v any) int {
	switch n := v.(type) {
	case int64:
		return int(n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int(n)
		}
	}
	return 0
}

// use notes the models that entries of a route name.
func (m *model) use(entries any) {
	list, _ := entries.([]any)
	for _, v := range list {
		e, _ := v.(map[string]any)
		if name, ok := e["use"].(string); ok {
			m.names = append(m.names, name)
		}
	}
}

func least(all map[string]model, name string, seen map[string]bool) int {
	m, ok := all[name]
	if !ok || seen[name] {
		return 0
	}
	seen[name] = true
	n := m.own
	for _, other := range m.names {
		if x := least(all, other, seen); x > 0 && (n == 0 || x < n) {
			n = x
		}
	}
	return n
}

func nameOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
