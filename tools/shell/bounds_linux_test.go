//go:build amd64 || arm64

package shell

import (
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/shell/folders"
)

// Promise 6: the bounds of folders hold between the calls, too.
func TestTheBackgroundIsBounded(t *testing.T) {
	k := newKit(t, Options{})
	want(t, k.do(t, "command", "(sleep 0.3; mkdir v; for i in $(seq 1 8); do head -c 60000000 /dev/zero >v/$i; done; sleep 1000) & echo bg"), map[string]any{"status": "ok"})
	select {
	case <-k.open["ada"].gone:
	case <-time.After(long):
		t.Fatal("nothing ended the session")
	}
	if len(remaining(t)) > 0 {
		t.Errorf("left: %q", remaining(t))
	}
	if r := k.do(t, "input", "x"); r.Error == nil || r.Error.Kind != protocol.KindNotFound {
		t.Errorf("%+v", r)
	}
	want(t, k.do(t, "command", "rm -r v; ls"), map[string]any{"output": "", "session_restarted": true, "session_before": "ended: its folders have more than 10000 files, or 256 MiB; delete some"})
	want(t, k.do(t, "command", "echo on"), map[string]any{"output": "on\n", "session_before": nil})
}

// Promise 6: what cannot be counted is beyond every bound.
func TestWhatCannotBeCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("one look more at folders")
	}
	k := newKit(t, Options{})
	for name, script := range map[string]string{
		"deep": "for i in $(seq 1 150); do mkdir d; cd d; done; cd /fam/agent; sleep 1000",
		"long": "n=$(printf '%0200d'); for i in $(seq 1 110); do mkdir $n; cd $n; done; cd /fam/agent; sleep 1000",
	} {
		r := k.do(t, "command", script)
		if r.Error == nil || r.Error.Kind != protocol.KindLimit || !strings.Contains(r.Error.Message, "folders are more than 100 deep") {
			t.Errorf("%s: %+v %+v", name, r.Output, r.Error)
		}
	}
	want(t, k.do(t, "command", "find . -type d | wc -l"), map[string]any{"status": "ok"}) // what was too deep is gone
	if is := folders.Measure([]string{k.dir + "/own"}, 1000, false); is.Hidden != nil || is.Files > 200 {
		t.Errorf("%+v", is)
	}
}

// Promise 6: folders may have as much as their bounds say.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		size  folders.Size
		times int
		is    bool
	}{
		{folders.Size{Files: maxFiles, Bytes: maxBytes}, 1, false},
		{folders.Size{Files: maxFiles + 1}, 1, true},
		{folders.Size{Bytes: maxBytes + 1}, 1, true},
		{folders.Size{Files: tooFar * maxFiles, Bytes: tooFar * maxBytes}, tooFar, false},
		{folders.Size{Files: tooFar*maxFiles + 1}, tooFar, true},
	} {
		if is := beyond(c.size, c.times); is != c.is {
			t.Errorf("%+v is beyond %d times the bounds: %v", c.size, c.times, is)
		}
	}
}
