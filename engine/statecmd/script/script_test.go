package script

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/world"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

func examples(t *testing.T, kind string) []string {
	return doctest.Examples(t, "formats/state-commands.md", kind)
}

// TestDocs runs the examples of docs/formats/state-commands.md.
func TestDocs(t *testing.T) {
	for _, text := range examples(t, "apply") {
		var x struct {
			State, Commands json.RawMessage
			Gives           struct {
				State             json.RawMessage
				Results, Warnings []string
			}
		}
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		out, err := Apply(x.State, "", string(x.Commands), begin())
		if err != nil {
			t.Fatal(err)
		}
		var results, warns []string
		for _, r := range out.Results {
			results = append(results, string(r.Status)+" "+string(r.Code))
		}
		for _, w := range out.Warnings {
			warns = append(warns, string(w.Code))
		}
		if string(out.State) != canonical(t, x.Gives.State) || !slices.Equal(results, x.Gives.Results) || !slices.Equal(warns, x.Gives.Warnings) {
			t.Errorf("%s\ngives %s\n%v %v", text, out.State, results, warns)
		}
	}
	for i, text := range examples(t, "script") {
		out, err := Run(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, out, examples(t, "script output")[i])
	}
}

func begin() protocol.Time { return protocol.TimeOf(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) }

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	v, err := readState(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(world.AppendJSON(nil, v))
}

func sameJSON(t *testing.T, out any, want string) {
	t.Helper()
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	got := string(raw)
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		t.Fatalf("no JSON: %s", want)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRun_errors(t *testing.T) {
	for text, say := range map[string]string{
		`5`:                                "want an object",
		`{"state":5,"steps":[]}`:           "the root is a number",
		`{"steps":[5]}`:                    "step 0 is no object",
		`{"steps":[{}]}`:                   "step 0",
		`{"steps":[{"advance":"-5s"}]}`:    "back in time",
		`{"steps":[{"advance":"soon"}]}`:   "step 0",
		`{"steps":[{"commands":"hello"}]}`: "step 0",
		`{"now":"later","steps":[]}`:       "later",
		`{"stpes":[]}`:                     "did you mean steps?",
		`{"prefix":"a..b","steps":[]}`:     "prefix",
		`{"steps":[}`:                      "json",
	} {
		if _, err := Run(text, 0); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v; want %q", text, err, say)
		}
	}
	if _, err := Apply([]byte(`{"a":`), "", `[]`, 0); err == nil {
		t.Error("a broken state was read")
	}
	out, err := Apply([]byte(`{"x":1}`), "world.", `{"delete":"world.x"}`, 0)
	if err != nil || string(out.State) != `{}` {
		t.Errorf("%v %v", out, err)
	}
}

func TestRun_restore(t *testing.T) {
	out, err := Run(`{"state":{"a":1,"回收站":[{"opId":"x","key":"character.saveData.b","value":2}]},"steps":[{"restore":"x"},{"restore":{"opId":"nope","bin":"character.saveData.回收站"}}]}`, begin())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out.Steps[0].Results[0].Code) + " " + string(out.Steps[1].Results[0].Code); got != "ok missing" || string(out.State) != `{"a":1,"b":2,"回收站":[]}` {
		t.Errorf("%s %s", got, out.State)
	}
}
