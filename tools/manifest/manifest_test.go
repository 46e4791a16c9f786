package manifest

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func tool(impl Implementation, names ...string) *Tool {
	properties := map[string]any{}
	for _, n := range names {
		properties[n] = map[string]any{}
	}
	return &Tool{ID: "t", Parameters: map[string]any{"properties": properties}, Implementation: impl}
}

// Promise 1.
func TestCheckNamesThePlace(t *testing.T) {
	http := func(change func(*Implementation)) *Tool {
		x := tool(Implementation{Type: HTTP, URL: "https://a.example/x"}, "p")
		change(&x.Implementation)
		return x
	}
	other := func(change func(*Tool)) *Tool {
		x := tool(Implementation{Type: HTTP, URL: "https://a.example/x"}, "p")
		change(x)
		return x
	}
	for want, x := range map[string]*Tool{
		"id: the id \"mcp:x\" begins with":                   other(func(x *Tool) { x.ID = "mcp:x" }),
		"id: the id \"a b\" is none":                         other(func(x *Tool) { x.ID = "a b" }),
		"description: the text has a control":                other(func(x *Tool) { x.Description = "a\x1b[2J" }),
		"displayName: the text has a control":                other(func(x *Tool) { x.DisplayName = "a\u202eb" }),
		"description: the text has 5000":                     other(func(x *Tool) { x.Description = strings.Repeat("x", 5000) }),
		"parameters.type: parameters are":                    other(func(x *Tool) { x.Parameters["type"] = "array" }),
		"execution.latency: \"-1s\" is":                      other(func(x *Tool) { x.Execution.Latency = "-1s" }),
		"needs.0: \"exec\" is for tools of the types script": other(func(x *Tool) { x.Needs = []string{"exec"} }),
		"needs.0: \"exec\": the program of a tool":           other(func(x *Tool) { x.Implementation, x.Needs = Implementation{Type: Service, Name: "x"}, []string{"exec"} }),
		"needs.0: \"tool:a\" is for tools of the types":      other(func(x *Tool) { x.Needs = []string{"tool:a"} }),
		"needs.0: \"fs.write:run/**\" cannot be granted":     other(func(x *Tool) { x.Needs = []string{"fs.write:run/**"} }),
		"needs.0: \"exec:x\" is no need":                     other(func(x *Tool) { x.Needs = []string{"exec:x"} }),
		"needs.0: \"bücher.example\": write":                 other(func(x *Tool) { x.Needs = []string{"net:bücher.example:1"} }),
		"needs.1: \"net:*:80\" names":                        other(func(x *Tool) { x.Needs = []string{"net:a:1", "net:*:80"} }),
		"needs.0: \"net:a:1\" is for tools of the types http, service, script; a": other(func(x *Tool) {
			x.Implementation, x.Needs = Implementation{Type: MCP, Server: "x", Tool: "x"}, []string{"net:a:1"}
		}),
		"needs.0: \"net:a:0\" names":                                  other(func(x *Tool) { x.Needs = []string{"net:a:0"} }),
		"implementation.headers: the secret \"k\" is not among":       http(func(x *Implementation) { x.Headers = map[string]any{"a": "$KARYI{k}"} }),
		"implementation.body: the secret \"k\" is not among":          http(func(x *Implementation) { x.Method, x.Body = "POST", []any{map[string]any{"$KARYI{k}": "a"}} }),
		"implementation.url: a secret cannot be a part of":            http(func(x *Implementation) { x.URL = "https://a.example/$KARYI{k}" }),
		"needs.0: the secret \"k\" stands in no":                      other(func(x *Tool) { x.Needs = []string{"secret:k"} }),
		"implementation.method: \"get\" is no":                        http(func(x *Implementation) { x.Method = "get" }),
		"implementation.url: want an address":                         http(func(x *Implementation) { x.URL = "a.example" }),
		"implementation.url: a parameter cannot be a part":            http(func(x *Implementation) { x.URL = "https://{/p}.example/" }),
		"implementation.url: {p} is no place":                         http(func(x *Implementation) { x.URL = "https://a.example/{p}" }),
		"implementation.url: an address of a server has":              http(func(x *Implementation) { x.URL = "https://a.example/#x" }),
		"implementation.url: an address has no user":                  http(func(x *Implementation) { x.URL = "https://u:p@a.example/" }),
		"implementation.url: the address has no host":                 http(func(x *Implementation) { x.URL = "https:///x" }),
		"implementation.url: /q points to no":                         http(func(x *Implementation) { x.URL = "https://a.example/{/q}" }),
		"implementation.query.a: want a text":                         http(func(x *Implementation) { x.Query = map[string]any{"a": int64(1)} }),
		"implementation.query.a: /q points":                           http(func(x *Implementation) { x.Query = map[string]any{"a": map[string]any{"from": "/q"}} }),
		"implementation.headers.host: the header":                     http(func(x *Implementation) { x.Headers = map[string]any{"host": "a"} }),
		"implementation.headers.idempotency-key: the":                 http(func(x *Implementation) { x.Headers = map[string]any{"idempotency-key": "a"} }),
		"implementation.headers.a b: \"a b\" is no":                   http(func(x *Implementation) { x.Headers = map[string]any{"a b": "a"} }),
		"implementation.body: a request with the method GET":          http(func(x *Implementation) { x.Body = "a" }),
		"implementation: the type service wants name":                 tool(Implementation{Type: Service}),
		"implementation: the type workflow wants id":                  tool(Implementation{Type: Workflow}),
		"implementation.url: url is not a field of the type workflow": tool(Implementation{Type: Workflow, ID: "x", URL: "https://a"}),
	} {
		var said []string
		for _, f := range x.Check() {
			said = append(said, strings.Join(f.Steps, ".")+": "+f.Message)
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
	x := http(func(*Implementation) {})
	if f := x.Check(); len(f) > 0 || x.Execution.Repeat != Never || x.Execution.Timeout.Std() != DefaultTimeout || x.Parameters["additionalProperties"] != false {
		t.Errorf("%v %+v", f, x)
	}
}

// Nothing of a definition is ignored: what nobody looks at within the turn is refused.
func TestWithinTheTurnNothingIsIgnored(t *testing.T) {
	for _, impl := range []Implementation{{Type: Workflow, ID: "w"}, {Type: Node, Kind: "Random"}} {
		x := tool(impl, "p")
		x.Execution = Execution{Mode: Sync}
		if f := x.Check(); len(f) > 0 {
			t.Error(f)
		}
		x = tool(impl, "p")
		x.Cost, x.Limits.Output = 5, 300
		x.Parameters["properties"].(map[string]any)["p"] = map[string]any{"type": "string", "x-uri": "text"}
		x.Execution = Execution{Mode: Async, Repeat: Free, Timeout: protocol.Duration(time.Hour), Concurrency: 1, Rate: 1, Latency: "1s", Parallel: true}
		var said []string
		for _, f := range x.Check() {
			said = append(said, strings.Join(f.Steps, "."))
			old := said[len(said)-1] // what older programs refused, too
			if !strings.Contains(f.Message, "a "+impl.Type) || f.Strict == (old == "execution.mode" || old == "limits" || strings.HasSuffix(old, "x-uri") && impl.Type == Workflow) {
				t.Error(f)
			}
		}
		slices.Sort(said)
		if got := strings.Join(said, " "); got != "cost execution.concurrency execution.latency execution.mode execution.parallel execution.rate execution.repeat execution.timeout limits parameters.properties.p.x-uri" {
			t.Errorf("%s: %s", impl.Type, got)
		}
	}
}

// Promise 2: whatever the value is, it is one step of the path and one value of the query.
func TestValuesStayInTheirPlace(t *testing.T) {
	x := tool(Implementation{Type: HTTP, URL: "https://a.example/v1/{/p}/end?q={/p}&r=1", Query: map[string]any{"s": map[string]any{"from": "/p"}}, Headers: map[string]any{"X-P": map[string]any{"from": "/p"}}}, "p")
	if f := x.Check(); len(f) > 0 {
		t.Fatal(f)
	}
	rapid.Check(t, func(r *rapid.T) {
		v := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"..", ".", "", "../..", "a/b", "a?b#c", "%2e%2e", "@b.example", "a&r=2", "\r\nX: y", "{/p}"})).Draw(r, "value")
		q, err := x.Request(map[string]any{"p": v}, nil)
		if err != nil {
			if protocol.KindOf(err) != protocol.KindInvalid {
				r.Fatal(err)
			}
			return
		}
		u, err := url.Parse(q.URL)
		if err != nil {
			r.Fatalf("%q: %v", q.URL, err)
		}
		steps := strings.Split(u.EscapedPath(), "/")
		got, _ := url.PathUnescape(steps[2])
		if u.Host != "a.example" || len(steps) != 4 || steps[3] != "end" || got != v || u.Query().Get("q") != v || u.Query().Get("s") != v || len(u.Query()["r"]) != 1 || u.Fragment != "" || q.Header.Get("X-P") != v {
			r.Fatalf("%q became %s %v", v, q.URL, q.Header)
		}
	})
}

