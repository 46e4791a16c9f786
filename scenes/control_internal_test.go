package scenes

import (
	"context"
	"testing"

	"tavernsim/engine/control"
	"tavernsim/protocol"
)

// A command that lets the scene end is answered before the scene has stopped, and its answer
// is read afterwards. The answer counts, also when whoever asked has given up since.
func TestACommandIsAnsweredByASceneThatHasStopped(t *testing.T) {
	over := make(chan struct{})
	close(over)
	given, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 { // a select between two that are ready takes either
		x := &command{Command: &control.Command{Do: control.Resume}, answer: make(chan commanded, 1)}
		x.answer <- commanded{Report: control.Report{State: control.Running}}
		if r, err := x.wait(given, over, "day"); err != nil || r.State != control.Running {
			t.Fatal(r, err)
		}
		if _, err := x.wait(context.Background(), over, "day"); protocol.KindOf(err) != protocol.KindConflict {
			t.Fatal(err)
		}
	}
}
