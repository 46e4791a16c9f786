package hook_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/agent/hook"
)

// An answer is read as it was written; without one, the place decides.
func TestAnswer(t *testing.T) {
	a := hook.Answer{
		Veto: "no", Values: map[string]any{"a": int64(1)}, Observations: []hook.Observation{{Plugin: "p", Value: "x"}},
		Steps: []hook.Step{{Plugin: "p", Did: hook.Changed, Why: "a"}, {Plugin: "q", Did: hook.Forbade}},
	}
	if got := hook.Read(a.Value(), nil, true); !reflect.DeepEqual(got, a) {
		t.Errorf("read %+v, written %+v", got, a)
	}
	for _, odd := range []any{nil, "text", map[string]any{"veto": 1, "values": []any{}, "observations": "x", "hooks": []any{1}}} {
		if got := hook.Read(odd, nil, true); !reflect.DeepEqual(got, hook.Answer{}) {
			t.Errorf("%v: %+v", odd, got)
		}
	}
	bad := errors.New("nobody is there")
	if got := hook.Read(nil, bad, true); !strings.Contains(got.Veto, "nobody is there") {
		t.Errorf("closed: %+v", got)
	}
	if got := hook.Read(nil, bad, false); got.Veto != "" {
		t.Errorf("open: %+v", got)
	}
}

// Values are told as copies; what is too long, or no value, is named.
func TestTold(t *testing.T) {
	own := map[string]any{"k": "v"}
	values := []any{own, nil, strings.Repeat("x", hook.MaxTold+1), make(chan int)}
	told, left := hook.Told([]string{"own", "nothing", "long", "odd"}, func(i int) any { return values[i] })
	if !reflect.DeepEqual(told, map[string]any{"own": map[string]any{"k": "v"}}) || !reflect.DeepEqual(left, []any{"long", "odd"}) {
		t.Errorf("told %v, left out %v", told, left)
	}
	own["k"] = "changed"
	if told["own"].(map[string]any)["k"] != "v" {
		t.Error("it is no copy")
	}
}
