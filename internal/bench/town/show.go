package town

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tavernsim/internal/terminal"
	"tavernsim/protocol"
)

// Options are what `simd bench schedule` computes.
type Options struct {
	Agents []int    // numbers of agents of the towns
	Hours  []string // busy, quiet
	Seeds  int      // towns of each kind
	Slots  int      // calls at once
	Trace  string   // a file, in place of towns
	JSON   bool

	Engine   []string // schedules under which the engine plays each town, too; they are Playable
	Compress int      // by which the engine's calls are shorter
	// Play lets the engine do it; it tells seen how many seconds it has taken. Nil without Engine.
	Play func(ctx context.Context, t *Trace, schedule string, slots int, compression int, seen func(seconds float64)) (Played, error)
}

// MaxCompress is by how much the engine's calls can be shorter.
const MaxCompress = 1000

// Check reports an option with no meaning.
func (o *Options) Check() error {
	if o.Trace == "" && len(o.Hours) == 0 {
		return errors.New("--hour: want busy, quiet, or both with a comma between them")
	}
	for i, h := range o.Hours {
		if Hour(h) != Busy && Hour(h) != Quiet || slices.Contains(o.Hours[:i], h) {
			return fmt.Errorf("--hour %s: want busy, quiet, or both with a comma between them", h)
		}
	}
	for i, n := range o.Agents {
		if n > MaxAgents || slices.Contains(o.Agents[:i], n) {
			return fmt.Errorf("--agents %d: want at most %d, each number at most once", n, MaxAgents)
		}
	}
	for i, name := range o.Engine {
		if !slices.Contains(Playable(), name) || slices.Contains(o.Engine[:i], name) {
			return fmt.Errorf("--engine %s: want %s, each at most once, with commas between them", name, strings.Join(Playable(), ", "))
		}
	}
	if o.Compress > MaxCompress {
		return fmt.Errorf("--compress %d: want at most %d", o.Compress, MaxCompress)
	}
	return nil
}

