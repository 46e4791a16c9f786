package private

import (
	"testing"

	"tavernsim/engine/agent/tool"
)

// A value that was forgotten is refused, and a null that was written is a value (agent
// architecture §2.1.4; state commands 2.0, missing_value).
func TestValueOf(t *testing.T) {
	for _, c := range []struct {
		params tool.Params
		want   string
	}{
		{tool.Params{"path": "a"}, "set needs a value; null is one"},
		{tool.Params{"path": "a", "op": "push"}, "push needs a value; null is one"},
		{tool.Params{"path": "a", "op": "add"}, "add needs a value"},
		{tool.Params{}, "merge needs a value"},
		{tool.Params{"path": "a", "value": nil}, ""},
		{tool.Params{"path": "a", "op": "push", "value": nil}, ""},
		{tool.Params{"path": "a", "op": "delete"}, ""},
		{tool.Params{"path": "a", "op": "delete", "value": ""}, ""},
		{tool.Params{"path": "a", "op": "turn"}, ""},
	} {
		_, err := ValueOf(c.params, OpOf(c.params))
		if got := ""; err != nil {
			if got = err.Error(); got != c.want {
				t.Errorf("%v: %s, want %q", c.params, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%v: taken, want %q", c.params, c.want)
		}
	}
}
