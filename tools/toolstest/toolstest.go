// Package toolstest tests executors of tools: each must pass [Run]. [Main], [Sandbox] and
// [Program] are for executors that run a program in the sandbox.
package toolstest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// Act is what the other side of an executor does with a call.
type Act string

const (
	Answers Act = "answers" // {said: the parameter say, key: the key}
	SaysNo  Act = "says no"
	Hangs   Act = "hangs"   // no answer, ever
	Floods  Act = "floods"  // an answer without end, of the letter x
	Breaks  Act = "breaks"  // ends in the middle of a call
	Refuses Act = "refuses" // nothing begins
	Panics  Act = "panics"
)

// Long is more time than anything takes that ends at all, also on a slow machine with much to do: what
// takes longer hangs. A shorter bound would fail by chance; it may only end what never ends by itself.
const Long = 5 * time.Minute

// short ends what never ends by itself, once it has begun.
const short = 300 * time.Millisecond

// Maker makes an executor whose other side does one thing, and a tool that it carries out.
// It returns nil for what the other side cannot do, and the test of that is skipped; each answers. Cleanup of the other side belongs to t.
type Maker func(t *testing.T, act Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool)

// Run tests an executor.
func Run(t *testing.T, made Maker) {
	for _, c := range []struct {
		act         Act
		never, free tools.Status
		kind        protocol.ErrorKind // for free
	}{
		{SaysNo, tools.Failed, tools.Failed, tools.KindTool},
		{Hangs, tools.Unknown, tools.TimedOut, protocol.KindTimeout},
		{Breaks, tools.Unknown, tools.Failed, protocol.KindTransient},
		{Refuses, tools.Failed, tools.Failed, protocol.KindTransient},
		{Panics, tools.Failed, tools.Failed, protocol.KindInternal},
	} {
		t.Run(string(c.act), func(t *testing.T) {
			for repeat, want := range map[manifest.Repeat]tools.Status{manifest.Never: c.never, manifest.Free: c.free} {
				r := call(t, made, c.act, repeat)
				if r.Status != want || r.Error == nil || repeat == manifest.Free && r.Error.Kind != c.kind || r.Output != nil {
					t.Errorf("%s: %+v %+v, want %s %s", repeat, r, r.Error, want, c.kind)
				}
			}
		})
	}
	t.Run("answers", func(t *testing.T) { answers(t, made) })
	t.Run("floods", func(t *testing.T) {
		if testing.Short() {
			t.Skip("many bytes: the race detector sees nothing new in them")
		}
		r := call(t, made, Floods, manifest.Free)
		text, _ := r.Output.(string)
		if r.Status != tools.OK || !r.Meta.Cut || len(text) > tools.MaxOutput || !strings.HasPrefix(text, "xxx") || r.Meta.Bytes < tools.MaxOutput {
			t.Errorf("%s %+v, %d bytes: %+v", r.Status, r.Error, len(text), r.Meta)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		x, tool := made.orSkip(t, Hangs, manifest.ByKey)
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
		begun := time.Now()
		tool.Execution.Timeout = protocol.Duration(2 * Long)
		r := tools.Run(ctx, x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Key: "k"}, tools.Options{Retries: 3})
		if took := time.Since(begun); r.Status != tools.Cancelled || took > Long {
			t.Errorf("%+v after %s", r, took)
		}
		closed(t, x)
	})
}

// orSkip makes an executor, or skips the test if the other side cannot do that.
func (made Maker) orSkip(t *testing.T, act Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
	t.Helper()
	x, tool := made(t, act, repeat)
	if x == nil {
		t.Skipf("the other side of this executor cannot do that: %s", act)
	}
	return x, tool
}

// call makes a call. One that hangs has a short time, and more of it if the time was over before the
// other side had anything.
func call(t *testing.T, made Maker, act Act, repeat manifest.Repeat) *tools.Result {
	t.Helper()
	x, tool := made.orSkip(t, act, repeat)
	defer closed(t, x)
	tool.Execution.Timeout = protocol.Duration(2 * Long)
	timeout := Long
	if act == Hangs {
		timeout = short
	}
	for {
		begun := time.Now()
		r := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: timeout})
		if took := time.Since(begun); took > timeout+Long {
			t.Errorf("%s took %s", act, took)
		}
		if !r.Unsent || act != Hangs || timeout >= Long {
			return &r
		}
		timeout *= 10
	}
}

// answers: many at once, each with its own answer.
func answers(t *testing.T, made Maker) {
	x, tool := made(t, Answers, manifest.Free)
	if x == nil {
		t.Fatal("nothing answers; every executor has an other side that does")
	}
	defer closed(t, x)
	tool.Execution.Timeout = protocol.Duration(Long)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			say := strings.Repeat("ä", i+1) + `"\<&>`
			r := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": say}, Key: "key " + say}, tools.Options{})
			m, _ := r.Output.(map[string]any)
			if r.Status != tools.OK || r.Error != nil || m["said"] != say || m["key"] != "key "+say || r.Meta.Attempts != 1 {
				t.Errorf("%q: %+v %+v", say, r, r.Error)
			}
		})
	}
	all.Wait()
}

func closed(t *testing.T, x tools.Executor) {
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
