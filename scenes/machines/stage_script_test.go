package machines_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/travel"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each file of testdata/stage gives a stage of the agents a, b and c its inputs, one
// a line, and holds below each, indented, the effects that the stage answers with.
// The services are the real ones. Rewrite with
//
//	go test ./scenes/machines -run StageScripts -update
//
// Lines before begin:
//
//	settings [clock=realtime] [max_deliberating=N] [max_restarts=N] [max_wave_bytes=N] [ticks=N] [after=D] [deliberations=N] [events=N] [tokens=N] [dollars=X]
//	         [until=EXPR] [lifecycle=start,end,pause,resume] [snapshots=FACTS] [spawnable=ID] [linked=yes] [calls=N,pause|end|refuse]
//	agent ID YAML                the agent's runtime configuration; there is an agent d if it has one
//	turns YAML, script YAML      the order of turns of the scene, its script
//	hears ID PRIORITY            the host's middleware gives the agent every event at this priority
//
// Inputs; turn and fail work as soon as the agent is known, whether it was woken or not:
//
//	begin [crash TEXT]           begin, or go on; crash: an earlier life ended with it
//	turn ID [say=PRIORITY] [bytes=N] [type=TYPE] [to=ID] [world] [lock=D] [ttl=D] [rest=WHOM] [wake=WHOM] [remove=WHOM] [travel=WHOM] [elapsed=D] [urgent] [dropped=ID] [wave=N]
//	             [asks=SERVICE] [tokens=N] [nano=N] [refused] [asked]
//	                             dropped: its inbox had no room for an event of ID; wave=N: woken in another wave than the last;
//	                             ttl: it writes a value that expires; asks: of knowledge, tools or space; nano: what its model cost, in nano-dollars;
//	                             refused: the budget of calls refused a request to a model;
//	                             asked: it asks the person who plays the agent
//	step ID N                    a turn asks for a grant for its request to a model with this number, which takes a call
//	times N INPUT                the input, N times
//	fail ACTOR [TEXT]            an actor fails
//	answer [part]                the service that was asked decides; part: all its facts, without the last part
//	ready SERVICE                a service has something to decide that no turn asked for
//	kept [WAVE]                  durable up to the wave, or up to the last one
//	packed ID                    the actor of an agent that leaves gives its state
//	rest WHOM, wake WHOM, remove WHOM, spawn ID [after=D] [wave=N]   an order from outside; of that scene time, and of that wave or a later one
//	order [after=D] [wave=N] [by=WHO] YAML   an order of these changes
//	letter KIND NUMBER [ID] [TEXT]  of the scene inn: arrive (the agent, which had seven turns), reach or return (why)
//	waits ID [WAVE]              a deliberation waits for a model; that of another wave than the last
//	tick [+D]                    the wall clock goes on, and a timer fires
//	alarms N                     turns that publish something critical are on their way; gives no input
//	gate [WAVE|off]              waves wait for somebody outside; this one may begin; none waits any more
//	pause, resume, give_up, stop REASON, states, written, letters N, disk TEXT
//	kill                         what is not durable is lost, and another stage holds what is; gives no input
func TestStageScripts(t *testing.T) {
	doctest.Scripts(t, "testdata/stage/*.txt", *update, playStage)
}

// playStage plays the lines that are not indented, and puts what they print below.
func playStage(t *testing.T, script string) string {
	p := &stagePlayer{t: t, settings: map[string]string{}, agents: map[string]string{}, hears: map[string]protocol.Priority{}, heard: map[uint32]uint64{}, through: map[uint32]uint64{}, woken: map[uint32]uint64{}, begun: map[uint32]protocol.Time{}, turns: map[uint32]uint64{}}
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		p.b.WriteString(line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			p.play(words, strings.TrimSpace(line))
		}
	}
	return p.b.String()
}

// stagePlayer is the shell of a stage in a script.
type stagePlayer struct {
	t                *testing.T
	b                strings.Builder
	settings, agents map[string]string
	hears            map[string]protocol.Priority
	made             *setup.Scene
	state            *machines.State
	stage            *machines.Stage
	start            protocol.Time
	now              machines.Moment

	asked   machines.Effect   // the last question
	heard   map[uint32]uint64 // events that were routed to an agent
	through map[uint32]uint64 // of these: when it was woken
	woken   map[uint32]uint64 // the wave in which it was woken
	begun   map[uint32]protocol.Time
	turns   map[uint32]uint64   // that it ended
	closed  uint64              // the last wave
	kept    uint64              // the last durable one
	open    []protocol.Record   // facts of the wave that is open
	facts   [][]protocol.Record // by wave
	letters int
	orders  int
}

