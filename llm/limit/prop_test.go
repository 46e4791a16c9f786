package limit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// forever is longer than everything that a gate waits for.
const forever = 1000 * time.Hour

// input is one step of a random script.
type input struct {
	kind     string
	call     int // index of an earlier call
	scene    string
	class    limit.Class
	tokens   int64
	start    time.Duration
	patience time.Duration
	once     bool
	outcome  llm.Outcome
	after    time.Duration // Retry-After, or the time that passes
	took     int64
	hints    limit.Hints
}

func inputs() *rapid.Generator[[]input] {
	seconds := func(most int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(0, most*10), func(n int) time.Duration { return time.Duration(n) * time.Second / 10 })
	}
	left := rapid.Custom(func(t *rapid.T) limit.Left {
		return limit.Left{Known: rapid.Bool().Draw(t, "known"), Limit: rapid.Int64Range(0, 50).Draw(t, "limit"), Remaining: rapid.Int64Range(0, 60).Draw(t, "remaining"), Reset: seconds(90).Draw(t, "reset")}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) input {
		return input{
			kind:  rapid.SampledFrom([]string{"call", "call", "call", "end", "end", "end", "pass", "pass", "leave", "raise", "hint", "reopen"}).Draw(t, "kind"),
			call:  rapid.IntRange(0, 1000).Draw(t, "call"),
			scene: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "scene"), class: rapid.SampledFrom(limit.Classes()).Draw(t, "class"),
			tokens: rapid.Int64Range(0, 400).Draw(t, "tokens"), took: rapid.Int64Range(0, 400).Draw(t, "took"),
			start: seconds(5).Draw(t, "start"), patience: rapid.OneOf(seconds(600), rapid.Just(forever)).Draw(t, "patience"), once: rapid.Bool().Draw(t, "once"),
			outcome: rapid.SampledFrom(append(llm.Outcomes(), llm.OutcomeServerError, llm.OutcomeServerError, llm.OutcomeTimeout, llm.OutcomeOK)).Draw(t, "outcome"),
			after:   rapid.OneOf(rapid.Just(time.Duration(0)), seconds(20)).Draw(t, "after"), hints: limit.Hints{Requests: left.Draw(t, "requests"), Tokens: left.Draw(t, "tokens")},
		}
	}), 1, 150)
}

// world checks a machine from outside: it sees only what goes in and comes out.
type world struct {
	t     *rapid.T
	m     *limit.Machine
	opt   limit.Options
	now   time.Duration
	calls []*limit.Call
	ended map[*limit.Call]int
	out   []*limit.Call
	left  []departure
	log   strings.Builder
}

// shareOfB is that of the calls of one scene, in thousandths.
const shareOfB = 300

type departure struct {
	call   *limit.Call
	at     time.Duration
	tokens int64
}

func (w *world) play(in input) {
	pick := func(from []*limit.Call) *limit.Call {
		if len(from) == 0 {
			return nil
		}
		return from[in.call%len(from)]
	}
	switch in.kind {
	case "call":
		c := &limit.Call{
			Scene: in.scene, Class: in.class, Tokens: in.tokens, Once: in.once, Owner: len(w.calls),
			Start: w.now + in.start, Deadline: w.now + in.patience, Draw: protocol.NewDraw(uint64(len(w.calls))),
		}
		if in.scene == "b" {
			c.Group, c.Share = in.scene, shareOfB
		}
		w.calls = append(w.calls, c)
		w.m.Arrive(w.now, c)
	case "end":
		if c := pick(w.out); c != nil {
			w.end(c, limit.End{Outcome: in.outcome, RetryAfter: in.after, Tokens: min(in.took, c.Tokens)})
		}
	case "leave":
		if c := pick(w.calls); c != nil && w.m.Leave(w.now, c) {
			w.ended[c]++
		}
	case "raise":
		if c := pick(w.calls); c != nil {
			w.m.Raise(w.now, c, in.class)
		}
	case "hint":
		w.m.Hint(w.now, w.now-in.start, in.hints)
	case "reopen":
		w.m.Reopen(w.now)
	case "pass":
		w.pass(w.now + in.after)
	}
	w.take()
}

func (w *world) end(c *limit.Call, e limit.End) {
	w.out = slices.DeleteFunc(w.out, func(o *limit.Call) bool { return o == c })
	for i := range w.left { // the truth replaces the estimate
		if d := &w.left[len(w.left)-1-i]; d.call == c {
			if e.Tokens > 0 {
				d.tokens = e.Tokens
			}
			break
		}
	}
	if !w.m.End(w.now, c, e) {
		w.ended[c]++
	}
}

func (w *world) pass(until time.Duration) {
	for next, ok := w.m.Next(); ok && next <= until; next, ok = w.m.Next() {
		if next < w.now {
			w.t.Fatalf("at %s the next wake is at %s", w.now, next)
		}
		w.now = next
		w.m.Wake(w.now)
		w.take()
	}
	w.now = until
}