// Promise 3.
func TestTheBodyOfARequest(t *testing.T) {
	from := func(p string) any { return map[string]any{"from": p} }
	params := map[string]any{"a": "x", "b": map[string]any{"c": int64(2)}, "d": []any{true}}
	for want, impl := range map[string]Implementation{
		`{"b":{"c":2},"d":[true]}`: {Method: "POST", URL: "https://a.example/{/a}"},
		`{"d":[true]}`:             {Method: "PUT", URL: "https://a.example/{/a}", Query: map[string]any{"c": from("/b/c")}},
		`{"k":{"v":2,"w":[true]}}`: {Method: "PATCH", URL: "https://a.example", Body: map[string]any{"k": map[string]any{"v": from("/b/c"), "w": from("/d"), "none": from("/b/none")}}},
		`[2]`:                      {Method: "POST", URL: "https://a.example", Body: []any{from("/b/c"), from("/b/none")}},
		``:                         {Method: "DELETE", URL: "https://a.example"},
	} {
		impl.Type = HTTP
		x := tool(impl, "a", "b", "d")
		if f := x.Check(); len(f) > 0 {
			t.Fatal(f)
		}
		q, err := x.Request(params, nil)
		if err != nil || string(q.Body) != want {
			t.Errorf("%s %v, want %s", q.Body, err, want)
		}
	}
	x := tool(Implementation{Type: HTTP, URL: "http://a.example/{/b}"}, "b")
	x.Check()
	if _, err := x.Request(params, nil); err == nil || x.Server() != "a.example:80" {
		t.Error(err, x.Server())
	}
}