func (p *stagePlayer) play(words []string, line string) {
	arg := ""
	if len(words) > 1 {
		arg = words[1]
	}
	switch words[0] {
	case "settings":
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			p.settings[name] = value
		}
	case "agent":
		p.agents[arg] = strings.TrimSpace(strings.TrimPrefix(line, "agent "+arg))
	case "turns", "script":
		p.settings[words[0]] = strings.TrimSpace(strings.TrimPrefix(line, words[0]))
	case "hears":
		p.hears[arg] = p.priority(words[2])
	case "begin":
		if p.state == nil {
			p.setUp()
		}
		in := &machines.Begin{}
		if arg == "crash" {
			in.Crashes = []protocol.Fact{&agenda.ActorFailed{Actor: setup.ActorScene, Error: strings.Join(words[2:], " "), Failures: 1}}
		}
		p.give(in)
	case "times":
		for range p.number(arg) {
			p.play(words[2:], "")
		}
	case "kill":
		p.kill()
	case "alarms":
		p.now.Alarms = int(p.number(arg))
	default:
		if p.state == nil {
			p.setUp()
		}
		p.give(p.input(words, arg))
	}
}

func (p *stagePlayer) input(words []string, arg string) machines.Input {
	switch words[0] {
	case "turn":
		return p.turn(p.ordinal(arg), words[2:])
	case "step":
		q := budget.Request{Agent: p.ordinal(arg), Number: int(p.number(words[2])), Bound: budget.Amount{Calls: 1}}
		return &machines.TurnStep{Wave: p.woken[q.Agent], Step: budget.Step{Agent: q.Agent, Asks: []budget.Request{q}}}
	case "fail":
		return &machines.ActorFailed{Actor: arg, Error: strings.Join(words[2:], " ")}
	case "answer":
		return p.answer(arg == "part")
	case "kept":
		p.kept = p.closed
		if arg != "" {
			p.kept = uint64(p.number(arg))
		}
		return &machines.Kept{Wave: p.kept}
	case "ready":
		return &machines.Ready{Service: arg}
	case "packed":
		in, err := machines.Pack(machines.NewCodec(), p.state.Agents[p.ordinal(arg)], p.closed+1)
		if err != nil {
			p.t.Fatal(err)
		}
		return in
	case "rest", "wake", "spawn", "remove", "order":
		return p.order(words)
	case "letter":
		return p.letter(words[1:])
	case "waits":
		in := &machines.Waits{Agent: p.ordinal(arg), Wave: p.woken[p.ordinal(arg)]}
		if len(words) > 2 {
			in.Wave = uint64(p.number(words[2]))
		}
		return in
	case "tick":
		p.pass(arg)
		return &machines.Tick{}
	case "gate":
		in := &machines.Gate{On: arg != "off"}
		if in.On && arg != "" {
			in.Wave = uint64(p.number(arg))
		}
		return in
	case "pause", "resume", "give_up":
		p.pass(arg)
		return &machines.Control{Do: machines.Do(words[0])}
	case "stop":
		return &machines.Control{Do: machines.DoStop, Reason: arg}
	case "states":
		return &machines.StatesGiven{}
	case "written":
		return &machines.SnapshotWritten{}
	case "letters":
		in := &machines.DeadLetters{}
		for range p.number(arg) {
			p.letters++
			in.Letters = append(in.Letters, &agenda.DeadLettered{Event: fmt.Sprint("x", p.letters), Reason: "full", Receiver: "a"})
		}
		return in
	case "disk":
		return &machines.DiskFailed{Err: errors.New(strings.Join(words[1:], " "))}
	}
	p.t.Fatalf("unknown command %q", words)
	return nil
}

// pass lets time pass on the realtime clock.
func (p *stagePlayer) pass(d string) {
	if d != "" {
		p.now.Time = p.now.Time.Add(p.duration(d))
	}
}

