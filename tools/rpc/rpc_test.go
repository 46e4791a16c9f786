package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

// The test's own program is the worker of the sandbox and every service.
func TestMain(m *testing.M) {
	toolstest.Main(m, func(args []string) int { serve(args[0], args[1:]); return 0 })
}

// options run services in a sandbox of this machine, or skip.
func options(t testing.TB) Options {
	t.Helper()
	_, mount := toolstest.Program(t)
	return Options{Sandbox: toolstest.Sandbox(t), Mounts: []sandbox.Mount{mount}, Start: toolstest.Long, Ping: toolstest.Long, Pause: time.Minute}
}

// doing is a service of the test's program that does one thing.
func doing(t testing.TB, act string, more ...string) Service {
	t.Helper()
	path, _ := toolstest.Program(t)
	return Service{Name: "s", Words: append([]string{path, "serve", act}, more...), Config: map[string]any{"town": "Rome"}}
}

func sayTool(t testing.TB, repeat manifest.Repeat) *manifest.Tool {
	t.Helper()
	d := &manifest.Tool{ID: "say", Implementation: manifest.Implementation{Type: manifest.Service, Name: "s", Method: "m"}, Execution: manifest.Execution{Repeat: repeat}}
	if faults := d.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	d.Execution.Timeout = protocol.Duration(toolstest.Long)
	return d
}

func call(ctx context.Context, x tools.Executor, tool *manifest.Tool, timeout time.Duration) tools.Result {
	return tools.Run(ctx, x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: timeout})
}

// ready starts the service, so that the time-outs are those of calls.
func ready(t testing.TB, x *Executor) {
	t.Helper()
	if _, failed := x.services["s"].Session(t.Context()); failed != nil {
		t.Errorf("%+v", failed.Error)
	}
}

// Promise 4, and what all executors promise.
func TestConformance(t *testing.T) {
	opt := options(t)
	toolstest.Run(t, func(t *testing.T, act toolstest.Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
		if act == toolstest.Panics {
			return nil, nil
		}
		x := New([]Service{doing(t, string(act))}, opt)
		if act != toolstest.Refuses {
			ready(t, x)
		} else if _, failed := x.services["s"].Session(t.Context()); failed == nil {
			t.Error("it began")
		}
		return x, sayTool(t, repeat)
	})
}

