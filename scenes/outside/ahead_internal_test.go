package outside

import (
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// Promise 2: what a shadow asked is found by the turn itself, at the same time and with the same
// question only; and a shadow never takes the place of the turn.
func TestAShadowsPlace(t *testing.T) {
	effect := func(question Question, at protocol.Time, ahead bool) *Effect {
		return &Effect{Agent: "a", Turn: 3, Request: 1, Kind: "model", Question: question, MayRepeat: true, At: at, Ahead: ahead}
	}
	under := func(e *Effect) *Effect { e.Most = &Most{Endpoint: "far", Tokens: 10}; return e }
	for _, c := range []struct {
		name          string
		first, second *Effect
		later         bool // the log was opened in between
		want          verdict
		used, wasted  int64
	}{
		{"the turn asks the same", effect("q", 10, true), effect("q", 10, false), false, join, 1, 0},
		{"the turn asks something else", effect("q", 10, true), effect("p", 10, false), false, carryOut, 0, 1},
		{"the turn asks the same at another time", effect("q", 10, true), effect("q", 20, false), false, carryOut, 0, 1},
		{"a shadow asks anew", effect("q", 10, true), effect("p", 10, true), false, carryOut, 0, 1},
		{"a shadow comes too late", effect("q", 10, false), effect("p", 10, true), false, late, 0, 0},
		{"a shadow asks what the turn asked", effect("q", 10, false), effect("q", 10, true), false, join, 0, 0},
		{"after a kill, a shadow at the place of a turn under a budget", under(effect("q", 10, false)), effect("p", 10, true), true, late, 0, 0},
		{"after a kill, at another time", effect("q", 10, false), effect("q", 20, false), true, carryOut, 0, 0},
		{"after a kill, at its time", effect("q", 10, false), effect("q", 10, false), true, join, 0, 0},
	} {
		table := newTable()
		table.request(c.first, 1).flight = &Flight{}
		if c.later {
			table.later(5)
		}
		v, p := table.decide(c.second)
		if v.out() {
			table.request(c.second, 1)
		} else {
			table.use(c.second, p)
		}
		if s := table.shadows; v != c.want || s.Used != c.used || s.Wasted != c.wasted {
			t.Errorf("%s: %v, want %v; %+v", c.name, v, c.want, s)
		}
	}
}

// An answer to a shadow was granted to nobody: the turn asks the ledgers for it. One that the turn itself
// got before a kill was.
func TestAShadowsAnswerIsNotPaid(t *testing.T) {
	for _, c := range []struct {
		ahead, under, killed, used, want bool
	}{
		{under: true, want: true},
		{under: true, killed: true, want: true},
		{ahead: true},
		{ahead: true, killed: true},
		{ahead: true, used: true, want: true},
	} {
		var fates []Fate
		e := &Effect{Agent: "a", Turn: 3, Request: 1, Kind: "model", Question: "q", MayRepeat: true, At: 10, Ahead: c.ahead, became: func(f Fate) { fates = append(fates, f) }}
		if c.under {
			e.Most = &Most{Endpoint: "far", Tokens: 10}
		}
		l := &Log{table: newTable()}
		l.table.request(e, 1)
		l.table.answered(e, 7, Most{})
		if c.killed {
			l.table.later(5)
		}
		own := &Effect{Agent: "a", Turn: 3, Request: 1, Kind: "model", Question: "q", At: 10}
		if c.used {
			l.table.use(own, l.table.find(own))
		}
		if got := l.answers(own, func() Question { return "q" }); got != c.want || c.used && (len(fates) != 1 || fates[0] != Used) {
			t.Errorf("%+v: %t, fates %v", c, got, fates)
		}
	}
}

// What only a shadow asked is wasted when its turn has ended, and the longest turn of each wave makes
// up the time of the barrier.
func TestShadowsAreCounted(t *testing.T) {
	table := newTable()
	for turn := uint64(1); turn <= 3; turn++ {
		table.request(&Effect{Agent: "a", Turn: turn, Request: 1, Kind: "model", Ahead: turn == 3}, 1).took.Took = time.Duration(turn) * time.Second
	}
	table.end(turnKey{"a", 1}, 8)
	table.end(turnKey{"a", 2}, 9)
	if took, wasted := table.end(turnKey{"a", 3}, 10); len(wasted) != 1 || took.Took != 0 || table.shadows.Wasted != 1 || table.shadows.Barrier != 3*time.Second {
		t.Errorf("%v, %+v", wasted, table.shadows)
	}
}

// A shadow that is behind the committed run asks nothing for a turn that is over, also when the log has
// no place of it any more; nobody would take the answer.
func TestAShadowBehind(t *testing.T) {
	table := newTable()
	table.ahead = true
	table.request(&Effect{Agent: "a", Turn: 3, Request: 1, Kind: "model", Question: "q"}, 1)
	table.end(turnKey{"a", 3}, 8)
	table.kept(8)
	for _, c := range []struct {
		agent string
		turn  uint64
		ahead bool
		want  verdict
	}{{"a", 3, true, late}, {"a", 2, true, late}, {"a", 4, true, carryOut}, {"b", 3, true, carryOut}, {"a", 3, false, carryOut}} {
		if v, _ := table.decide(&Effect{Agent: c.agent, Turn: c.turn, Request: 1, Kind: "model", Question: "q", Ahead: c.ahead}); v != c.want {
			t.Errorf("%+v: %v", c, v)
		}
	}
}

// What is not known of a request names the turn that made it, or the task: agents know no turn of one.
func TestUnknownOutcomes(t *testing.T) {
	for _, of := range []string{"", "of task ada/3/5"} {
		err := (&Effect{Agent: "a", Turn: 3, Request: 5, Kind: "tool", To: "tools", Of: of}).unknown("the process ended")
		want := "tool request 5 of turn 3 to tools: the process ended"
		if of != "" {
			want = "tool request of task ada/3/5 to tools: the process ended"
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "turn 3") != (of == "") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