// take checks what came out.
func (w *world) take() {
	for _, x := range w.m.Take() {
		fmt.Fprintln(&w.log, w.now, x.Owner, x.Refused)
		if x.Refused != nil {
			if w.ended[x.Call]++; x.Deadline > forever && llm.OutcomeOf(x.Refused) == llm.OutcomeTimeout {
				w.t.Fatalf("at %s: call %v starved: %s", w.now, x.Owner, x.Refused)
			}
			continue
		}
		w.out = append(w.out, x.Call)
		if w.now < x.Start || w.now > x.Deadline {
			w.t.Fatalf("call %v left at %s, not between %s and %s", x.Owner, w.now, x.Start, x.Deadline)
		}
		if l := w.m.Load(); len(w.out) > w.opt.Concurrency || len(w.out) > l.Limit && w.opt.Fixed {
			w.t.Fatalf("%d are out of %+v", len(w.out), l)
		}
		grouped := 0
		for _, c := range w.out {
			if c.Group != "" {
				grouped++
			}
		}
		if most := max(1, w.m.Load().Limit*shareOfB/1000); x.Group != "" && grouped > most && w.opt.Fixed {
			w.t.Fatalf("%d calls of a group are out; its share is %d", grouped, most)
		}
		w.left = append(w.left, departure{x.Call, w.now, x.Tokens})
		w.checkRates()
	}
	if l := w.m.Load(); l.Out != len(w.out) {
		w.t.Fatalf("%d are out, the machine says %d", len(w.out), l.Out)
	}
}

// checkRates: never above a rate in any minute. A call above the whole rate is alone.
func (w *world) checkRates() {
	var requests, tokens int64
	for _, d := range w.left {
		if d.at > w.now-time.Minute {
			requests++
			tokens += d.tokens
		}
	}
	if w.opt.Requests > 0 && requests > w.opt.Requests || w.opt.Tokens > 0 && tokens > w.opt.Tokens && tokens != w.left[len(w.left)-1].tokens {
		w.t.Fatalf("at %s: %d requests and %d tokens in a minute; want at most %d and %d", w.now, requests, tokens, w.opt.Requests, w.opt.Tokens)
	}
}

// settle lets every call end: nobody starves.
func (w *world) settle() {
	for range 10 * (len(w.calls) + 1) {
		w.take()
		for len(w.out) > 0 {
			w.end(w.out[0], limit.End{Outcome: llm.OutcomeOK})
			w.take()
		}
		next, ok := w.m.Next()
		if !ok {
			break
		}
		w.pass(next)
	}
	for _, c := range w.calls {
		if w.ended[c] != 1 {
			w.t.Fatalf("call %v ended %d times", c.Owner, w.ended[c])
		}
	}
}

func play(t *rapid.T, o limit.Options, script []input) string {
	w := &world{t: t, m: limit.New("cloud", o), opt: o.WithDefaults(), ended: map[*limit.Call]int{}}
	for _, in := range script {
		w.play(in)
	}
	w.settle()
	return w.log.String()
}

// Whatever comes in: never more out than the limit allows, never above a rate in any
// minute, every call ends exactly once, and the same script gives the same order.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := limit.Options{
			Requests: rapid.Int64Range(0, 30).Draw(t, "requests"), Tokens: rapid.Int64Range(0, 3000).Draw(t, "tokens"),
			Concurrency: rapid.IntRange(1, 40).Draw(t, "concurrency"), Fixed: rapid.Bool().Draw(t, "fixed"),
			Queue: rapid.IntRange(1, 30).Draw(t, "queue"), Kept: rapid.IntRange(-1, 50).Draw(t, "kept"),
		}
		script := inputs().Draw(t, "script")
		if first, again := play(t, o, script), play(t, o, script); first != again {
			t.Fatalf("one order:\n%sanother:\n%s", first, again)
		}
	})
}

// Nobody starves: while higher classes never end, a call of the lowest leaves after at
// most 16 others for each lower class that waits.
func TestShareOfLowerClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := limit.New("cloud", limit.Options{Concurrency: 1, Fixed: true, Kept: -1})
		waiting := map[limit.Class]int{}
		arrive := func(class limit.Class) {
			waiting[class]++
			m.Arrive(0, &limit.Call{Class: class, Scene: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "scene"), Deadline: time.Hour})
		}
		since := map[limit.Class]int{}
		for _, class := range limit.Classes() {
			for range 3 {
				arrive(class)
			}
		}
		for range 200 {
			x := m.Take()[0]
			for class := range waiting {
				since[class]++
			}
			since[x.Class] = 0
			for class, n := range since {
				if n > 3*16 {
					t.Fatalf("%s waits for %d releases", class, n)
				}
			}
			arrive(x.Class)
			m.End(0, x.Call, limit.End{Outcome: llm.OutcomeOK})
		}
	})
}
