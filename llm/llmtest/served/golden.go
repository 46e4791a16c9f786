package served

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
	"tavernsim/protocol/picture"
)

// Conversation plays a txtar archive with the words of a real server and gives what the
// archive ought to be. It begins with "endpoint", the definition of the endpoint in a
// user's file. Then come exchanges: "request", in the words of the engine; "wire", the
// bytes that the server must get; "response", what it says: status, headers, an empty
// line, body; "answer", what the provider makes of it. A request that is not sent has
// neither wire nor response.
func Conversation(t *testing.T, make Maker, text string) string {
	a := txtar.Parse([]byte(text))
	if len(a.Files) == 0 || a.Files[0].Name != "endpoint" {
		t.Fatal("the archive does not begin with an endpoint")
	}
	s := &stage{}
	to := At(t, s, definition(t, a.Files[0].Data))
	played := a.Files[:1:1]
	for rest := a.Files[1:]; len(rest) > 0; {
		n := 1 + slices.IndexFunc(rest[1:], func(f txtar.File) bool { return f.Name == "request" })
		if n == 0 {
			n = len(rest)
		}
		played = append(played, s.exchange(t, make, to, section(rest[:n], "request"), section(rest[:n], "response"))...)
		rest = rest[n:]
	}
	a.Files = played
	return string(txtar.Format(a))
}

func section(files []txtar.File, name string) []byte {
	i := slices.IndexFunc(files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return files[i].Data
}

// definition reads an endpoint as a user's file has it.
func definition(t *testing.T, data []byte) endpoint.Definition {
	t.Helper()
	text := "endpoints:\n  test:\n    " + strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n    ")
	f, err := endpoint.Read("providers.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.Endpoints["test"]
}

// stage is a server that says what it is given and keeps what it heard.
type stage struct {
	response []byte
	heard    bytes.Buffer
	last     protocol.ModelMessage // what the model said before
}

// ServeHTTP implements http.Handler.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(&s.heard, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range r.Header {
			if !yield(name) {
				return
			}
		}
	}) {
		if !slices.Contains([]string{"Accept-Encoding", "Content-Length", "User-Agent"}, name) {
			fmt.Fprintf(&s.heard, "%s: %s\n", name, strings.ReplaceAll(r.Header.Get(name), Key, "[key]"))
		}
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(&s.heard, "\n%s\n", body)
	head, body, _ := bytes.Cut(s.response, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		w.Header().Set(name, value)
	}
	status, _ := strconv.Atoi(lines[0])
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// exchange asks one question and shows the sections that it ought to have.
func (s *stage) exchange(t *testing.T, make Maker, to *endpoint.Endpoint, request, response []byte) []txtar.File {
	var q question
	d := yaml.NewDecoder(bytes.NewReader(request))
	d.KnownFields(true)
	if err := d.Decode(&q); err != nil {
		t.Fatalf("%v in\n%s", err, request)
	}
	s.response = response
	s.heard.Reset()
	var said strings.Builder
	parts := 0
	a, err := make(to, q.Model, q.Stream).Complete(context.Background(), q.request(t, s.last), func(c llm.Chunk) error {
		said.WriteString(c.Text)
		if c.Call == nil {
			parts++
		}
		return nil
	})
	if err == nil && said.String() != a.Text {
		t.Errorf("the chunks say %q, the answer %q", said.String(), a.Text)
	}
	s.last = protocol.ModelMessage{Role: protocol.RoleAssistant, Text: a.Text, Calls: a.Calls}
	files := []txtar.File{{Name: "request", Data: request}}
	if s.heard.Len() > 0 {
		files = append(files, txtar.File{Name: "wire", Data: bytes.Clone(s.heard.Bytes())}, txtar.File{Name: "response", Data: response})
	}
	return append(files, txtar.File{Name: "answer", Data: []byte(shown(t, &a, err, parts))})
}

// question is a request as archives write it.
type question struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role   protocol.Role // "before" = what the model said in the exchange before
		Text   string
		Call   string   // that a tool answers
		Images []string // data: URIs
	}
	Tools []struct {
		Name, Description string
		Parameters        any
	}
	MaxTokens   int `yaml:"max_tokens"`
	Temperature *float64
	TopP        *float64 `yaml:"top_p"`
	Seed        *int64
	Stop        []string
	JSON        bool
	Effort      string
	Schema      any
	Choice      string
	Parallel    *bool
	Extra       map[string]any
}

func (q *question) request(t *testing.T, before protocol.ModelMessage) *protocol.ModelRequest {
	r := &protocol.ModelRequest{MaxTokens: q.MaxTokens, Temperature: q.Temperature, Stop: q.Stop, JSON: q.JSON}
	value := func(v any) any {
		n, err := protocol.Normalize(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, m := range q.Messages {
		if m.Role == "before" {
			r.Messages = append(r.Messages, before)
			continue
		}
		out := protocol.ModelMessage{Role: m.Role, Text: m.Text, CallID: m.Call}
		for _, uri := range m.Images {
			image, err := picture.Read(map[string]any{"uri": uri})
			if err != nil {
				t.Fatal(err)
			}
			out.Images = append(out.Images, image)
		}
		r.Messages = append(r.Messages, out)
	}
	r.Picture = func(i *protocol.Image) ([]byte, error) {
		_, data, _ := strings.Cut(i.URI, ",")
		return base64.StdEncoding.DecodeString(data)
	}
	for _, x := range q.Tools {
		r.Tools = append(r.Tools, protocol.ToolSpec{Name: x.Name, Description: x.Description, Parameters: value(x.Parameters)})
	}
	o := protocol.ModelOptions{TopP: q.TopP, Seed: q.Seed, Effort: q.Effort, Schema: value(q.Schema), ToolChoice: q.Choice, Parallel: q.Parallel}
	if q.Extra != nil {
		o.Extra, _ = value(q.Extra).(map[string]any)
	}
	r.Options = &o
	return r
}

// shown is an answer, or a failure, as text.
func shown(t *testing.T, a *protocol.ModelAnswer, err error, parts int) string {
	var b strings.Builder
	line := func(name string, v any) {
		if v := fmt.Sprint(v); v != "" && v != "0" && v != "0s" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if f := (*llm.Failure)(nil); err != nil {
		if !errors.As(err, &f) {
			t.Fatalf("%v is no failure", err)
		}
		line("outcome", f.Outcome)
		line("retry after", f.RetryAfter)
		line("error", f.Message)
		return b.String()
	}
	line("finish", a.Finish)
	line("model", a.Model)
	line("text", a.Text)
	line("reasoning", a.Reasoning)
	for _, c := range a.Calls {
		params, err := json.Marshal(c.Params)
		if err != nil {
			t.Fatal(err)
		}
		if c.Broken != "" {
			params = []byte("broken " + c.Broken)
		}
		line("call "+c.ID, c.Tool+" "+string(params))
	}
	line("refused", a.Origin.Refused)
	u := a.Usage
	line("input", u.Input)
	line("cache read", u.CacheRead)
	line("cache write", u.CacheWrite)
	line("output", u.Output)
	line("reasoning tokens", u.Reasoning)
	if u.Estimated {
		line("tokens", "estimated")
	}
	line("id", a.Origin.ID)
	line("fingerprint", a.Origin.Fingerprint)
	line("parts", parts)
	return b.String()
}
