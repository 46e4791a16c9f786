package scripted

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

const docs = "../../docs/formats/model.md"

// The examples of docs/formats/model.md do what the page says: every script
// loads, every request gets the answer below it. Rewrite the answers with:
// go test ./llm/scripted -run Docs -update
func TestDocsExamples(t *testing.T) {
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(raw), "```")
	var m *Model
	req, answers := "", 0
	for i := 1; i < len(parts); i += 2 {
		kind, body, _ := strings.Cut(parts[i], "\n")
		switch kind {
		case "yaml":
			m = load(t, body)
		case "json request":
			req = body
		case "text answer":
			answers++
			got := say(t, m, req)
			if got != strings.TrimSpace(body) && !*update {
				t.Errorf("%s\ngot  %s\nwant %s", req, got, body)
			}
			parts[i] = kind + "\n" + got + "\n"
		default:
			t.Errorf("unknown block %q", kind)
		}
	}
	if answers < 10 {
		t.Errorf("%d examples", answers)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(strings.Join(parts, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every field, name and function is on the page.
func TestDocsAreComplete(t *testing.T) {
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	want := append(roots(), protocol.SortedKeys(functions())...)
	for _, typ := range []reflect.Type{reflect.TypeFor[Script](), reflect.TypeFor[Rule](), reflect.TypeFor[Match](), reflect.TypeFor[Answer](),
		reflect.TypeFor[Call](), reflect.TypeFor[Latency](), reflect.TypeFor[Failures]()} {
		for field := range typ.Fields() {
			want = append(want, jsonName(field))
		}
	}
	for _, name := range want {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+" ") {
			t.Errorf("%s lacks `%s`", docs, name)
		}
	}
}
