package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Bounds of what Differs says.
const (
	maxDiffering = 3  // fields
	maxShown     = 80 // bytes of a value, and of the path of a field
	maxSame      = 16 // bytes that are shown of what both texts begin with
)

// Differs says which fields of a tool are others than in its pin: each with what it was and what it is. "" = none.
func (p *Pinned) Differs(now *Pinned) string {
	var list []string
	compare(&list, "description", p.Description, now.Description)
	compare(&list, "inputSchema", value(p.InputSchema), value(now.InputSchema))
	compare(&list, "outputSchema", value(p.OutputSchema), value(now.OutputSchema))
	if more := len(list) - maxDiffering; more > 0 {
		list = append(list[:maxDiffering], fmt.Sprintf("and %d fields more", more))
	}
	return strings.Join(list, "; ")
}

func value(schema map[string]any) any {
	if schema == nil {
		return nil
	}
	return schema
}

// compare adds the fields in which two values differ, down to what is no object in both.
func compare(list *[]string, path string, was, is any) {
	before, isMap := was.(map[string]any)
	after, areMaps := is.(map[string]any)
	if isMap && areMaps {
		names := slices.Concat(protocol.SortedKeys(before), protocol.SortedKeys(after))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			compare(list, path+"."+name, before[name], after[name])
		}
		return
	}
	x, y := written(was), written(is)
	if x == y {
		return
	}
	from := 0
	if a, b := quoted(x), quoted(y); a && b {
		for from < min(len(x), len(y)) && x[from] == y[from] {
			from++
		}
		if from -= maxSame; from > 0 {
			for !utf8.RuneStart(x[from]) {
				from--
			}
		}
	}
	*list = append(*list, fmt.Sprintf("%s was %s, is %s", protocol.Short(path, maxShown), shown(x, from), shown(y, from)))
}

// written is a value as JSON; "" = there is none.
func written(v any) string {
	if v == nil || v == "" {
		return ""
	}
	b, _ := json.Marshal(v) // a value; keys are sorted
	return string(b)
}

func quoted(text string) bool { return strings.HasPrefix(text, `"`) }

func shown(text string, from int) string {
	if text == "" {
		return "not there"
	}
	if from > 0 {
		text = "…" + text[from:]
	}
	return protocol.Short(text, maxShown)
}
