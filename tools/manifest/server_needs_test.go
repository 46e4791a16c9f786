package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What needs a program says so where its command is: a server with a url has none here.
func TestLeaveToRun(t *testing.T) {
	for _, c := range []struct {
		s     Server
		fault string
	}{
		{Server{ID: "s", Command: "python3 s.py", Needs: []string{"exec"}}, ""},
		{Server{ID: "s", Command: "python3 s.py", Needs: []string{"tool:x"}}, "may need servers"},
		{Server{ID: "s", URL: "https://a.example/mcp", Needs: []string{"exec"}}, "runs on another machine"},
		{Server{ID: "s", URL: "https://a.example/mcp", Needs: []string{"tool:x"}}, "runs on another machine"},
	} {
		f := c.s.Check()
		if got := fmt.Sprint(f); len(f) > 1 || (len(f) == 0) != (c.fault == "") || !strings.Contains(got, c.fault) {
			t.Errorf("%+v: %s", c.s, got)
		}
		if asks := c.s.Asks(); c.fault == "" && !slices.Equal(asks, []string{"exec"}) {
			t.Errorf("%+v asks for %v", c.s, asks)
		}
	}
	r := &Resident{ID: "s", Command: "python3 s.py", Needs: []string{"exec", "net:a:1"}}
	if f := r.Check(); len(f) > 0 || !slices.Equal(r.Script().Asks(), []string{"exec", "net:a:1"}) || !slices.Equal(r.Script().Servers(), []string{"a:1"}) {
		t.Errorf("%v %v", f, r.Script().Asks())
	}
}

// A host is written as it is dialled, so that people grant what they read.
func TestHostsAreWrittenAsOnTheWire(t *testing.T) {
	for host, bad := range map[string]bool{"example.com": false, "EXAMPLE.com": false, "xn--exmple-4nf.com": false, "[::1]": false, "ex\u0430mple.com": true, "①②⑦.⓪.⓪.①": true, "ｅxample.com": true, "example。com": true, "ex%D0%B0mple.com": true} {
		s := &Server{ID: "s", URL: "https://" + host + "/mcp"}
		x := &Tool{ID: "t", Implementation: Implementation{Type: HTTP, URL: "https://" + host + "/{/a}"}, Parameters: map[string]any{"properties": map[string]any{"a": map[string]any{}}}}
		for _, f := range [][]Fault{s.Check(), x.Check()} {
			if got := fmt.Sprint(f); len(f) > 0 != bad || bad && (!strings.Contains(got, "in ASCII (xn--…)") || !f[0].Strict) {
				t.Errorf("%s: %s", host, got)
			}
		}
	}
}

// A tool says which tools its workflow calls. That bounds it, so nobody grants it.
func TestCalls(t *testing.T) {
	x := &Tool{ID: "t", Implementation: Implementation{Type: Workflow, ID: "w"}, Needs: []string{"tool:b", "tool:workflow:a", "tool:b"}}
	if f := x.Check(); len(f) > 0 || !slices.Equal(x.Calls(), []string{"b", "workflow:a"}) || len(x.Asks()) > 0 {
		t.Errorf("%v %v %v", f, x.Calls(), x.Asks())
	}
}

// A server with a url has no folders of this machine: the fault says why, and what to do.
func TestFoldersOfAServerWithAnAddress(t *testing.T) {
	for _, need := range []string{"fs.read:run/reports/*", "fs.write:agent/*"} {
		s := &Server{ID: "s", URL: "https://a.example/mcp", Needs: []string{need}}
		f := s.Check()
		if len(f) != 1 || !strings.Contains(f[0].Message, "runs on another machine") || !strings.Contains(f[0].Suggestion, "goes into a parameter") || strings.Join(f[0].Steps, ".") != "needs.0" {
			t.Errorf("%s: %+v", need, f)
		}
	}
}
