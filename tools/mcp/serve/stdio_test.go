package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// spoken is what a server writes until it has written a text.
func spoken(t *testing.T, sent, until string) (text string) {
	t.Helper()
	theirs, in := io.Pipe()
	out, mine := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- New(offer(nil)).Stdio(context.Background(), theirs, mine) }()
	go io.WriteString(in, sent)
	lines := bufio.NewScanner(out)
	for !strings.Contains(text, until) && lines.Scan() {
		text += lines.Text() + "\n"
	}
	in.Close()
	go io.Copy(io.Discard, out) // an answer may still be on its way
	if err := <-ended; err != nil || !strings.Contains(text, until) {
		t.Errorf("%s: %s: the server ended with %v", sent, text, err)
	}
	return text
}

// Promise 5: over stdio what is no message has an answer, and the server goes on.
func TestLinesThatAreNoMessages(t *testing.T) {
	const ping = `{"jsonrpc": "2.0", "id": "last", "method": "ping"}`
	parse, invalid := int64(-32700), int64(-32600)
	for _, c := range []struct {
		line, id string
		code     int64 // 0 = the line is left out
	}{
		{`{"jsonrpc": "2.0", "id": 1`, "null", parse},
		{`hello`, "null", parse},
		{`{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}`, "null", parse},
		{`{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}`, "null", parse},
		{`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": 1, "\u0061": 2}}}`, "null", parse},
		{`{"jsonrpc": "1.0", "id": 7, "method": "ping"}`, "7", invalid},
		{`{"id": "x", "method": "ping"}`, `"x"`, invalid},
		{`{"jsonrpc": "2.0", "id": 18.5, "method": "ping"}`, "18.5", invalid},
		{`{"jsonrpc": "2.0", "id": 9007199254740993, "method": "ping"}`, "9007199254740993", invalid},
		{`{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}`, "1e999", invalid},
		{`{"jsonrpc": "2.0", "id": true, "method": "ping"}`, "null", invalid},
		{`{"jsonrpc": "2.0", "id": null, "method": "ping"}`, "null", invalid},
		{`{"jsonrpc": "2.0", "id": 7, "method": 7}`, "7", invalid},
		{`{"jsonrpc": "2.0"}`, "null", invalid},
		{`{}`, "null", invalid},
		{`7`, "null", invalid},
		{`null`, "null", invalid},
		{`[]`, "null", invalid},
		{`[` + ping + `]`, "null", invalid},
		{`{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}}`, "", 0},
		{`{"jsonrpc": "2.0", "id": 18.5, "result": {}}`, "", 0},
		{`{"jsonrpc": "1.0", "id": 1, "error": 7}`, "", 0},
		{`{"jsonrpc": "2.0", "id": "long", "method": "ping", "params": {"x": "` + strings.Repeat("x", MaxMessage) + `"}}`, `"long"`, invalid},
		{`{"jsonrpc": "2.0", "id": 18, "result": {"x": "` + strings.Repeat("x", MaxMessage) + `"}}`, "", 0},
	} {
		out := spoken(t, beginning+"\n"+c.line+"\n"+ping+"\n", `"id":"last"`)
		id, code := "", int64(0)
		for line := range strings.Lines(out) {
			var got struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Error   *struct {
					Code    int64  `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Version != "2.0" {
				t.Errorf("%s: %q %v", c.line, line, err)
			}
			if got.Error != nil {
				id, code = string(got.ID), got.Error.Code
			}
		}
		if id != c.id || code != c.code {
			t.Errorf("%s: %s", c.line, out)
		}
	}
}

// Lists of messages are of the versions that know them.
func TestLists(t *testing.T) {
	known, ping := strings.Replace(beginning, "2025-11-25", "2025-03-26", 1), `{"jsonrpc": "2.0", "id": 7, "method": "ping"}`
	for _, list := range []string{`[]`, `[7]`, `[` + ping + `, {"jsonrpc": "1.0"}]`, `[` + ping + `, ` + ping + `]`, `[` + ping + `, {"jsonrpc": "2.0", "method": "notifications/initialized"}]`} {
		out := spoken(t, known+"\n"+list+"\n"+ping+"\n", `"id":7`)
		if !strings.Contains(out, "-32600") {
			t.Errorf("%s: %s", list, out)
		}
	}
	for version, want := range map[string]string{"2025-03-26": `[{"jsonrpc":"2.0","id":7,"result":{}}]`, "2025-06-18": "-32600", "2025-11-25": "-32600"} {
		text := strings.Replace(beginning, "2025-11-25", version, 1) + "\n" + `[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]` + "\n"
		spoken(t, text, want)
	}
}

// Parameters are an object, or nothing.
func TestParameters(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `[1]`: "not a list", `"x"`: "not a text", `7`: "not a number", `true`: "not true or false",
	} {
		params, err := parameters(json.RawMessage(text))
		switch {
		case want == "" && (err != nil || params == nil):
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)):
			t.Errorf("%s: %v; want … %s", text, err, want)
		}
	}
}
