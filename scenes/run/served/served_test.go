package served

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools"
	"tavernsim/tools/mcp/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// commands stands for the commands of simd: runs go on until they are stopped.
func commands(t *testing.T, out string, code int) (d *Desk, args *[]string) {
	args = &[]string{}
	d = New(Options{Folder: "project", Runs: t.TempDir(), RunFlags: []string{"--tools=mock"}, Command: func(ctx context.Context, w, said io.Writer, a ...string) int {
		if a[0] != "run" {
			*args = a
			fmt.Fprint(w, out)
			fmt.Fprintf(said, "simd: it is so\nRun 'simd %s --help' for usage.\n", a[0])
			return code
		}
		if slices.Contains(a, "--ticks=1") {
			fmt.Fprintln(said, "simd: one is too few")
			return 2
		}
		dir := a[slices.Index(a, "--out")+1]
		if err := os.MkdirAll(filepath.Join(dir, rundir.JournalDir), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o644); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return 130
	}})
	t.Cleanup(d.Close)
	return d, args
}

func tool(t *testing.T, d *Desk, name string) func(params map[string]any) tools.Result {
	t.Helper()
	for _, x := range d.commands() {
		if x.Name == name {
			return func(params map[string]any) tools.Result { return x.Call(t.Context(), params) }
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

// The summary of a run has a state as soon as there is the run, and another after each end.
func TestSummaries(t *testing.T) {
	d, _ := commands(t, "", 0)
	dir := filepath.Join(d.opt.Runs, "r1")
	uri := scheme + "r1" + ofSummary
	for _, x := range []string{uri, scheme + "../r1" + ofSummary, scheme + ".r" + ofSummary, "file:///etc/passwd"} {
		if _, err := d.state(x); protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("%s: %v", x, err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if state, err := d.state(uri); state != "" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
	seen := map[string]bool{"": true}
	for _, summary := range []string{`{"resumable": true}`, `{}`} {
		if err := os.WriteFile(filepath.Join(dir, summaryFile), []byte(summary), 0o644); err != nil {
			t.Fatal(err)
		}
		state, err := d.state(uri)
		if err != nil || seen[state] {
			t.Errorf("%s: %q again, %v", summary, state, err)
		}
		seen[state] = true
	}
	o, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := o.Templates[0].Values["run"](t.Context())
	if err != nil || !slices.Equal(ids, []string{"r1"}) {
		t.Errorf("%v, %v", ids, err)
	}
}

// What is listed can be read, whatever the folder of the run is called.
func TestSummariesOfAnyName(t *testing.T) {
	d, _ := commands(t, "", 0)
	for _, id := range []string{"my run", "l\u00e4ufe", "100%", "a{b}", "a+b"} {
		dir := filepath.Join(d.opt.Runs, id)
		if err := os.MkdirAll(filepath.Join(dir, rundir.JournalDir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"manifest.json", summaryFile} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	o, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(o)
	h := httptest.NewServer(s.Handler(""))
	defer h.Close()
	defer s.Close()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: h.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 5 {
		t.Fatal(list, err)
	}
	for _, x := range list.Resources {
		if r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: x.URI}); err != nil || r.Contents[0].Text != "{}" {
			t.Errorf("%s: %v", x.URI, err)
		}
	}
	for _, x := range []string{scheme + "%2e%2e%2fr1" + ofSummary, scheme + "..%2Fr1" + ofSummary, scheme + "100%" + ofSummary} {
		if _, err := d.state(x); protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("%s: %v", x, err)
		}
	}
}

// Promise 2: parameters become flags of a command, or are refused.
func TestInspect(t *testing.T) {
	d, args := commands(t, `{"a": 1}`, 0)
	dir := filepath.Join(d.opt.Runs, "r1")
	if err := os.MkdirAll(filepath.Join(dir, rundir.JournalDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	inspect := tool(t, d, "simd_inspect")
	for _, c := range []struct {
		params map[string]any
		want   string // arguments behind those of every view, or the error
	}{
		{map[string]any{}, "-- DIR summary"},
		{map[string]any{"view": "agent", "argument": "--at=x"}, "-- DIR agent --at=x"},
		{map[string]any{"view": "agents", "failed": true, "limit": int64(7)}, "--failed=true --limit=7 -- DIR agents"},
		{map[string]any{"view": "facts", "kind": "agent.*"}, "--kind=agent.* --limit=50 -- DIR facts"},
		{map[string]any{"view": "agents", "limit": 7.0}, "--limit=7 -- DIR agents"},
		{map[string]any{"view": "dead-letters", "redeliver": true}, "invalid: redeliver: the schema does not allow this property"},
		{map[string]any{"view": "deliberation", "against": "/etc/passwd"}, "invalid: against: the schema does not allow this property"},
		{map[string]any{"view": "artifact", "argument": "x"}, `invalid: view: got "artifact"; value must be one of `},
		{map[string]any{"view": int64(1)}, "invalid: view: value must be one of "},
		{map[string]any{"at": map[string]any{}}, "invalid: at: got object, want string"},
		{map[string]any{"run": int64(1)}, "invalid: run: got number, want string"},
		{map[string]any{"run": "../r1"}, `invalid: run "../r1": want the id of a run`},
		{map[string]any{"run": ""}, `invalid: run "": want the id of a run`},
		{map[string]any{"run": ".."}, `invalid: run "..": want the id of a run`},
		{map[string]any{"run": "r2"}, `not_found: there is no run "r2"`},
	} {
		if _, given := c.params["run"]; !given {
			c.params["run"] = "r1"
		}
		*args = nil
		r := inspect(c.params)
		got := strings.Replace(strings.TrimPrefix(strings.Join(*args, " "), "inspect --json --quiet "), dir, "DIR", 1)
		if r.Error != nil {
			got = fmt.Sprintf("%s: %s", r.Error.Kind, r.Error.Message)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s; want %s", c.params, got, c.want)
		}
	}
	if r := inspect(map[string]any{"run": "r1", "view": "events"}); fmt.Sprint(r.Output) != "map[rows:[map[a:1]]]" {
		t.Errorf("a list of one row is %v", r.Output)
	}
}

// Promise 2: the client reads what the command says, without what is for people.
func TestFailed(t *testing.T) {
	for code, want := range map[int]protocol.ErrorKind{1: protocol.KindUnknown, 2: protocol.KindInvalid, 3: protocol.KindInvalid, 4: protocol.KindNotFound, 6: protocol.KindConflict, 7: protocol.KindLimit} {
		d, _ := commands(t, "", code)
		if r := tool(t, d, "simd_validate")(nil); r.Error == nil || r.Error.Kind != want || r.Error.Message != "it is so" {
			t.Errorf("exit code %d: %+v", code, r.Error)
		}
	}
	d, _ := commands(t, `{"a": "`+strings.Repeat("x", MaxView)+`"}`, 0)
	if r := tool(t, d, "simd_validate")(nil); r.Error == nil || r.Error.Kind != protocol.KindLimit {
		t.Errorf("a large view: %+v", r.Error)
	}
}

// Promise 2: a tool takes what its schema says, and nothing else: each property of each schema is tried with
// what it does not allow.
func TestParametersFitTheSchema(t *testing.T) {
	d, args := commands(t, "{}", 0)
	d.opt.RunFlags = nil // the client has all parameters
	if err := os.MkdirAll(filepath.Join(d.opt.Runs, "r1", rundir.JournalDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range d.commands() {
		shown := x.Parameters.(map[string]any)
		tried := map[string]any{"other": "x"} // no schema has it
		for name, property := range shown["properties"].(map[string]any) {
			p := property.(map[string]any)
			switch {
			case p["enum"] != nil:
				tried[name] = "replay:/any/folder"
			case p["pattern"] != nil:
				tried[name] = "replay:/any/folder"
			case p["type"] == "string":
				tried[name] = int64(1)
			case p["type"] == "boolean":
				tried[name] = "/any/folder"
			case p["minimum"] != nil:
				tried[name] = int64(-1)
			default:
				t.Errorf("%s: %s allows everything", x.Name, name)
			}
		}
		for name, value := range tried {
			params := map[string]any{name: value}
			if _, given := params["run"]; !given && shown["required"] != nil {
				params["run"] = "r1"
			}
			if r := x.Call(t.Context(), params); r.Error == nil || r.Error.Kind != protocol.KindInvalid || !strings.HasPrefix(r.Error.Message, name+": ") {
				t.Errorf("%s %v: %+v, %v", x.Name, params, r.Output, r.Error)
			}
		}
	}
	if len(d.runs) > 0 || len(*args) > 0 {
		t.Errorf("%d runs began; %v", len(d.runs), *args)
	}
}

// Promise 3.
func TestRuns(t *testing.T) {
	d, _ := commands(t, "", 0)
	start := tool(t, d, "simd_run")
	for _, c := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{"ticks": int64(1)}, "one is too few"},
		{map[string]any{"tools": "live"}, "tools: the schema does not allow this property"}, // the operator has set it
		{map[string]any{"out": "/tmp/x"}, "out: the schema does not allow this property"},
		{map[string]any{"model": "replay:/etc/passwd"}, "model: "},
	} {
		if r := start(c.params); r.Error == nil || !strings.HasPrefix(r.Error.Message, c.want) {
			t.Errorf("%v: %+v", c.params, r)
		}
	}
	var first string
	for i := range MaxRuns {
		r := start(nil)
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		if i == 0 {
			first, _ = r.Output.(map[string]any)["run"].(string)
		}
	}
	if r := start(nil); r.Error == nil || r.Error.Kind != protocol.KindLimit {
		t.Errorf("one run too many: %+v", r)
	}
	if r := tool(t, d, "simd_run_stop")(map[string]any{"run": first}); r.Error != nil || r.Output.(map[string]any)["exit_code"] != 130 {
		t.Errorf("%+v, %v", r, r.Error)
	}
	delete(d.runs, first) // as old ones are
	if r := tool(t, d, "simd_run_stop")(map[string]any{"run": first}); r.Error != nil || r.Output.(map[string]any)["state"] == "" {
		t.Errorf("one that has stopped, again: %+v, %v", r, r.Error)
	}
	if r := tool(t, d, "simd_run_stop")(map[string]any{"run": "nobody"}); r.Error == nil || r.Error.Kind != protocol.KindNotFound {
		t.Errorf("one that is not there: %+v", r)
	}
	if r := start(nil); r.Error != nil {
		t.Errorf("after one has stopped: %+v", r.Error)
	}
	d.Close()
	for _, r := range d.runs {
		if r.running() {
			t.Errorf("%s goes on", r.id)
		}
	}
	if r := start(nil); r.Error == nil {
		t.Error("a run began after the end")
	}
}