// order is an order from outside.
func (p *stagePlayer) order(words []string) machines.Input {
	p.orders++
	o := &machines.Order{Intervened: &agenda.Intervened{ID: fmt.Sprint("o", p.orders)}}
	rest := words[1:]
	if words[0] != "order" {
		key := "agents"
		if words[0] == "spawn" {
			key = "agent"
		}
		o.Do, rest = protocol.Encode([]any{map[string]any{words[0]: map[string]any{key: words[1]}}}), words[2:]
	}
	for i, w := range rest {
		name, value, _ := strings.Cut(w, "=")
		switch {
		case name == "after":
			o.After = p.duration(value)
		case name == "wave":
			o.Wave = uint64(p.number(value))
		case name == "by":
			o.By = value
		case o.Do == nil:
			var do any
			if err := yaml.Unmarshal([]byte(strings.Join(rest[i:], " ")), &do); err != nil {
				p.t.Fatal(err)
			}
			o.Do = protocol.Encode(do)
			return o
		default:
			p.t.Fatalf("unknown word %q of an order", w)
		}
	}
	return o
}

// letter is what the scene inn says of a ticket.
func (p *stagePlayer) letter(words []string) machines.Input {
	l := &travel.Letter{Kind: words[0], Scene: "inn", Number: uint64(p.number(words[1])), Profile: "person"}
	if l.Kind == travel.Arrive {
		l.Agent, l.Turns = words[2], 7
		if o, is := p.made.Ordinal(l.Agent); is {
			state, err := machines.Pack(machines.NewCodec(), p.state.Agents[o], p.closed)
			if err != nil {
				p.t.Fatal(err)
			}
			l.State = state.State
		}
	} else {
		l.Error = strings.Join(words[2:], " ")
	}
	return &machines.Order{Intervened: &agenda.Intervened{ID: l.ID(), By: travel.By, Do: l.Do()}}
}

// setUp makes the scene of the settings and its stage.
func (p *stagePlayer) setUp() {
	set := func(name, otherwise string) string { return cmp.Or(p.settings[name], otherwise) }
	text := "-- workflows/own.yaml --\ninterfaceOutputs: {decision: {dataFlowType: OBJECT}}\nnodes: [{id: c, type: Constant, configValues: {value: {}}}, {id: out, type: GroupOutput}]\n" +
		"edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]\n" +
		"-- scenes/s.yaml --\nid: s\nname: S\nschema_version: \"1.0\"\nagent_instances:\n"
	ids := []string{"a", "b", "c"}
	if p.agents["d"] != "" {
		ids = append(ids, "d")
	}
	for _, id := range ids {
		text += fmt.Sprintf("  - {instance_id: %s, profile_id: person, spawnable: %v, custom_runtime_config: %s}\n", id, id == p.settings["spawnable"], cmp.Or(p.agents[id], "{}"))
	}
	text += "initial_world_state: {n: 0}\n"
	for _, part := range []string{"turns", "script"} {
		if is := p.settings[part]; is != "" {
			text += part + ": " + is + "\n"
		}
	}
	text += "scene_lifecycle_workflows: {"
	for _, when := range strings.FieldsFunc(p.settings["lifecycle"], func(r rune) bool { return r == ',' }) {
		text += "on_scene_" + when + ": own, "
	}
	text += fmt.Sprintf("}\nsimulation: {clock: %s, stop: {ticks: 1000000}, limits: {max_deliberating: %s, max_restarts: %s, max_wave_bytes: %s}}\n",
		set("clock", "virtual"), set("max_deliberating", "10"), set("max_restarts", "1"), set("max_wave_bytes", "1000000"))
	if p.settings["clock"] == "realtime" {
		text = strings.Replace(text, "ticks: 1000000", "after: 100h", 1)
	}
	if dollars := p.settings["dollars"]; dollars != "" { // then the scene counts them
		text = strings.Replace(text, "stop: {", "stop: {dollars: "+dollars+", ", 1)
	}
	if p.settings["linked"] != "" {
		text = strings.Replace(text, "name: S\n", "name: S\nlinks: [{to: inn, travel: 5s}]\n", 1) +
			"-- scenes/inn.yaml --\nid: inn\nname: Inn\nschema_version: \"1.0\"\nsimulation: {stop: {ticks: 9}}\nagent_instances: [{instance_id: \"guest_{n}\", profile_id: person, count: 9, spawnable: true}]\n"
	}
	text += "-- models/voices.yaml --\notherwise: {text: \"\"}\n"
	project, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		p.t.Fatalf("%+v\n%s", err, text)
	}
	def, err := project.Scene("s")
	if err == nil {
		p.made, err = setup.New(project, def, setup.Options{Seed: 1, Until: p.settings["until"], Middleware: p.middleware()})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if calls, do, is := strings.Cut(p.settings["calls"], ","); is {
		p.made.Budgets = &budget.Config{Run: &budget.Limits{Amount: budget.Amount{Calls: p.number(calls)}, On: budget.Action{Do: do}}, Cast: p.made}
	}
	p.start = protocol.TimeOf(p.made.Simulation().StartTime)
	p.now.Time = p.start
	p.configure()
}

