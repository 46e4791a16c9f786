package mock

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tavernsim/llm/mock/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files, and what is generated in docs/mock-llm.md")

const docs = "../../docs/mock-llm.md"

// The page docs/mock-llm.md: its requests get the answers below them, and its table
// of faults is the catalogue.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	head := "| fault | answers | what the client sees |\n|---|---|---|\n"
	before, rest, _ := strings.Cut(text, head)
	_, after, _ := strings.Cut(rest, "\n\n")
	text = before + head + faultTable() + "\n" + after
	parts := strings.Split(text, "```")
	o, answers := Options{Seed: 7}, 0
	var s *Server
	got := ""
	for i := 1; i < len(parts); i += 2 {
		kind, body, _ := strings.Cut(parts[i], "\n")
		path, isRequest := strings.CutPrefix(kind, "json POST ")
		switch {
		case kind == "yaml":
			o, s = Options{Seed: 7, Model: script(t, body)}, nil
		case kind == "text faults":
			if o.Faults, err = ParseFaults(strings.TrimSpace(body)); err != nil {
				t.Fatal(err)
			}
			s = nil
		case isRequest:
			if s == nil {
				s = serve(t, o)
			}
			got = ask(s, path, strings.TrimSpace(body)).Body.String()
		case kind == "json answer":
			var b bytes.Buffer
			if err := json.Indent(&b, []byte(got), "", "  "); err != nil {
				t.Errorf("%v: %s", err, got)
			}
			answers++
			parts[i] = kind + "\n" + b.String() + "\n"
		case kind == "text answer":
			answers++
			parts[i] = kind + "\n" + strings.TrimSpace(got) + "\n"
		default:
			t.Errorf("unknown block %q", kind)
		}
	}
	if text = strings.Join(parts, "```"); answers < 5 {
		t.Errorf("%d examples", answers)
	}
	if *update {
		err = os.WriteFile(docs, []byte(text), 0o644)
	} else if text != string(raw) {
		t.Errorf("%s is not what the server does; go test ./llm/mock -run Docs -update rewrites it", docs)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func faultTable() string {
	var b strings.Builder
	for _, k := range catalogue() {
		var forms []string
		for _, f := range []struct {
			form wire.Form
			name string
		}{{wire.All, "all"}, {wire.Spoken, "chat, messages"}, {wire.Streams, "streams"}, {wire.Spoken &^ wire.MessagesPlain, "chat, streams of messages"}} {
			if k.form == f.form {
				forms = append(forms, f.name)
			}
		}
		b.WriteString("| `" + k.Name + "` | " + strings.Join(forms, "?") + " | " + k.Doc + " |\n")
	}
	return b.String()
}

// The tables of docs/mock-llm.md list the fields of what the server writes as JSON, the names
// of outcomes, and the metrics, which keep to the rules of Prometheus.
func TestDocsAreComplete(t *testing.T) {
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	var want []string
	for _, typ := range []reflect.Type{reflect.TypeFor[Report](), reflect.TypeFor[Asked](), reflect.TypeFor[Request]()} {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want = append(want, name)
		}
	}
	for o := range outcomes {
		want = append(want, o.String())
	}
	s := serve(t, Options{})
	ask(s, "/v1/chat/completions", chatBody("x"))
	text := ask(s, "/metrics", "").Body.Bytes()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name := range families {
		want = append(want, name)
	}
	for _, name := range want {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s lacks `%s`", docs, name)
		}
	}
	for _, m := range regexp.MustCompile("`(mock_llm_\\w+)`").FindAllStringSubmatch(page, -1) {
		if families[m[1]] == nil {
			t.Errorf("%s lists %s, which there is not", docs, m[1])
		}
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if len(problems) > 0 || err != nil {
		t.Error(problems, err)
	}
}