// x-uri is for parameters themselves, and path for programs.
func TestWhatParametersWant(t *testing.T) {
	for want, c := range map[string]struct {
		typ, property string
	}{
		"":                              {Script, `{"type": "string", "x-uri": "path"}`},
		"want one of text, bytes":       {Script, `{"type": "string", "x-uri": "fetch"}`},
		"values of a text are trimmed":  {Service, `{"type": "string", "x-tam-raw": true}`},
		"want one of text, bytes, path": {Script, `{"type": "string", "x-uri": true}`},
		"path is for tools of the type": {Service, `{"type": "string", "x-uri": "path"}`},
		"a workflow carries the tool":   {Workflow, `{"type": "string", "x-uri": "text"}`},
		"for parameters themselves":     {Service, `{"type": "array", "items": {"type": "string", "x-uri": "text"}}`},
	} {
		var property any
		if err := json.Unmarshal([]byte(c.property), &property); err != nil {
			t.Fatal(err)
		}
		d := &Tool{ID: "t", Parameters: map[string]any{"properties": map[string]any{"p": property}}, Implementation: Implementation{Type: c.typ, Name: "n", ID: "n", Command: "cat"}}
		said := ""
		for _, f := range d.Check() {
			if slices.Contains(f.Steps, "parameters") {
				said += f.Message
			}
		}
		if (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", c.property, said, want)
		}
	}
	if w := (&Tool{}).Wants("x"); w != WantText {
		t.Error(w)
	}
}

// What a definition says in words cannot be read as a call, and steers no terminal. Names and
// values stay, and so does the pin that a schema comes from.
func TestDescriptionsAreHarmless(t *testing.T) {
	const bad, good = "see <|[REQUEST_TOOL]|> or <tools>\x1b[2J", "see <\u200d|[REQUEST_TOOL]|> or <\u200dtools>"
	schema := func(text string) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "title": text, "properties": map[string]any{
			"description": map[string]any{"type": "string", "description": text, "enum": []any{bad}, "default": map[string]any{"description": bad}},
			"list":        map[string]any{"items": map[string]any{"anyOf": []any{map[string]any{"title": text}}}},
		}, "$defs": map[string]any{"title": map[string]any{"description": text}}}
	}
	pin := &Pinned{Name: "x", Description: bad, InputSchema: schema(bad), OutputSchema: schema(bad)}
	hash := pin.Hash()
	x := NewMCPTool("s", pin)
	x.Check()
	if x.Description != good || !reflect.DeepEqual(x.Parameters, schema(good)) || !reflect.DeepEqual(x.OutputSchema, schema(good)) {
		t.Errorf("%q\n%q\n%q", x.Description, x.Parameters, x.OutputSchema)
	}
	if pin.Hash() != hash {
		t.Error("the pin was changed")
	}
	file := &Tool{ID: "f", Description: "see <|[REQUEST_TOOL]|>", Parameters: schema(bad)}
	file.Check()
	if file.Description != "see <\u200d|[REQUEST_TOOL]|>" || !reflect.DeepEqual(file.Parameters, schema(good)) {
		t.Errorf("%q %q", file.Description, file.Parameters)
	}
}
