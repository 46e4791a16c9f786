package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// scriptLine is a line of a script.
type scriptLine struct {
	line  string
	words []string
	named map[string]any
}

func (s *script) parse(line string) *scriptLine {
	c := &scriptLine{line: line, named: map[string]any{}}
	for _, part := range fields(line) {
		name, text, ok := strings.Cut(part, "=")
		if !ok || strings.ContainsAny(name, "\"{[ ") {
			c.words = append(c.words, part)
			continue
		}
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			s.t.Fatalf("%s: %s: %v", line, name, err)
		}
		v, err := protocol.Normalize(v)
		if err != nil {
			s.t.Fatalf("%s: %s: %v", line, name, err)
		}
		c.named[name] = v
	}
	return c
}

// fields splits at blanks outside of quotes and brackets.
func fields(line string) (parts []string) {
	depth, quote, from := 0, false, 0
	for i, r := range line + " " {
		switch {
		case r == '"' && (i == 0 || line[i-1] != '\\'):
			quote = !quote
		case quote:
		case r == '{' || r == '[':
			depth++
		case r == '}' || r == ']':
			depth--
		case r == ' ' && depth == 0:
			if i > from {
				parts = append(parts, line[from:i])
			}
			from = i + 1
		}
	}
	return parts
}

// take gives a named value once; what nobody takes is a mistake in the script.
func take[T any](s *script, c *scriptLine, name string) (v T) {
	if given, ok := c.named[name]; ok {
		if v, ok = given.(T); !ok {
			s.t.Fatalf("%s: %s is %T, want %T", c.line, name, given, v)
		}
		delete(c.named, name)
	}
	return v
}

func (c *scriptLine) word(i int) string {
	if i < len(c.words) {
		return c.words[i]
	}
	return ""
}

// seconds is a time of the scene.
func (s *script) seconds(c *scriptLine, name string) (at float64, ok bool) {
	v, ok := c.named[name]
	delete(c.named, name)
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case nil:
		return 0, ok
	}
	s.t.Fatalf("%s: %s is no number of seconds", c.line, name)
	return 0, false
}

// task changes what wakes show of a task.
func (s *script) task(id, status string) {
	open := slices.DeleteFunc(s.tasks.Open(), func(t *tooltask.Task) bool { return t.ID == id })
	if status == "open" {
		open = append(open, &tooltask.Task{ID: id, Agent: "ada", Opened: s.now})
	}
	s.tasks = tooltask.New(open, s.tasks.Past, s.tasks.Work())
	if status == "open" {
		return
	}
	s.tasks.Past = append(slices.Clip(s.tasks.Past), tooltask.Past{ID: id, Agent: "ada", Status: status, At: s.now})
}

func (s *script) do(line string) {
	c := s.parse(line)
	switch verb := c.word(0); verb {
	case "hear":
		s.hear(c)
	case "missed":
		e := &protocol.Envelope{Wave: uint64(take[int64](s, c, "wave")), Place: uint32(take[int64](s, c, "place"))}
		s.all(func(m *Machine) { m.Missed(e) })
	case "observe":
		o := Observation{Time: s.now, Kind: c.word(1), Value: take[any](s, c, "value")}
		s.all(func(m *Machine) { m.Observe(o) })
	case "wake":
		s.wake(c)
	case "answer", "fail":
		s.answer(c)
	case "world":
		s.world = take[any](s, c, "value")
	case "task":
		s.task(c.word(1), c.word(2))
	case "cancel", "interrupt":
		s.decide(&Cancel{Reason: strings.Join(c.words[1:], " "), Interrupt: verb == "interrupt"})
	case "interrupted":
		s.all((*Machine).Interrupted)
	case "failed":
		o := Observation{Time: s.now, Kind: "restart", Value: map[string]any{}}
		s.all(func(m *Machine) { m.Failed(o) })
	case "snapshot":
		s.restore(s.live)
	default:
		s.t.Fatalf("%s: no verb %q", line, verb)
	}
	if len(c.named) > 0 {
		s.t.Fatalf("%s: nothing takes %v", line, c.named)
	}
}

func (s *script) all(f func(*Machine)) {
	for _, m := range []*Machine{s.live, s.cut, s.fold} {
		f(m)
	}
}

func (s *script) hear(c *scriptLine) {
	p, err := protocol.ParsePriority(take[string](s, c, "priority"))
	if err != nil {
		s.t.Fatal(err)
	}
	e := &protocol.Envelope{Kind: protocol.KindEvent, EventHeader: protocol.EventHeader{
		ID: c.word(1), Type: cmp.Or(c.word(2), "talk.x"), Source: cmp.Or(take[string](s, c, "from"), "bo"), Priority: p, Time: s.now,
		RequiresAck: take[bool](s, c, "ack"), Ephemeral: take[bool](s, c, "ephemeral"), TaskID: take[string](s, c, "task"),
		ExpectsReply: take[bool](s, c, "asks"), TraceID: take[string](s, c, "trace"),
	}}
	for _, id := range take[[]any](s, c, "targets") {
		e.Targets = append(e.Targets, id.(string))
	}
	if at, ok := s.seconds(c, "expires"); ok {
		e.Expires = moment(at)
	}
	e.Wave, e.Place = uint64(take[int64](s, c, "wave")), uint32(take[int64](s, c, "place"))
	payload := take[any](s, c, "payload")
	if text := take[string](s, c, "text"); text != "" {
		payload = map[string]any{"text": text}
	}
	e.Body = protocol.NewBody(protocol.Encode(payload))
	if s.live.Hear(e); s.live.turn != nil {
		s.print("interrupts the deliberation: %v", s.live.Interrupts(e))
	}
	s.cut.Hear(e)
	if e.Ephemeral {
		e = e.Bare() // as it stands in the journal
	}
	s.fold.HearAgain(e)
}

