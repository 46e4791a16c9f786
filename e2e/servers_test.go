// Package e2e_test tests simd with servers of other projects. Each test is skipped if its
// server is absent:
//
//	SIMD_TEST_LLMOCK     the program llmock of the npm package @copilotkit/aimock
//	SIMD_TEST_INFERENCE  base URL of an inference server with chat completions or messages, up to the
//	                     version: http://127.0.0.1:11434/v1
//	SIMD_TEST_MODEL      the model to ask there
//	SIMD_TEST_OLLAMA     the program ollama, in place of the two above: it is started with the
//	                     model of parrot_test.go, which needs no download
//	SIMD_TEST_MCP        a folder node_modules with the npm packages
//	                     @modelcontextprotocol/server-everything, …/server-filesystem and …/sdk
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/anthropic"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/openai"
	"tavernsim/protocol"
)

// server is a foreign server.
type server struct {
	url   string
	model string
	mock  bool   // it answers from e2e/testdata/llmock.json
	says  string // what it answers if it calls no tool; empty = not known
}

func (s *server) provider(t *testing.T, speaks string, stream bool) llm.Provider {
	t.Helper()
	to, err := endpoint.New("foreign", endpoint.Definition{Protocol: speaks, BaseURL: s.url, Auth: "none"}, t.TempDir(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close() })
	if speaks == "anthropic" {
		return anthropic.New(to, s.model, stream)
	}
	return openai.New(to, s.model, stream)
}

// llmock starts the mock.
func llmock(t *testing.T) *server {
	program := os.Getenv("SIMD_TEST_LLMOCK")
	if program == "" {
		t.Skip("SIMD_TEST_LLMOCK names no program")
	}
	address := serve(t, func(ctx context.Context, _, port string) *exec.Cmd {
		return exec.CommandContext(ctx, program, "--port", port, "--fixtures", "testdata/llmock.json", "--log-level", "warn")
	})
	return &server{url: "http://" + address + "/v1", model: "any", mock: true}
}

// ollama starts an inference server whose one model is the parrot.
func ollama(t *testing.T, program string) *server {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"parrot.gguf": parrot(),
		"Modelfile":   []byte("FROM " + dir + "/parrot.gguf\nTEMPLATE \"\"\"" + parrotForm + "\"\"\"\nPARAMETER temperature 0\nPARAMETER num_thread 1\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(ctx context.Context, address string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, program, args...)
		c.Env = []string{"HOME=" + dir, "OLLAMA_MODELS=" + dir + "/models", "OLLAMA_HOST=" + address, "PATH=" + os.Getenv("PATH")}
		return c
	}
	address := serve(t, func(ctx context.Context, address, _ string) *exec.Cmd { return command(ctx, address, "serve") })
	create := command(t.Context(), address, "create", "parrot", "-f", filepath.Join(dir, "Modelfile"))
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("ollama create: %v\n%s", err, out)
	}
	return &server{url: "http://" + address + "/v1", model: "parrot", says: strings.ReplaceAll(parrotSays, "|", "")}
}

// serve starts a server on a free port and waits until it listens. It ends with the test.
func serve(t *testing.T, command func(ctx context.Context, address, port string) *exec.Cmd) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(address)
	lives, end := context.WithCancel(context.Background())
	c := command(lives, address, port)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(os.Interrupt) }, 10*time.Second // then it is killed
	if err := c.Start(); err != nil {
		end()
		t.Fatal(err)
	}
	t.Cleanup(func() { end(); _ = c.Wait() })
	ctx, cancel := context.WithTimeout(lives, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return address
		}
		<-time.After(50 * time.Millisecond) // another process: nothing here tells when it listens
	}
	t.Fatalf("%s does not listen", c.Path)
	return ""
}

func inference(t *testing.T) *server {
	if program := os.Getenv("SIMD_TEST_OLLAMA"); program != "" {
		return ollama(t, program)
	}
	s := &server{url: os.Getenv("SIMD_TEST_INFERENCE"), model: os.Getenv("SIMD_TEST_MODEL")}
	if s.url == "" {
		t.Skip("SIMD_TEST_INFERENCE names no server")
	}
	return s
}

// Both protocols of the mock and of the inference server, if it speaks both: text, tools with
// their results, JSON, whole and as streams.
func TestForeignServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		start  func(*testing.T) *server
		speaks []string
	}{{"llmock", llmock, []string{"openai", "anthropic"}}, {"inference", inference, []string{"openai", "anthropic"}}} {
		t.Run(c.name, func(t *testing.T) {
			s := c.start(t)
			for _, speaks := range c.speaks {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s stream=%v", speaks, stream), func(t *testing.T) { s.talk(t, speaks, stream) })
				}
			}
		})
	}
}