// middleware is that of the lines hears.
func (p *stagePlayer) middleware() delivery.Chain {
	if len(p.hears) == 0 {
		return nil
	}
	return delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
		if priority, moved := p.hears[m.Receiver]; moved {
			return v.In(delivery.ForPriority(priority), "moved")
		}
		return v
	})}
}

func (p *stagePlayer) configure() {
	p.state = begin(p.t, p.made)
	for _, wave := range p.facts {
		for _, r := range wave {
			if err := p.state.Apply(r); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	c := machines.StageConfig{
		Stop:      agenda.Stop{Ticks: p.number(p.settings["ticks"]), Deliberations: p.number(p.settings["deliberations"]), Events: p.number(p.settings["events"]), Tokens: p.number(p.settings["tokens"]), Dollars: p.made.Def.Definition.Simulation.Stop.Dollars},
		Snapshots: machines.SnapshotPolicy{Facts: p.number(p.settings["snapshots"])},
	}
	if after := p.settings["after"]; after != "" {
		c.Stop.After = protocol.Duration(p.duration(after))
	}
	p.stage = machines.NewStage(p.state.StageState, c, machines.Kept{Wave: p.kept}, p.state.Shown())
}

// kill forgets what is not durable.
func (p *stagePlayer) kill() {
	p.facts, p.open, p.closed = p.facts[:p.kept], nil, p.kept
	clear(p.heard)
	p.configure()
	for o, m := range p.state.Agents {
		p.turns[uint32(o)] = m.State.Turn
	}
	for _, wave := range p.facts {
		for _, r := range wave {
			p.hear(r)
		}
	}
}

func (p *stagePlayer) hear(r protocol.Record) {
	fact, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	if f, ok := fact.(*bus.Routed); ok {
		for o := range f.Receivers.All() {
			p.heard[o]++
		}
	}
}

// give prints the effects of an input, one a line; equal ones that follow one
// another share a line.
func (p *stagePlayer) give(in machines.Input) {
	effects, err := p.stage.Decide(p.now, in)
	last, times := "", 0
	flush := func() {
		if times > 1 {
			last += fmt.Sprintf(" (%d times)", times)
		}
		if times > 0 {
			fmt.Fprintf(&p.b, "\t%s\n", last)
		}
	}
	for _, e := range p.single(effects) {
		p.carryOut(&e)
		text := p.text(&e)
		if text != last {
			flush()
			last, times = text, 0
		}
		times++
	}
	flush()
	if err != nil {
		fmt.Fprintf(&p.b, "\terror: %v\n", err)
	}
}

// single are effects with one for each fact of a span and each agent of a wake.
func (p *stagePlayer) single(effects []machines.Effect) (list []machines.Effect) {
	for _, e := range effects {
		switch e.Act {
		case machines.ActKeepSpan:
			if err := e.Span.Each(func(r protocol.Record) error {
				fact, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
				list = append(list, machines.Effect{Act: machines.ActKeep, Wave: e.Wave, At: r.Time, Actor: r.Actor, Kind: r.Kind, Data: r.Data, Fact: fact})
				return err
			}); err != nil {
				p.t.Fatal(err)
			}
		case machines.ActWake:
			for _, e.Agent = range e.Woken() {
				list = append(list, e)
			}
		default:
			list = append(list, e)
		}
	}
	return list
}

func (p *stagePlayer) carryOut(e *machines.Effect) {
	switch e.Act {
	case machines.ActKeep:
		r := protocol.Record{Time: e.At, Actor: e.Actor, Kind: e.Kind, Data: bytes.Clone(e.Data)}
		p.open = append(p.open, r)
		p.hear(r)
	case machines.ActClose:
		p.closed, p.facts, p.open = e.Wave, append(p.facts, p.open), nil
	case machines.ActWake:
		p.woken[e.Agent], p.begun[e.Agent], p.through[e.Agent] = e.Wave, e.At, p.heard[e.Agent]
	case machines.ActAsk:
		p.asked = *e
	}
}
