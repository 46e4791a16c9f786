package tavernsim

import (
	"go/ast"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// jsonOfCommands are the structs below cmd/simd that commands write as JSON, with the section of
// docs/cli.md that names their fields.
func jsonOfCommands() map[string]string {
	return map[string]string{
		"main.template": "simd init", "views.shownFile": "simd files show",
		"kb.measured": "simd kb bench", "kb.figures": "simd kb bench", "kb.hitLine": "simd kb search",
		"cli.Validation": "simd validate", "cli.Fault": "simd validate", "cli.VersionInfo": "simd version",
		"tool.madePlugin": "simd plugin new", "tool.toolLine": "simd tool list", "tool.askedLine": "simd tool grant",
		"tool.pinned": "simd mcp pin", "tool.pinnedTool": "simd mcp pin", "live.approved": "simd approve",
	}
}

// TestJSONOfCommands: the section of a command names each field of what it writes as JSON.
func TestJSONOfCommands(t *testing.T) {
	parts, known := sections(read(t, "docs/cli.md"), "## "), jsonOfCommands()
	for _, f := range files(t) {
		if !strings.HasPrefix(f.pkg+"/", "cmd/simd/") {
			continue
		}
		fields := jsonStructs(f)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			section, some := known[name]
			if delete(known, name); !some {
				t.Errorf("%s: %s is written as JSON: name its fields in the section of its command in docs/cli.md, and that section in jsonOfCommands (docs_commands_test.go)", f.path, name)
				continue
			}
			for _, field := range fields[name] {
				if !regexp.MustCompile("`[^`\n]*\\b" + field + "\\b[^`\n]*`").MatchString(parts[section]) {
					t.Errorf("docs/cli.md: the section about %s lacks the field %s of --json (%s in %s)", section, field, name, f.path)
				}
			}
		}
	}
	for name := range known {
		t.Errorf("there is no struct %s with json tags: take it out of jsonOfCommands", name)
	}
}

// jsonStructs are the structs of a file with json tags, and the names in those.
func jsonStructs(f file) map[string][]string {
	found := map[string][]string{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		typ, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := typ.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, x := range fields.Fields.List {
			if x.Tag == nil {
				continue
			}
			tag, _ := strconv.Unquote(x.Tag.Value)
			if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name != "" && name != "-" {
				key := f.tree.Name.Name + "." + typ.Name.Name
				found[key] = append(found[key], name)
			}
		}
		return true
	})
	return found
}
