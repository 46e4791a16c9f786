package tooling_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/approvals"
)

// absent is a person who answers nothing before the call ends.
type absent struct{ asked chan struct{} }

func (a absent) Ask(ctx context.Context, _ *approvals.Question) (approvals.Verdict, error) {
	a.asked <- struct{}{}
	<-ctx.Done()
	return approvals.Verdict{}, context.Cause(ctx)
}

// A run that is stopped does not wait for a person who is asked whether a call may be made, or for a secret, or whom a server asks during a call that
// may be made again: the call is given up, and the person is asked again when the run goes on.
func TestQuestionsOfCallsHoldNoStop(t *testing.T) {
	if testing.Short() {
		t.Skip("a stop has patience for ten seconds")
	}
	box := withPython(t)
	books := strings.NewReplacer(`[{tool: "mcp:table/book"}]`, "[{tool: book}]", `["mcp:table/book"]`, "[book]", "{timeout: 60s}", "{timeout: 60s, repeat: free}").Replace(hosts)
	wants := strings.NewReplacer("TEXTS", `['<tools><get_value key=\"TOKEN\" reason=\"to push\"/></tools>']`, "TICKS", "1").Replace(workers)
	for name, text := range map[string]string{
		"what is the value": wants,
		"of the server":     books,
		"may it":            strings.Replace(books, `"model": "models/m.yaml"`, `"model": "models/m.yaml", "tool_policy": {"otherwise": "ask", "rules": []}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
			if err != nil {
				t.Fatal(err)
			}
			s, door := scenestest.New(t, p, ""), absent{make(chan struct{}, 9)}
			for range 2 {
				r, err := s.Start(scenestest.Settings{Tools: tooling.Live, Sandbox: box, Leave: tooling.Leave{Door: door, Run: "r", Timeout: time.Hour}})
				if err != nil {
					t.Fatal(err)
				}
				<-door.asked
				r.Interrupt()
				if res := r.Close(); res.Err != nil || res.Final {
					t.Fatal(res)
				}
				for _, f := range agentFacts(t, s) {
					if x, ok := f.(*agentfact.CallAnswered); ok {
						t.Fatalf("the call was answered: %+v", x)
					}
				}
			}
		})
	}
}