func (s *server) talk(t *testing.T, speaks string, stream bool) {
	if speaks == "anthropic" && !s.mock && !s.serves(t, "/messages") {
		t.Skip("the server does not speak messages")
	}
	p := s.provider(t, speaks, stream)
	ask := func(q protocol.ModelRequest) protocol.ModelAnswer {
		t.Helper()
		var said strings.Builder
		q.MaxTokens = 64
		a, err := p.Complete(t.Context(), &q, func(c llm.Chunk) error { said.WriteString(c.Text); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if said.String() != a.Text {
			t.Errorf("the chunks say %q, the answer %q", said.String(), a.Text)
		}
		counted := !stream && (speaks == "openai" || !s.mock) // the mock counts no tokens of messages
		if a.Usage.Input <= 0 || a.Usage.Output <= 0 || a.Usage.Estimated && counted {
			t.Errorf("usage %+v", a.Usage)
		}
		return a
	}
	question := protocol.ModelMessage{Role: protocol.RoleUser, Text: "say where the ferry is"}
	a := ask(protocol.ModelRequest{Messages: []protocol.ModelMessage{question}})
	if a.Text == "" || s.mock && a.Text != "The ferry is on the other bank. 渡船在对岸。" || s.says != "" && a.Text != s.says {
		t.Errorf("it says %q", a.Text)
	}
	if speaks == "openai" && !stream {
		exact := new(float64)
		a := ask(protocol.ModelRequest{Messages: []protocol.ModelMessage{question}, Temperature: exact})
		if u := s.bareUsage(t, question.Text); u.Input != a.Usage.Input || u.Output != a.Usage.Output {
			t.Errorf("usage %+v, the server says %+v", a.Usage, u)
		}
		s.embeds(t)
	}
	a = ask(protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "answer in JSON: which side?"}}, JSON: true})
	if !json.Valid([]byte(a.Text)) && s.mock {
		t.Errorf("no JSON: %q", a.Text)
	}
	if !s.mock && speaks == "openai" {
		s.schema(t, ask)
	}
	look := protocol.ToolSpec{Name: "look_around", Description: "See what is in a direction", Parameters: map[string]any{
		"type": "object", "properties": map[string]any{"direction": map[string]any{"type": "string"}}, "required": []any{"direction"},
	}}
	talk := []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "What is in the north? Use the tool."}}
	a = ask(protocol.ModelRequest{Messages: talk, Tools: []protocol.ToolSpec{look}})
	if len(a.Calls) == 0 && !s.mock && s.says == "" {
		t.Log("the model calls no tool")
		return
	}
	if a.Finish == protocol.FinishLength && !s.mock && s.says == "" {
		t.Log("the model calls tools until it is cut off")
		return
	}
	if len(a.Calls) != 1 || a.Calls[0].Tool != "look_around" || a.Calls[0].ID == "" || (s.mock || s.says != "") && a.Calls[0].Params["direction"] != "north" || a.Finish != protocol.FinishToolCalls {
		t.Fatalf("calls %+v, finish %s", a.Calls, a.Finish)
	}
	talk = append(talk, protocol.ModelMessage{Role: protocol.RoleAssistant, Text: a.Text, Calls: a.Calls},
		protocol.ModelMessage{Role: protocol.RoleTool, CallID: a.Calls[0].ID, Text: `{"seen":"a ferry"}`})
	a = ask(protocol.ModelRequest{Messages: talk, Tools: []protocol.ToolSpec{look}})
	if a.Text == "" || s.mock && a.Text != "North: a ferry." || s.says != "" && a.Text != s.says {
		t.Errorf("after the tool's result it says %q", a.Text)
	}
}

// schema asks for JSON of a form. An answer that is not cut has it.
func (s *server) schema(t *testing.T, ask func(protocol.ModelRequest) protocol.ModelAnswer) {
	t.Helper()
	form := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"side"},
		"properties": map[string]any{"side": map[string]any{"type": "string", "enum": []any{"left", "right"}}},
	}
	a := ask(protocol.ModelRequest{
		Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "answer in JSON: which side?"}},
		JSON:     true, Options: &protocol.ModelOptions{Schema: form},
	})
	var said struct{ Side string }
	if err := json.Unmarshal([]byte(a.Text), &said); a.Finish != protocol.FinishLength && (err != nil || said.Side != "left" && said.Side != "right") {
		t.Errorf("%q is not of the form: %v", a.Text, err)
	}
}

// embeds asks for the vectors of texts, if the server has any of the model.
func (s *server) embeds(t *testing.T) {
	t.Helper()
	to, err := endpoint.New("foreign", endpoint.Definition{Protocol: "openai", BaseURL: s.url, Auth: "none", Embed: s.model}, t.TempDir(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	v, err := openai.NewEmbedder(to, s.model).Embed(t.Context(), "the ferry is on the other bank", "wind")
	if err != nil {
		t.Logf("no vectors: %v", err)
		return
	}
	if len(v.List) != 2 || v.Dimensions() == 0 || v.Usage.Input <= 0 || slices.Equal(v.List[0], v.List[1]) {
		t.Errorf("%d vectors of %d numbers, usage %+v", len(v.List), v.Dimensions(), v.Usage)
	}
}

// serves reports whether the server has a path of questions. Some say of an empty one, too, that
// they have not found it.
func (s *server) serves(t *testing.T, path string) bool {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"model": s.model, "max_tokens": 1, "messages": []any{map[string]any{"role": "user", "content": "say where the ferry is"}}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed
}

// bareUsage asks without our client.
func (s *server) bareUsage(t *testing.T, text string) protocol.Usage {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"model": s.model, "max_tokens": 64, "temperature": 0, "messages": []any{map[string]any{"role": "user", "content": text}}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	var x struct {
		Usage struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Usage{Input: x.Usage.In, Output: x.Usage.Out}
}
