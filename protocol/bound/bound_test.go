package bound

import (
	"encoding/json"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// The bound counts every part of a prompt that a model reads, at least a token for each
// byte of it, whatever JSON writes it.
func TestPrompt(t *testing.T) {
	ugly := "a\"\\\n\x01\u4f60\U0001f600" + string(rune(0x7f))
	params := map[string]any{ugly: []any{ugly, int64(-1 << 63), -1.7976931348623157e308, true, nil, map[string]any{}}}
	text, err := json.MarshalIndent(params, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	ascii := 0
	for _, r := range string(text) {
		switch {
		case r >= 1<<16:
			ascii += 12
		case r >= 0x7f:
			ascii += 6
		default:
			ascii++
		}
	}
	ascii -= strings.Count(string(text), "    ") * 3 // a token for an indentation
	if n := jsonBound(params); n < ascii || n > 3*ascii {
		t.Errorf("%d for %d bytes", n, ascii)
	}
	empty := Prompt(&protocol.ModelRequest{})
	for part, q := range map[string]protocol.ModelRequest{
		"text":    {Messages: []protocol.ModelMessage{{Text: strings.Repeat("x", 1000)}}},
		"call":    {Messages: []protocol.ModelMessage{{Calls: []protocol.Call{{Tool: "t", Params: map[string]any{"x": strings.Repeat("x", 1000)}}}}}},
		"broken":  {Messages: []protocol.ModelMessage{{Calls: []protocol.Call{{Tool: "t", Broken: strings.Repeat("x", 1000)}}}}},
		"tool":    {Tools: []protocol.ToolSpec{{Name: "t", Description: strings.Repeat("x", 500), Parameters: map[string]any{"x": strings.Repeat("x", 500)}}}},
		"schema":  {Options: &protocol.ModelOptions{Schema: map[string]any{"x": strings.Repeat("x", 1000)}}},
		"extra":   {Options: &protocol.ModelOptions{Extra: map[string]any{"x": []any{strings.Repeat("x", 1000)}}}},
		"numbers": {Tools: []protocol.ToolSpec{{Parameters: map[string]any{"maximum": 7, "title": strings.Repeat("x", 1000)}}}},
	} {
		if n := Prompt(&q) - empty; n < 1000 || n > 1200 {
			t.Errorf("%s: %d", part, n)
		}
	}
	if n := Prompt(&protocol.ModelRequest{Messages: make([]protocol.ModelMessage, 3), Tools: make([]protocol.ToolSpec, 2)}); n < 3*16+2*64 {
		t.Errorf("messages and tools without text: %d", n)
	}
}

func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		left   int64
		limit  int
		shares int64
		want   int64
	}{
		{100_000, 0, 8, 12_500}, {100_000, 0, 1, 100_000}, {100_000, 0, 0, 100_000}, {4000, 0, 8, 1024}, {100, 0, 8, 100}, {16, 0, 8, 16}, {15, 0, 8, 0}, {-5, 0, 8, 0},
		{100_000, 50, 8, 50}, {40, 50, 8, 40}, {15, 50, 8, 0}, {15, 8, 8, 8}, {8, 8, 8, 8}, {7, 8, 8, 0}, {-1, 8, 8, 0},
	} {
		if got := Answer(c.left, c.limit, c.shares); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
