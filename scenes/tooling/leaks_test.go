package tooling_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/secrets"
)

// A tool that spells a secret for the third time is not called any more, and says why.
func TestTheThirdSecretTakesTheGrant(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: value, Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	lab := tools.Func(func(context.Context, *tools.Call) tools.Result {
		calls++
		return tools.Output(base64.StdEncoding.EncodeToString([]byte("xyz" + value)))
	})
	p := taskProject(t, ticks)
	set, err := tooling.New(tooling.Options{Project: p, Services: map[string]tools.Executor{"lab": lab}, Secrets: store})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	order, err := tooling.Find(p, "order")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r := set.Try(t.Context(), order, map[string]any{"q": "x"}, 0)
		if r.Status != tools.Denied || strings.Contains(r.Error.Message, "taken away") != (i >= 3) || strings.Contains(r.Error.Message, value) {
			t.Errorf("call %d: %s %+v", i+1, r.Status, r.Error)
		}
	}
	if calls != 3 {
		t.Errorf("it was called %d times, want 3", calls)
	}
	paint, err := tooling.Find(p, "paint")
	if err != nil {
		t.Fatal(err)
	}
	if set.Try(t.Context(), paint, map[string]any{"q": "x"}, 0); calls != 4 {
		t.Error("another tool is called as before")
	}
}
