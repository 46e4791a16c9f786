package limit_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tavernsim/internal/doctest"
	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each file of testdata gives a machine its inputs, one a line, and holds below each,
// indented, the outputs that the machine answers with. Rewrite with
//
//	go test ./llm/limit -run Scripts -update
//
// Lines:
//
//	limits [requests=N] [tokens=N] [concurrency=N] [fixed] [queue=N] [retries=N] [kept=N]   first
//	+D                                   time passes; each output has the time at which it came
//	call NAME [scene=S] [class=C] [at=N] [rest=D] [tokens=N] [start=D] [deadline=D] [once]   start and deadline from now on
//	calls N PREFIX [...]                 calls PREFIX1 to PREFIXN
//	end NAME OUTCOME [after=D] [tokens=N] [said=WORD]
//	leave NAME
//	raise NAME CLASS
//	hint [refused] [sent=D] [requests=LIMIT/REMAINING/RESET] [tokens=LIMIT/REMAINING/RESET]   sent: so long ago
//	reopen
//	load
//	stalled
func TestScripts(t *testing.T) {
	doctest.Scripts(t, "testdata/*.txt", *update, func(t *testing.T, script string) string {
		p := &player{t: t, m: limit.New("cloud", limit.Options{}), calls: map[string]*limit.Call{}}
		for line := range strings.Lines(script) {
			if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, " ") {
				continue
			}
			p.out.WriteString(line + "\n")
			if line != "" && line[0] != '#' {
				p.play(strings.Fields(line))
			}
		}
		return p.out.String()
	})
}

type player struct {
	t     *testing.T
	m     *limit.Machine
	now   time.Duration
	calls map[string]*limit.Call
	out   strings.Builder
}

func (p *player) play(words []string) {
	o := optionsOf(words)
	switch words[0] {
	case "limits":
		p.m = limit.New("cloud", limit.Options{
			Requests: int64(o.number("requests")), Tokens: int64(o.number("tokens")), Concurrency: o.number("concurrency"), Fixed: o.has("fixed"),
			Queue: o.number("queue"), Retries: o.number("retries"), Kept: o.number("kept"),
		})
	case "call":
		p.call(words[1], o)
	case "calls":
		n, _ := strconv.Atoi(words[1])
		for i := range n {
			p.call(words[2]+strconv.Itoa(i+1), o)
		}
	case "end":
		again := p.m.End(p.now, p.calls[words[1]], limit.End{Outcome: llm.Outcome(words[2]), RetryAfter: o.time("after"), Tokens: int64(o.number("tokens")), Said: o["said"]})
		if again {
			fmt.Fprintf(&p.out, "  %s waits for another attempt\n", words[1])
		}
	case "leave":
		fmt.Fprintf(&p.out, "  waited: %v\n", p.m.Leave(p.now, p.calls[words[1]]))
	case "raise":
		p.m.Raise(p.now, p.calls[words[1]], class(words[2]))
	case "hint":
		p.m.Hint(p.now, p.now-o.time("sent"), limit.Hints{Requests: o.left("requests"), Tokens: o.left("tokens"), Refused: o.has("refused")})
	case "reopen":
		p.m.Reopen(p.now)
	case "load":
		fmt.Fprintf(&p.out, "  %+v\n", p.m.Load())
	case "stalled":
		s := p.m.Stalled(p.now)
		fmt.Fprintf(&p.out, "  %q until %s\n", s.Why, s.Until)
	default:
		p.pass(words[0])
	}
	p.print("")
}

func (p *player) pass(text string) {
	d, err := time.ParseDuration(strings.TrimPrefix(text, "+"))
	if err != nil {
		p.t.Fatal(err)
	}
	until := p.now + d
	for next, ok := p.m.Next(); ok && next <= until; next, ok = p.m.Next() {
		if next < p.now {
			p.t.Fatalf("%s: the next wake is at %s", p.now, next)
		}
		p.now = next
		p.m.Wake(p.now)
		p.print(p.now.Round(time.Millisecond).String() + " ")
	}
	p.now = until
}

func (p *player) call(name string, o options) {
	c := &limit.Call{
		Scene: o["scene"], Class: class(o["class"]), Tokens: int64(o.number("tokens")), Once: o.has("once"), Owner: name,
		Group: o["group"], Share: int64(o.number("share")),
		Rank:  limit.Rank{At: int64(o.number("at")), Rest: o.time("rest")},
		Start: p.now + o.time("start"), Deadline: p.now + time.Hour, Draw: protocol.NewDraw(protocol.HashString(name)),
	}
	if o.has("deadline") {
		c.Deadline = p.now + o.time("deadline")
	}
	p.calls[name] = c
	p.m.Arrive(p.now, c)
}

func (p *player) print(at string) {
	for _, x := range p.m.Take() {
		if x.Refused != nil {
			fmt.Fprintf(&p.out, "  %s%s is refused, %s: %s\n", at, x.Owner, llm.OutcomeOf(x.Refused), x.Refused)
		} else {
			fmt.Fprintf(&p.out, "  %s%s leaves\n", at, x.Owner)
		}
	}
}

func class(name string) limit.Class {
	for _, c := range limit.Classes() {
		if c.String() == name {
			return c
		}
	}
	return limit.Normal
}

type options map[string]string

func (o options) has(key string) bool { _, ok := o[key]; return ok }

func (o options) number(key string) int { n, _ := strconv.Atoi(o[key]); return n }

func (o options) time(key string) time.Duration { d, _ := time.ParseDuration(o[key]); return d }

func (o options) left(key string) (l limit.Left) {
	if parts := strings.Split(o[key], "/"); len(parts) == 3 {
		l.Known = true
		l.Limit, _ = strconv.ParseInt(parts[0], 10, 64)
		l.Remaining, _ = strconv.ParseInt(parts[1], 10, 64)
		l.Reset, _ = time.ParseDuration(parts[2])
	}
	return l
}

func optionsOf(words []string) options {
	o := options{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		o[key] = value
	}
	return o
}
