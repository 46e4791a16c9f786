package ladder

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/schedule"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

func worldOf(t *testing.T) (*worldstate.Machine, worldstate.State) {
	t.Helper()
	rules, err := worldstate.New(1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := world.FromValue(map[string]any{"x": int64(0)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rules, worldstate.NewState(doc)
}

// six are agents of one letter, in classes of two.
var six = Cast{
	Ordinal: func(agent string) (uint32, bool) {
		o := strings.Index("abcdef", agent)
		return uint32(o), o >= 0
	},
	Class: []uint16{0, 0, 1, 1, 2, 2},
}

// A turn ahead sees the committed world with what was asked for before its moment, in the order of the agents; what the
// committed run has, and what is taken back, is seen no more. Promises 1 and 2.
func TestLadder(t *testing.T) {
	rules, state := worldOf(t)
	path := world.P("x")
	l := New(rules, state, 0, func(at schedule.Tick) protocol.Time { return 1 + 10*protocol.Time(at) }, six)
	ask := func(at schedule.Tick, agent uint32, of schedule.Tick, value int) {
		q := worldstate.Request{Change: world.Request{ID: "r", By: "a", Profile: "p", Path: path, Op: world.OpSet, Value: protocol.Encode(int64(value))}}
		l.Ask(at, Wish{agent, of, q.AppendMsg(nil)})
	}
	before := func(at schedule.Tick) string {
		s, err := l.Before(at)
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
	l.Forget(0, 4)
	want("taken back from a moment on", "0 0 23 2 2", 4)
	l.Forget(2, 3)
	want("taken back before it", "0 0 13 2 2", 3)
	doc, err := l.Before(4)
	if err != nil {
		t.Fatal(err)
	}
	l.Commit(3, doc)
	want("committed", "13 13 13 2 2", 1)
	ask(2, 1, 2, 99)
	want("asked for what is committed", "13 13 13 2 2", 1)
	ask(3, 1, 3, 33)
	want("another wave of the moment", "13 13 33 2 2", 2)
	l.Commit(9, doc)
	want("all is committed", "13 13 13 13 13", 0)
}

// A turn ahead sees no value that has expired by its moment. The wave in which one expires takes along what takes
// effect then, so the turn sees that, too. Promise 1.
func TestLadderForeseesExpiries(t *testing.T) {
	rules, state := worldOf(t)
	moment := func(at schedule.Tick) protocol.Time { return 1 + protocol.Time(at)*protocol.Time(time.Second) }
	set := func(key string, ttl time.Duration) worldstate.Request {
		b := command.Batch{Entries: []command.Entry{{Action: command.Set, Key: "world." + key, Value: int64(1), HasValue: true, HasKey: true, Options: &command.Options{TTL: ttl}}}}
		return worldstate.Request{Kind: worldstate.Commands, Change: world.Request{ID: "r" + key, By: "a", Profile: "p"}, Batch: &b}
	}
	made := rules.Decide(state, moment(0), []worldstate.Request{set("a", 2*time.Second), set("b", 4*time.Second)})
	l := New(rules, made.Next, 0, moment, six)
	path := world.P("c")
	ask := func(at schedule.Tick, value int) {
		q := worldstate.Request{Change: world.Request{ID: fmt.Sprint("c", at), By: "a", Profile: "p", Path: path, Op: world.OpSet, Value: protocol.Encode(int64(value))}}
		l.Ask(at, Wish{0, at, q.AppendMsg(nil)})
	}
	ask(4, 44)
	ask(5, 55)
	for _, at := range []schedule.Tick{1, 2, 3, 4, 5, 6, 9, 2, 4, 6, 3} {
		if x, err := l.Expires(at); err != nil || x != (at == 2 || at == 4) {
			t.Errorf("at %d something expires: %t, %v", at, x, err)
		}
		s, err := l.Before(at)
		if err != nil {
			t.Fatal(err)
		}
		_, a := s.World().Get(world.P("a"))
		_, b := s.World().Get(world.P("b"))
		c, _ := s.World().Get(path)
		want := map[schedule.Tick]string{1: "true true <nil>", 2: "false true <nil>", 3: "false true <nil>", 4: "false false 44", 5: "false false 44"}[at]
		if got := fmt.Sprint(a, b, c); got != cmp.Or(want, "false false 55") {
			t.Errorf("before %d: %s; want %s", at, got, want)
		}
	}
}

// A ladder says whose requests it refuses, as long as they are no facts.
func TestLadderRefuses(t *testing.T) {
	rules, state := worldOf(t)
	l := New(rules, state, 0, func(at schedule.Tick) protocol.Time { return 1 + 10*protocol.Time(at) }, six)
	ask := func(at schedule.Tick, agent uint32, by string, op world.Op, value any) {
		q := worldstate.Request{Change: world.Request{ID: "r" + by, By: by, Profile: "p", Path: world.P("x"), Op: op, Value: protocol.Encode(value)}}
		l.Ask(at, Wish{agent, at, q.AppendMsg(nil)})
	}
	want := func(what string, at schedule.Tick, names string, told string) {
		t.Helper()
		own, others := "", ""
		for o, name := range []string{"a", "b", "c"} {
			refuses, err := l.Refuses(at, uint32(o), func(uint32) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			if refuses {
				own += name
			}
			if refuses, err = l.Refuses(at, 5, func(other uint32) bool { return other/2 == uint32(o)/2 }); err != nil {
				t.Fatal(err)
			}
			if refuses {
				others += name
			}
		}
		if own != names || others != told {
			t.Errorf("%s: %q are refused something, and the classes of %q; want %q and %q", what, own, others, names, told)
		}
	}
	ask(3, 1, "b", world.OpAdd, int64(1))
	want("a number", 9, "", "")
	ask(2, 0, "a", world.OpSet, "word")
	want("a text", 9, "b", "ab")
	want("before that moment", 3, "", "")
	l.Forget(0, 2)
	want("taken back", 9, "", "")
	ask(3, 0, "a", world.OpPush, int64(1))
	ask(3, 2, "c", world.OpPush, int64(1))
	ask(3, 3, "nobody", world.OpPush, int64(1))
	want("at one moment", 4, "ac", "abc")
	l.Commit(3, state)
	want("committed", 9, "", "")
}

// Whoever asks whether it is refused looks at no more agents however many are refused, and names are resolved once.
func TestRefusalsOfACrowd(t *testing.T) {
	for _, n := range []uint32{10, 1000} {
		rules, state := worldOf(t)
		named, looked := uint32(0), uint32(0)
		l := New(rules, state, 0, func(at schedule.Tick) protocol.Time { return 1 + 10*protocol.Time(at) }, Cast{
			Ordinal: func(agent string) (uint32, bool) {
				named++
				o, err := strconv.Atoi(agent)
				return uint32(o), err == nil
			},
			Class: make([]uint16, n),
		})
		for o := range n {
			l.cast.Class[o] = uint16(o % 3)
			q := worldstate.Request{Change: world.Request{ID: "r", By: fmt.Sprint(o), Profile: "p", Path: world.P("x"), Op: world.OpPush, Value: protocol.Encode(int64(1))}}
			l.Ask(3, Wish{o, 3, q.AppendMsg(nil)})
		}
		for o := range n {
			if refuses, err := l.Refuses(4, n+o, func(uint32) bool { looked++; return false }); err != nil || refuses {
				t.Fatal(o, refuses, err)
			}
		}
		if named != n || looked != 3*n {
			t.Errorf("%d are refused: %d names were resolved, and %d agents looked at", n, named, looked)
		}
	}
}