// Promises 1 and 2: what services get that lie: an error for the call, and the scene goes on.
func TestHostileServices(t *testing.T) {
	opt := options(t)
	atOnce := []string{"junk", "floods messages", "wrong ids", "twice", "late", "asks us", "exits", "never ready", "does not read"}
	for _, c := range []struct {
		act         string
		first, says string // of the first call: kind of its error, and what its text says
		then, why   string // of the second
	}{
		{"junk at once", "transient", "what is no message", "transient", "starts again"},
		{"junk", "unknown_outcome", "what is no message", "transient", "starts again"},
		{"half a message", "unknown_outcome", "ended with exit code 5", "transient", "starts again"},
		{"one endless line", "unknown_outcome", "exceeded", "transient", "starts again"},
		{"floods messages", "unknown_outcome", "nobody asked for", "transient", "starts again"},
		{"wrong ids", "unknown_outcome", "no answer within", "", "right"},
		{"twice", "", "right", "", "right"},
		{"a long answer", "bad_output", "of a message are read", "", "right"},
		{"late", "unknown_outcome", "no answer within", "", "right"},
		{"asks us", "", "right", "", "right"},
		{"exits", "unknown_outcome", "I have had enough of ***", "transient", "starts again"},
		{"no object", "bad_output", "no object", "bad_output", "no object"},
		{"no value", "bad_output", "no value", "bad_output", "no value"},
		{"deep", "bad_output", "no value", "bad_output", "no value"},
		{"refuses to begin", "transient", "not today", "transient", "starts again"},
		{"another version", "transient", "does not speak version 1", "transient", "starts again"},
		{"never ready", "transient", "not ready within", "transient", "starts again"},
		{"does not read", "unknown_outcome", "", "", ""},
	} {
		if testing.Short() && !slices.Contains(atOnce, c.act) {
			continue
		}
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			opt := opt
			opt.Mask = func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
			if c.act == "never ready" {
				opt.Start = 300 * time.Millisecond
			}
			x := New([]Service{doing(t, c.act)}, opt)
			tool, timeout := sayTool(t, manifest.Never), toolstest.Long
			if c.says == "no answer within" || c.says == "" {
				ready(t, x)
				timeout = time.Second
			}
			for i, want := range [][2]string{{c.first, c.says}, {c.then, c.why}} {
				if want[0] == "" && want[1] == "" {
					continue
				}
				r := call(t.Context(), x, tool, timeout)
				kind, text := "", fmt.Sprint(r.Output)
				if r.Error != nil {
					kind, text = string(r.Error.Kind), r.Error.Message
				}
				if kind != want[0] || !strings.Contains(text, want[1]) {
					t.Errorf("call %d: %q %s, want %q %s", i, kind, text, want[0], want[1])
				}
				timeout = toolstest.Long
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Promise 3: a service that ends starts again after a pause, five times; one that hangs is
// ended after a ping.
func TestRestarts(t *testing.T) {
	opt := options(t)
	var failed, off atomic.Int64
	opt.Failed = func(name, gone string) {
		failed.Add(1)
		if gone != "" {
			off.Add(1)
		}
		if name != "s" {
			t.Error(name)
		}
	}
	hangs := opt
	hangs.Ping = 300 * time.Millisecond
	x := New([]Service{doing(t, "hangs")}, hangs)
	ready(t, x)
	if r := call(t.Context(), x, sayTool(t, manifest.Free), 100*time.Millisecond); r.Status != tools.TimedOut {
		t.Errorf("%+v %+v", r, r.Error)
	}
	for end := time.Now().Add(toolstest.Long); failed.Load() == 0 && time.Now().Before(end); <-time.After(10 * time.Millisecond) { // another process
	}
	r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long)
	if r.Error == nil || !strings.Contains(r.Error.Message, "nor a ping within") || r.Error.RetryAfter <= 0 || off.Load() > 0 {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	x = New([]Service{doing(t, string(toolstest.Breaks))}, opt)
	defer x.Close()
	ready(t, x)
	failed.Store(0)
	s := x.services["s"]
	for range 5 {
		open, no := s.Session(t.Context())
		if no != nil {
			t.Fatal(no.Error)
		}
		s.Broken(open, fmt.Errorf("it ended"))
		s.Skip() // the pause
	}
	if _, no := s.Session(t.Context()); no == nil || no.Error.Kind != protocol.KindUnknown || !strings.Contains(no.Error.Message, "is off: it failed 5 times in a row") || failed.Load() != 5 || off.Load() != 1 {
		t.Errorf("%+v, %d failures", no, failed.Load())
	}
}

// Promise 5, config, files, errors with a kind, and an end by itself.
func TestService(t *testing.T) {
	opt := options(t)
	opt.Shutdown = 2 * toolstest.Long
	x := New([]Service{doing(t, "honest")}, opt)
	ready(t, x)
	tool := sayTool(t, manifest.Free)
	try := func(say string, timeout time.Duration) tools.Result {
		return tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": say}, Key: "k", Attempt: 1}, tools.Options{Timeout: timeout, Retries: 0})
	}
	if r := try("hang", 300*time.Millisecond); r.Status != tools.TimedOut {
		t.Errorf("%+v", r)
	}
	r := try("what was cancelled", toolstest.Long)
	for end := time.Now().Add(toolstest.Long); strings.Contains(fmt.Sprint(r.Output), "cancelled:<nil>") && time.Now().Before(end); { // it is told beside the calls
		r = try("what was cancelled", toolstest.Long)
	}
	if m, _ := r.Output.(map[string]any); r.Status != tools.OK || fmt.Sprint(m["cancelled"]) != "[2]" || fmt.Sprint(m["config"]) != "map[town:Rome]" || m["method"] != "m" || m["timeout"] != true {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if r = try("busy", toolstest.Long); r.Error == nil || r.Error.Kind != tools.KindRateLimited || r.Error.RetryAfter.Std() != 1500*time.Millisecond || !strings.Contains(r.Error.Message, "later") {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if r = try("forbidden kind", toolstest.Long); r.Error == nil || r.Error.Kind != tools.KindTool {
		t.Errorf("%+v %+v", r, r.Error)
	}
	kept := ""
	r = tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": "file"}, Key: "k"}, tools.Options{Keep: func(b tools.Blob) (a toolArtifact, err error) {
		kept = b.Name + " " + b.Type + " " + string(b.Data)
		return a, nil
	}})
	if r.Status != tools.OK || kept != "a.txt text/plain abc" {
		t.Errorf("%+v %+v %s", r, r.Error, kept)
	}
	big := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": strings.Repeat("x", 9<<20)}, Key: "k"}, tools.Options{})
	if big.Error == nil || big.Error.Kind != protocol.KindLimit {
		t.Errorf("%+v", big.Error)
	}
	if _, no := x.Ask(t.Context(), &Request{Service: "t", Method: "ping"}); no == nil || no.Error.Kind != protocol.KindNotFound {
		t.Errorf("%+v", no)
	}
	begun := time.Now()
	if err := x.Close(); err != nil || time.Since(begun) > toolstest.Long {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	if r = try("x", toolstest.Long); r.Status != tools.Cancelled {
		t.Errorf("%+v %+v", r, r.Error)
	}
	none := New([]Service{doing(t, "honest")}, Options{})
	defer none.Close()
	if r = call(t.Context(), none, tool, toolstest.Long); r.Error == nil || !strings.Contains(r.Error.Message, "no sandbox") {
		t.Errorf("%+v", r.Error)
	}
}

// Promise 7: reports about a call reach who waits for it, in their order; others reach nobody.
func TestProgress(t *testing.T) {
	x := New([]Service{doing(t, "reports")}, options(t))
	defer x.Close()
	var said []string
	r := tools.Run(t.Context(), x, &tools.Call{Tool: sayTool(t, manifest.Free), Progress: func(p tools.Progress) { said = append(said, fmt.Sprint(p.Done, p.Total, p.Message)) }}, tools.Options{})
	if r.Status != tools.OK || strings.Join(said, "|") != "1 4|3 0nearly" {
		t.Errorf("%+v %+v, %q", r, r.Error, said)
	}
	if r = call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Status != tools.OK { // nobody wants to know
		t.Errorf("%+v", r.Error)
	}
}

// Promise 2: a flood is not kept.
func TestFloodsTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing new in it, and takes long")
	}
	opt := options(t)
	for _, act := range []string{"floods large messages", "one endless line"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := New([]Service{doing(t, act)}, opt)
		if r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Status != tools.Failed {
			t.Errorf("%+v", r)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 16<<20 {
			t.Errorf("%s: %d bytes more in use", act, grown)
		}
	}
}

// Promise 1: a daemon in a session of its own does not live on, nor a service that ignores the
// request to end.
func TestNothingIsLeft(t *testing.T) {
	opt := options(t)
	opt.Shutdown = 100 * time.Millisecond
	mark := fmt.Sprintf("7%d.%d", os.Getpid(), time.Now().UnixNano()%1e9)
	x := New([]Service{doing(t, "daemon", mark)}, opt)
	if r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Output != "right" {
		t.Errorf("%+v %+v", r, r.Error)
	}
	for end := time.Now().Add(toolstest.Long); toolstest.Sleeping(t, mark) == 0; <-time.After(10 * time.Millisecond) { // another process
		if time.Now().After(end) {
			t.Error("there was no daemon")
			break
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if n := toolstest.Sleeping(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// FuzzAnswer: what a service answers gives an error or a value, never a panic.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"output":1}`, `{"output":{"a":[1,"x"]},"files":[{"name":"n","data":"YQ=="}]}`, `{"output":{"a":1,"a":2}}`, `[]`, ``, `{"output":1e999}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := resultOf(raw)
		if (r.Status == tools.OK) == (r.Error != nil) {
			t.Errorf("%+v", r)
		}
		if _, err := json.Marshal(r.Output); err != nil {
			t.Error(err)
		}
	})
}
