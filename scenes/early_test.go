package scenes_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// The world decides about the first turns of a large wave while others deliberate. It comes to what it decides
// behind them, also when it fails at any of its messages: what it has already is asked of it again, once. SIMD_TEST_LONG=1
// lets it fail at each.
func TestTheWorldDecidesEarly(t *testing.T) {
	text := strings.NewReplacer("count: 3}", "count: 2100}", "ticks: 12", "ticks: 2", "tool: 'WriteToKnowledgeBaseTool'", "tool: 'UpdatePrivateStateTool'", "{entry: {entry_type: 'note', content: 'hm'}}", "{updates: {said: 'hm'}}", "subscribed_event_types: [agent.failed, tick]\n", "").Replace(shaky)
	project := shakyProject(t, text, func(any) any { return "ok" })
	run := func(workers int, options ...func(*scenes.Options)) string {
		s, set := scenestest.New(t, project, ""), scenestest.Settings{Workers: workers}
		r, err := s.StartWith(set, options...)
		if err != nil {
			t.Fatal(err)
		}
		end := r.Close()
		if end.Err != nil || !end.Final {
			t.Fatal(end)
		}
		mustRestore(t, s, set)
		mustVerify(t, s, set)
		n, _ := s.Fold(t, set).World().Get(world.P("n"))
		return fmt.Sprint(n)
	}
	var messages, early atomic.Int64
	calm := run(1, scenes.InFront(func(actor string, env *protocol.Envelope) {
		if actor == machines.ActorWorld && env.Kind == protocol.KindCommit {
			if messages.Add(1); env.Type != "" {
				early.Add(1)
			}
		}
	}))
	if early.Load() == 0 {
		t.Fatal("the world got no message before the end of a wave: nothing is tested")
	}
	every := messages.Load()/2 + 1 // at the first and in the middle
	if scenestest.Long() {
		every = 1
	}
	plays := 0
	for nth := int64(0); nth < messages.Load(); nth += every {
		plays++
		if got := run(plays%3+1, scenes.FailAt(map[string]int64{machines.ActorWorld: nth + 1})); got != calm {
			t.Errorf("with a failure at message %d the world counts %s, without %s", nth+1, got, calm)
		}
	}
}
