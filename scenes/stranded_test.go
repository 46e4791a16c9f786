package scenes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// A scene that is interrupted while its endpoint is away gives the open wave up, and goes on before it. One whose
// endpoint is only slow waits for the answers.
func TestInterruptedWhileAnEndpointIsAway(t *testing.T) {
	p := realtimeScene(t, branching)
	for _, c := range []struct {
		name string
		away bool
	}{{"away", true}, {"slow", false}} {
		t.Run(c.name, func(t *testing.T) {
			s := scenestest.New(t, p, "")
			away := c.away
			model := func() cloud {
				return cloud{gate: gate.New("cloud", limit.Options{}), Fake: &llmtest.Fake{Reply: func(ctx context.Context, _ int, _ *protocol.ModelRequest) (string, error) {
					if away {
						return "", &llm.Failure{Outcome: llm.OutcomeServerError, Message: "refused"}
					}
					<-time.After(2 * time.Minute)
					return "well", nil
				}}}
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r, err := s.Start(scenestest.Settings{Model: model(), Clock: agenda.Virtual})
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				r.Interrupt()
				res := r.Close()
				took, waves := time.Since(start), res.State.Agenda.Wave
				if res.Err != nil || res.Reason != agenda.StoppedByInterrupt || res.Final {
					t.Fatal(res)
				}
				if c.away && (took > 2*time.Minute || res.State.Tally.Deliberations > 0) || !c.away && (took < 4*time.Minute || res.State.Tally.Deliberations == 0) {
					t.Fatalf("it stopped after %s, in wave %d, with %d deliberations", took, waves, res.State.Tally.Deliberations)
				}
				away = false
				again, err := s.Start(scenestest.Settings{Model: model(), Clock: agenda.Virtual})
				if err != nil {
					t.Fatal(err)
				}
				if res := again.Close(); res.Err != nil || !res.Final || res.State.Tally.Deliberations == 0 {
					t.Fatal(res, res.State.Tally.Deliberations)
				}
			})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Virtual})
		})
	}
}
