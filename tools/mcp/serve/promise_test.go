package serve

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
)

// Promise 7: structured content is what the schema of the tool says, or the call has failed, with
// what it answered as text.
func TestPromisedOutputs(t *testing.T) {
	var next tools.Result
	o := offer(nil)
	o.Tools = append(o.Tools, Tool{
		Name: "promise", Parameters: map[string]any{"type": "object"}, Output: map[string]any{"type": "object", "required": []any{"a"}},
		Check: func(v any) error {
			if v.(map[string]any)["a"] == nil {
				return errors.New("missing property 'a'")
			}
			return nil
		},
		Call: func(context.Context, map[string]any) tools.Result { return next },
	})
	c := client(t, New(o))
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Tools {
		if promised := x.Name == "promise"; promised != (x.OutputSchema != nil) {
			t.Errorf("%s: %v", x.Name, x.OutputSchema)
		}
	}
	cut := tools.Output(`{"a": "long…`)
	cut.Meta.Cut = true
	for _, x := range []struct {
		result     tools.Result
		said, want string // want is the structured content; "" = an error
	}{
		{tools.Output(map[string]any{"a": int64(1)}), `{"a":1}`, `{"a":1}`},
		{tools.Output(map[string]any{"b": int64(1)}), `bad_output: the output breaks outputSchema: missing property 'a'{"b":1}`, ""},
		{tools.Output("a"), "bad_output: the output breaks outputSchema: want an object, not a text", ""},
		{tools.Output(nil), "bad_output: ", ""},
		{cut, "limit: the call was carried out, but its output is too long", ""},
		{tools.Fail(tools.KindTool, "no"), "tool: no", ""},
	} {
		next = x.result
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "promise", Arguments: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r.StructuredContent != nil {
			b, _ := json.Marshal(r.StructuredContent)
			got = string(b)
		}
		if got != x.want || r.IsError != (x.want == "") || !strings.HasPrefix(said(r), x.said) {
			t.Errorf("%s: %s, %v; want %s and %s", said(r), got, r.IsError, x.said, x.want)
		}
	}
}
