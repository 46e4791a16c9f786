package toolstest

import (
	"context"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// A function of the program is an executor like others.
func TestFunctions(t *testing.T) {
	Run(t, func(_ *testing.T, act Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
		tool := &manifest.Tool{ID: "t", Implementation: manifest.Implementation{Type: manifest.Service, Name: "f"}, Execution: manifest.Execution{Repeat: repeat}}
		tool.Check()
		return tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
			switch act {
			case Answers:
				return tools.Output(map[string]any{"said": c.Params["say"], "key": c.Key})
			case SaysNo:
				return tools.Fail(tools.KindTool, "no")
			case Hangs:
				<-ctx.Done()
				return tools.Fail(protocol.KindCancelled, "left")
			case Floods:
				return tools.Output(strings.Repeat("x", 1<<20))
			case Panics:
				panic("oh")
			}
			r := tools.Fail(protocol.KindTransient, "gone")
			r.Unsent, r.Lost = act == Refuses, act == Breaks
			return r
		}), tool
	})
}

// Of what the other side cannot do nothing is tried, and the test says so.
func TestAnOtherSideThatOnlyAnswers(t *testing.T) {
	Run(t, func(t *testing.T, act Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
		if act != Answers {
			t.Cleanup(func() {
				if !t.Skipped() {
					t.Errorf("%s: the test is not skipped", act)
				}
			})
			return nil, nil
		}
		return tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
			return tools.Output(map[string]any{"said": c.Params["say"], "key": c.Key})
		}), &manifest.Tool{ID: "t", Implementation: manifest.Implementation{Type: manifest.Service, Name: "f"}, Execution: manifest.Execution{Repeat: repeat}}
	})
}
