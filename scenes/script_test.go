package scenes_test

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/template"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive of testdata/script is a project (laid over scenestest.Base),
// commands in its comment, and in its last file, want, what they print: the
// facts that were kept. The same commands are played under other settings and
// must give the same digests: under one of them, with SIMD_TEST_LONG=1 under each. Rewrite with
//
//	go test ./scenes -run Scripts -update
//
// Commands:
//
//	run [tools=MODE] [seed=N] [ticks=N] [for=D] [agents=N] [until=EXPR] [interrupt=WAVE] [orders=FILE] [interactive] [scenes=ID,...]   run, or go on, and print the new facts
//	    (with scenes: these together, linked, one run of them)
//	show KIND...   from now on print facts of these kinds only; without kinds all
//	world          print the world
//	agent ID       print an agent's private state, goals, observations and history
func TestScripts(t *testing.T) {
	doctest.Archives(t, "testdata/script/*.txtar", "want", *update, playFile)
}

// otherSettings are ways to run a scene that nobody may be able to tell apart.
func otherSettings(t *testing.T) []scenestest.Settings {
	all := []scenestest.Settings{{Workers: 1, BatchFacts: 1, Snapshots: 1}, {Workers: 4, BatchFacts: 7, Snapshots: 10}}
	switch one := len(t.Name()) % len(all); {
	case testing.Short():
		return nil
	case scenestest.Long():
		return all
	default:
		return all[one : one+1]
	}
}

func playFile(t *testing.T, a *txtar.Archive, _ string) string {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), a), nil)
	if err != nil {
		if faults, ok := errors.AsType[*project.Error](err); ok {
			for _, f := range faults.Faults {
				t.Error(f)
			}
		}
		t.Fatal(err)
	}
	first := &player{t: t, scene: scenestest.New(t, p, ""), archive: a, print: true, checks: !testing.Short()}
	first.play(string(a.Comment))
	got := first.b.String()
	for _, set := range otherSettings(t) {
		again := &player{t: t, scene: first.scene.Fresh(t), archive: a, set: set, checks: true}
		again.play(string(a.Comment))
		if strings.Join(again.digests, " ") != strings.Join(first.digests, " ") {
			t.Errorf("%+v: the digests are %v, before they were %v", set, again.digests, first.digests)
		}
	}
	return got
}

// player carries out the commands of one script.
type player struct {
	t       *testing.T
	scene   *scenestest.Scene
	linked  scenestest.Linked // that ran together
	orders  string            // file
	set     scenestest.Settings
	archive *txtar.Archive
	print   bool
	checks  bool // not in the short form, which looks for races: one goroutine checks
	ran     bool
	kinds   []string
	last    uint64
	b       strings.Builder
	digests []string
}

func (p *player) play(commands string) {
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if looks := words[0] == "world" || words[0] == "agent"; looks && !p.ran {
			p.t.Fatalf("%q: there is no run to look at; a line run comes first", strings.TrimSpace(line))
		}
		switch words[0] {
		case "run":
			p.ran = true
			p.run(words[1:])
		case "show":
			p.kinds = words[1:]
		case "world":
			fmt.Fprintf(&p.b, "world %s\n", template.AppendJSON(nil, p.scene.Fold(p.t, p.set).World().Value()))
		case "agent":
			p.agent(words[1])
		default:
			p.t.Fatalf("unknown command %q", line)
		}
	}
}

func (p *player) run(args []string) {
	set := p.set
	stop := p.scene.Def.Definition.Simulation.Stop
	var linked []string
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "seed":
			set.Seed = uint64(n)
		case "ticks":
			stop.Ticks = n
		case "agents":
			set.Agents = int(n)
		case "until":
			set.Until = value
		case "tools":
			set.Tools = tooling.Mode(value)
		case "interrupt":
			set.InterruptAt = uint64(n)
		case "scenes":
			linked = strings.Split(value, ",")
		case "interactive":
			set.People = true
		case "orders":
			set.Orders, p.orders = ordersOf(p.t, p.archive, value, ""), value
		case "for":
			d, err := time.ParseDuration(value)
			if err != nil {
				p.t.Fatal(err)
			}
			stop.After = protocol.Duration(d)
		default:
			p.t.Fatalf("unknown setting %q", arg)
		}
	}
	if linked != nil {
		p.together(linked, set)
		return
	}
	set.Stop = &stop
	r := p.scene.Run(p.t, set)
	if set.InterruptAt == 0 { // where an interrupt takes effect is a matter of luck
		p.digests = append(p.digests, r.Digest())
	}
	if p.check(p.scene, set); !p.print {
		return
	}
	text, last := trace(p.t, p.scene, p.last, p.kinds...)
	p.last = last
	if set.InterruptAt == 0 {
		p.b.WriteString(text)
	}
	fmt.Fprintf(&p.b, "stopped by %s%s\n", r.Reason, errorText(r.Err))
	if r.DeadLetters > 0 {
		fmt.Fprintf(&p.b, "dead letters %d\n", r.DeadLetters)
	}
}

// together runs linked scenes, and prints what each did.
func (p *player) together(ids []string, set scenestest.Settings) {
	p.linked = p.scene.Beside(p.t, ids...)
	results := p.linked.Run(p.t, func(s *scenestest.Scene) scenestest.Settings {
		own := set
		own.Orders = ordersOf(p.t, p.archive, p.orders, s.Def.Definition.ID)
		return own
	})
	for i, s := range p.linked {
		p.digests = append(p.digests, results[i].Digest())
		if p.check(s, set); p.print {
			text, _ := trace(p.t, s, 0, p.kinds...)
			fmt.Fprintf(&p.b, "scene %s\n%sstopped by %s%s\n", ids[i], text, results[i].Reason, errorText(results[i].Err))
		}
	}
}

// check compares what a scene has left: its snapshots, and in the first play its facts, which have the same digest in others.
func (p *player) check(s *scenestest.Scene, set scenestest.Settings) {
	if !p.checks {
		return
	}
	if mustRestore(p.t, s, set); p.print {
		mustReload(p.t, s, set)
		mustVerify(p.t, s, set)
		mustVerifyLost(p.t, s, set, everyTurn)
		mustVerifyLost(p.t, s, set, everyOtherTurn)
	}
}

// ordersOf reads the orders to a scene in a file of an archive; none if it has no such file.
func ordersOf(t *testing.T, a *txtar.Archive, name, scene string) []*machines.Order {
	t.Helper()
	for _, f := range a.Files {
		if f.Name != name {
			continue
		}
		list, err := orders.Parse(name, f.Data)
		if err != nil {
			t.Fatal(err)
		}
		return receipts.Planned(list, scene, false)
	}
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

func (p *player) agent(id string) {
	list := p.linked
	if list == nil {
		list = scenestest.Linked{p.scene}
	}
	for _, s := range list {
		for _, m := range s.Fold(p.t, p.set).Agents {
			if m.ID.Instance == id {
				fmt.Fprintf(&p.b, "agent %s%s %s\n", id, when(p.linked != nil, " in %s", s.Def.Definition.ID), template.AppendJSON(nil, scenes.Look(m)))
			}
		}
	}
}

func everyTurn(string, int) bool { return true }

// everyOtherTurn is one of two, by agent in another order.
func everyOtherTurn(agent string, answer int) bool { return (len(agent)+answer)%2 == 0 }
