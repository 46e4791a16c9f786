package shadows

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/schedule"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// A turn ahead sees the committed world with what was asked for before its moment, in the order of the agents; what the
// committed run has, and what is taken back, is seen no more.
func TestLadder(t *testing.T) {
	sc := sceneOf(t)
	state, err := machines.New(sc)
	if err != nil {
		t.Fatal(err)
	}
	path := world.P("x")
	l := newLadder(sc.Rules, worldstate.NewState(state.World()), &tickOf{1, 10})
	ask := func(at schedule.Tick, agent uint32, of schedule.Tick, value int) {
		q := worldstate.Request{Change: world.Request{ID: "r", By: "a", Profile: "p", Path: path, Op: world.OpSet, Value: protocol.Encode(int64(value))}}
		l.ask(at, wish{agent, of, q.AppendMsg(nil)})
	}
	before := func(at schedule.Tick) string {
		s, err := l.before(at)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := s.World().Get(path)
		return fmt.Sprint(x)
	}
	want := func(what, now string, asked int) {
		t.Helper()
		if got := strings.Join([]string{before(0), before(3), before(4), before(5), before(9)}, " "); got != now || l.asked != asked {
			t.Errorf("%s: %s and %d asked, want %s and %d", what, got, l.asked, now, asked)
		}
	}
	want("nothing", "0 0 0 0 0", 0)
	ask(3, 1, 3, 13)
	ask(3, 0, 3, 3)
	want("two of one moment", "0 0 13 13 13", 2)
	ask(4, 0, 4, 4)
	ask(4, 0, 2, 2)
	want("two of one agent, the earlier turn later", "0 0 13 4 4", 4)
	ask(3, 2, 3, 23)
	want("one more", "0 0 23 4 4", 5)
	l.forget(0, 4)
	want("taken back from a moment on", "0 0 23 2 2", 4)
	l.forget(2, 3)
	want("taken back before it", "0 0 13 2 2", 3)
	doc, err := l.before(4)
	if err != nil {
		t.Fatal(err)
	}
	l.commit(3, doc)
	want("committed", "13 13 13 2 2", 1)
	ask(2, 1, 2, 99)
	want("asked for what is committed", "13 13 13 2 2", 1)
	ask(3, 1, 3, 33)
	want("another wave of the moment", "13 13 33 2 2", 2)
	l.commit(9, doc)
	want("all is committed", "13 13 13 13 13", 0)
}
