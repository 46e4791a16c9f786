package manifest

import (
	"strings"
	"testing"
)

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