// Show computes the towns and writes what came of them: a table of each kind, or
// objects. A terminal for errors shows how far it is.
func (o *Options) Show(ctx context.Context, out, progress io.Writer) error {
	if o.Trace != "" {
		t, err := readTrace(o.Trace)
		if err != nil {
			return err
		}
		return o.group(ctx, out, progress, fmt.Sprintf("%s: %s agents, %s steps", o.Trace, terminal.Thousands(int64(t.Agents)), terminal.Thousands(int64(t.Steps))), 1, func(int) *Trace { return t })
	}
	for _, h := range o.Hours {
		for _, n := range o.Agents {
			title := fmt.Sprintf("%s agents, %s hour", terminal.Thousands(int64(n)), h)
			err := o.group(ctx, out, progress, title, o.Seeds, func(seed int) *Trace {
				return Generate(n, StepsOfAnHour, Hour(h), uint64(seed))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func readTrace(name string) (*Trace, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// group computes towns of one kind, and shows them together.
func (o *Options) group(ctx context.Context, out, progress io.Writer, title string, seeds int, trace func(seed int) *Trace) error {
	var list []Comparison
	for seed := 1; seed <= seeds; seed++ {
		p := newProgressLine(progress, fmt.Sprintf("%s, %d of %d", title, seed, seeds))
		tr := trace(seed)
		c, err := Compare(ctx, tr, o.Slots, p.show)
		if err == nil {
			err = o.play(ctx, tr, &c, p)
		}
		p.end()
		if err != nil {
			return err
		}
		list = append(list, c)
		if o.JSON {
			if err := writeObject(out, c); err != nil {
				return err
			}
		}
	}
	if o.JSON {
		return nil
	}
	return showComparisons(out, title, o.Slots, o.Compress, list)
}

// play lets the engine play a town that has been computed.
func (o *Options) play(ctx context.Context, t *Trace, c *Comparison, line *progressLine) error {
	at := map[string]float64{}
	for _, r := range c.Schedules {
		at[r.Schedule] = r.Seconds
	}
	for _, name := range o.Engine {
		p, err := o.Play(ctx, t, name, o.Slots, o.Compress, func(seconds float64) {
			line.show("of the time that it should take: the engine, "+name, seconds*float64(o.Compress)/at[name])
		})
		if err != nil {
			return err
		}
		p.ToPolicy, p.ToBarrier = Ratio(p.Seconds, at[name]), Ratio(at[Barrier], p.Seconds)
		if c.Played = append(c.Played, p); p.Digest != c.Played[0].Digest {
			return protocol.Errorf(protocol.KindInternal, "bench: %s, seed and answers of one town, and two histories: digest %s under %s, %s under %s", c.Trace, c.Played[0].Digest, c.Played[0].Schedule, p.Digest, name)
		}
	}
	return nil
}

// progressLine is one line on a terminal; elsewhere there is none.
type progressLine struct {
	screen *terminal.Screen
	title  string
	last   time.Time
}

func newProgressLine(w io.Writer, title string) *progressLine {
	s, _ := w.(*terminal.Screen)
	return &progressLine{screen: s, title: title}
}

func (p *progressLine) show(schedule string, share float64) {
	if p.screen == nil || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last = time.Now()
	p.screen.Rewrite(fmt.Sprintf("%s  %s %s", p.title, fmt.Sprintf("%3.0f %%", 100*share), schedule))
}

func (p *progressLine) end() {
	if p.screen != nil {
		p.screen.Rewrite("")
	}
}

// showComparisons is the table of towns of one kind: means, and the share of the
// oracle of each.
func showComparisons(w io.Writer, title string, slots int, compress int, list []Comparison) error {
	calls := 0.0
	for _, c := range list {
		calls += float64(c.Calls) / float64(len(list))
	}
	fmt.Fprintf(w, "%s: %s calls, %d at once\n", title, terminal.Thousands(int64(calls)), slots)
	t := terminal.NewTable(w, "  schedule", ">time", ">of the oracle", ">to the barrier", ">wasted", ">in flight", "of the oracle, by seed")
	for i, r := range list[0].Schedules {
		var time, share, speed, wasted, flight float64
		var each []string
		for _, c := range list {
			r, n := c.Schedules[i], float64(len(list))
			time, share, speed, wasted, flight = time+r.Seconds/n, share+r.OfOracle/n, speed+r.ToBarrier/n, wasted+r.Wasted/n, flight+r.InFlight/n
			each = append(each, fmt.Sprintf("%.0f", 100*r.OfOracle))
		}
		t.Row("  "+strings.ReplaceAll(r.Schedule, "_", " "), terminal.Thousands(int64(time+0.5))+" s", fmt.Sprintf("%.1f %%", 100*share), fmt.Sprintf("%.2fx", speed), fmt.Sprintf("%.1f %%", 100*wasted), fmt.Sprintf("%.1f", flight), strings.Join(each, " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := showPlayed(w, compress, list); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// showPlayed is the table of what the engine took.
func showPlayed(w io.Writer, compress int, list []Comparison) error {
	if len(list[0].Played) == 0 {
		return nil
	}
	bare := 0.0
	for _, c := range list {
		for _, p := range c.Played {
			bare += p.Bare / float64(len(list)*len(c.Played))
		}
	}
	fmt.Fprintf(w, "  the engine, with calls %d times shorter; a bare client that asks one after the other takes %.3f times what they should\n", compress, bare)
	t := terminal.NewTable(w, "  schedule", ">time", ">to its policy", ">to the barrier", ">wasted", "to its policy, by seed")
	for i, p := range list[0].Played {
		var time, policy, speed, wasted float64
		var each []string
		for _, c := range list {
			p, n := c.Played[i], float64(len(list))
			time, policy, speed, wasted = time+p.Seconds/n, policy+p.ToPolicy/n, speed+p.ToBarrier/n, wasted+p.Wasted/n
			each = append(each, fmt.Sprintf("%.2f", p.ToPolicy))
		}
		t.Row("  "+p.Schedule, terminal.Thousands(int64(time+0.5))+" s", fmt.Sprintf("%.3f", policy), fmt.Sprintf("%.2fx", speed), fmt.Sprintf("%.1f %%", 100*wasted), strings.Join(each, " "))
	}
	return t.Flush()
}

func writeObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
