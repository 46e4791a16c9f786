package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// Who wants to know is told of each failure of a server, and why it is off.
func TestFailuresAreTold(t *testing.T) {
	var told []string
	opt := options(t)
	opt.Failed = func(id, off string) { told = append(told, id+" "+off) }
	x := New([]Server{{command(t, string(toolstest.Answers)), sayPin()}}, opt)
	s := x.servers["s"]
	for range 5 {
		open, no := s.Session(t.Context())
		if no != nil {
			t.Fatal(no.Error)
		}
		s.Broken(open, errors.New("it ended"))
		s.Skip() // the pause
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if len(told) != 5 || told[3] != "mcp:s " || told[4] != "mcp:s it failed 5 times in a row; the last time: it ended" {
		t.Errorf("%q", told)
	}
}

// Each request is told with what came of it.
func TestRequestsAreTold(t *testing.T) {
	for act, want := range map[toolstest.Act]string{toolstest.Answers: "tools/call ok", toolstest.SaysNo: "tools/call error"} {
		var mu sync.Mutex
		var told []string
		opt := options(t)
		opt.Asked = func(method, outcome string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(method, " ", outcome))
		}
		x := New([]Server{{command(t, string(act)), sayPin()}}, opt)
		r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long)
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		for _, line := range []string{"server/discover ok", "tools/list ok", want} {
			if !slices.Contains(told, line) {
				t.Errorf("%s gave %v: no %s in %s", act, r.Status == tools.OK, line, strings.Join(told, ", "))
			}
		}
	}
}