func (s *script) wake(c *scriptLine) {
	s.wave++
	if w := take[int64](s, c, "wave"); w > 0 {
		s.wave = uint64(w)
	}
	at, ok := s.seconds(c, "at")
	if s.now = s.now.Add(time.Second); ok {
		s.now = moment(at)
	}
	doc, err := world.FromValue(s.world, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	w := &Wake{Now: s.now, Wave: s.wave, View: published{worldstate.Service: worldstate.NewState(doc), knowledge.Service: s.knowledge, tooltask.Service: s.tasks, space.Service: s.space}, Draw: protocol.NewDraw(1, s.wave), Workflow: take[string](s, c, "workflow")}
	if w.Inputs = take[map[string]any](s, c, "inputs"); w.Inputs == nil {
		w.Inputs = map[string]any{}
	}
	for _, name := range []string{OutputResponse, OutputCalls, OutputDecision} {
		if v, ok := c.named[name]; ok {
			w.Inputs[name] = v
			delete(c.named, name)
		}
	}
	s.decide(w)
}

// answer is that of a model, or of the executor that is named.
func (s *script) answer(c *scriptLine) {
	words := c.words[1:]
	x := &effect.Answered{Kind: effect.KindModel}
	if _, err := strconv.Atoi(words[0]); err != nil {
		x.Kind, words = words[0], words[1:]
	}
	var err error
	if x.Number, err = strconv.Atoi(words[0]); err != nil {
		s.t.Fatalf("%s: %v", c.line, err)
	}
	if took, _ := s.seconds(c, "took"); x.Kind == effect.KindModel {
		x.Model.Latency = time.Duration(took * float64(time.Second))
	} else {
		x.Latency = time.Duration(took * float64(time.Second))
	}
	if c.word(0) == "fail" {
		x.Err = protocol.Errorf(protocol.ErrorKind(words[1]), "%s", strings.Join(words[2:], " "))
		s.decide(x)
		return
	}
	x.Output = take[any](s, c, "output")
	if id := take[string](s, c, "artifact"); id != "" {
		x.Artifacts = []tool.Artifact{{ID: id, Size: 9}}
	}
	if x.Kind == effect.KindModel {
		x.Model.Text, x.Model.Finish = take[string](s, c, "text"), protocol.FinishReason(cmp.Or(take[string](s, c, "finish"), string(protocol.FinishStop)))
		x.Model.Usage = protocol.Usage{Input: take[int64](s, c, "in"), Output: take[int64](s, c, "out")}
		for _, v := range take[[]any](s, c, "calls") {
			call, err := callvalue.Read(v)
			if err != nil {
				s.t.Fatal(err)
			}
			call.Origin = protocol.OriginNative
			x.Model.Calls = append(x.Model.Calls, call)
		}
	}
	s.decide(x)
}

// decide gives an input to the machines that deliberate, prints the decision, and
// lets all three fold its facts.
func (s *script) decide(in any) {
	d, err := s.live.Decide(in)
	other, otherErr := s.cut.Decide(in)
	if err != nil {
		s.print("error %s: %v", protocol.KindOf(err), err)
		return
	}
	s.printDecision(in, &d)
	got := s.bytes(&other)
	if otherErr != nil || !bytes.Equal(got, s.bytes(&d)) {
		s.t.Fatalf("a machine that was restored decides\n%q, %v\ninstead of\n%q", got, otherErr, s.bytes(&d))
	}
	for _, f := range d.Facts {
		raw, err := s.codec.Marshal(f)
		if err != nil {
			s.t.Fatal(err)
		}
		s.all(func(m *Machine) {
			if m == s.live { // it folds what it decided, the others what is kept of it
				if err := m.Apply(f, s.now); err != nil {
					s.t.Fatal(err)
				}
				return
			}
			back, err := s.codec.ReadFact(f.FactKind(), raw)
			if back == nil && err == nil {
				back, err = statecmd.ReadCommitted(raw)
			}
			if err == nil {
				err = m.Apply(back, s.now)
			}
			if err != nil {
				s.t.Fatalf("%s: %v", f.FactKind(), err)
			}
		})
	}
	s.live.Release()
	s.cut.Release()
}

func (s *script) bytes(d *protocol.Decision) []byte {
	raw := encoded(s.t, *d)
	for _, e := range d.Effects {
		ask := *e.(*effect.Ask)
		call, verdict := ask.Call, ask.Verdict
		ask.Call, ask.Verdict, ask.Model.Asker = nil, nil, nil // their addresses differ between machines
		raw = fmt.Appendf(raw, "%+v %+v %+v", ask, call, verdict)
	}
	return raw
}

func (s *script) restore(m *Machine) {
	raw := bytesOf(s.t, m)
	var err error
	if m.State, err = Restore(s.codec, raw); err != nil {
		s.t.Fatal(err)
	}
	same(s.t, bytesOf(s.t, m), raw, "restored")
}

// twins compares the three states and restores the second machine. While an
// ephemeral event waits it keeps its state: the payload does not outlive a process.
func (s *script) twins(line string) {
	want := bytesOf(s.t, s.live)
	same(s.t, bytesOf(s.t, s.cut), want, line+": goes on from snapshots")
	same(s.t, bytesOf(s.t, s.fold), want, line+": folded")
	ephemeral := slices.ContainsFunc(s.live.State.inbox, func(h Heard) bool { return h.Event.Ephemeral && !h.Lost })
	if s.cut.turn == nil && !ephemeral {
		s.restore(s.cut)
	}
}
