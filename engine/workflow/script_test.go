package workflow_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent"
	"tavernsim/engine/collab/kinds"
	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

// A script is a txtar archive: workflows ("workflow" first, others by id), the
// input, what the host answers, and what comes of it. Lines of "host" are
//
//	node[@attempt]: [later] [took 2s] model TEXT | result JSON | requested | error KIND TEXT | denied TEXT
//
// A node that is not listed is answered at once: a model with "re: " and the
// last message, a tool with its parameters.
type script struct {
	defs  map[string]*workflow.Definition
	main  *workflow.Definition
	input map[string]any
	host  map[string]line
	env   workflow.Env
	steps int
}

type line struct {
	later  bool
	answer workflow.Answer
}

func decode(t testing.TB, data []byte) *workflow.Definition {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	def := &workflow.Definition{}
	if err := dec.Decode(def); err != nil {
		t.Fatalf("definition: %v\n%s", err, data)
	}
	return def
}

func values(t testing.TB, data string) map[string]any {
	t.Helper()
	if strings.TrimSpace(data) == "" {
		return nil
	}
	return value(t, data).(map[string]any)
}

func value(t testing.TB, data string) any { return doctest.Value(t, data) }

func readScript(t testing.TB, a *txtar.Archive) *script {
	s := &script{defs: map[string]*workflow.Definition{}, host: map[string]line{}}
	s.env = workflow.Env{Now: 1, Draw: protocol.NewDraw(7), Trace: true}
	for _, f := range a.Files {
		text := string(f.Data)
		switch name, _, _ := strings.Cut(f.Name, " "); name {
		case "workflow":
			def := decode(t, f.Data)
			s.defs[def.ID] = def
			if s.main == nil {
				s.main = def
			}
		case "input":
			s.input = values(t, text)
		case "host":
			s.readHost(t, text)
		case "timeout":
			d, err := time.ParseDuration(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			s.env.Timeout = d
		case "steps":
			s.steps, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	return s
}

func (s *script) readHost(t testing.TB, text string) {
	for l := range strings.Lines(text) {
		node, rest, ok := strings.Cut(strings.TrimSpace(l), ": ")
		if !ok {
			continue
		}
		var h line
		if after, ok := strings.CutPrefix(rest, "later "); ok {
			h.later, rest = true, after
		}
		if after, ok := strings.CutPrefix(rest, "took "); ok {
			var d string
			d, rest, _ = strings.Cut(after, " ")
			h.answer.Latency, _ = time.ParseDuration(d)
		}
		verb, arg, _ := strings.Cut(rest, " ")
		switch verb {
		case "model":
			h.answer.Model.Text = strings.ReplaceAll(arg, `\n`, "\n")
		case "result":
			h.answer.Result = protocol.CallResult{Status: protocol.CallOK, Output: value(t, arg)}
		case "requested":
			h.answer.Result = protocol.CallResult{Status: protocol.CallRequested}
		case "denied":
			h.answer.Result = protocol.CallResult{Status: protocol.CallDenied, Error: protocol.Errorf(protocol.KindDenied, "%s", arg)}
		case "error":
			kind, msg, _ := strings.Cut(arg, " ")
			h.answer.Err = protocol.Errorf(protocol.ErrorKind(kind), "%s", msg)
		default:
			t.Fatalf("host line %q: no verb %q", l, verb)
		}
		s.host[node] = h
	}
}

func (s *script) options() workflow.Options {
	return workflow.Options{
		Kinds:    kinds.Add(nodes.Standard(nodes.Options{ParseTAM: arrows, Tools: agent.ToolSpecs()})),
		Lookup:   func(id string) (*workflow.Definition, bool) { d, ok := s.defs[id]; return d, ok },
		MaxSteps: s.steps,
	}
}

// arrows reads "-> tool {json}" lines: a grammar for tests.
func arrows(text string, _ protocol.FinishReason) nodes.Parsed {
	var p nodes.Parsed
	for l := range strings.Lines(text) {
		after, ok := strings.CutPrefix(strings.TrimSpace(l), "-> ")
		if !ok {
			p.Text += l
			continue
		}
		tool, params, _ := strings.Cut(after, " ")
		var m map[string]any
		if json.Unmarshal([]byte(params), &m) != nil {
			p.Problems = append(p.Problems, "bad params of "+tool)
			continue
		}
		p.Calls = append(p.Calls, protocol.Call{Tool: tool, Params: m, Index: len(p.Calls) + 1, Origin: protocol.OriginTAM})
	}
	return p
}

// lookup finds the answer to a request.
func (s *script) lookup(q *workflow.Request) line {
	for _, key := range []string{fmt.Sprintf("%s@%d", q.Node, q.Attempt), q.Node} {
		if l, ok := s.host[key]; ok {
			l.answer.Result.Tool = q.Call.Tool
			return l
		}
	}
	if q.Ask == workflow.AskModel {
		last := q.Model.Messages[len(q.Model.Messages)-1]
		return line{answer: workflow.Answer{Model: protocol.ModelAnswer{Text: "re: " + last.Text}}}
	}
	return line{answer: workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK, Tool: q.Call.Tool, Output: q.Call.Params}}}
}

// order picks which of the open requests is answered next.
type order func(open int) int

func first(int) int     { return 0 }
func last(open int) int { return open - 1 }

// play runs the script. asks is what left, sorted by node; rest is what came of
// it; neither may depend on the order of answers.
func (s *script) play(plan *workflow.Plan, run *workflow.Run, pick order) (string, error) {
	args, err := plan.Args(s.input)
	if err != nil {
		return "", err
	}
	if err := run.Start(plan, args, s.env); err != nil {
		return "", err
	}
	type open struct {
		id     int
		answer workflow.Answer
	}
	var waiting []open
	var asks []string
	host := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		asks = append(asks, describe(q))
		l := s.lookup(q)
		if l.later {
			waiting = append(waiting, open{q.ID, l.answer})
		}
		return l.answer, !l.later
	})
	for !run.Advance(host) {
		if len(waiting) == 0 {
			return "", errors.New("the run waits for nothing")
		}
		if len(waiting) != run.Waiting() || len(run.Open()) != len(waiting) {
			return "", fmt.Errorf("%d requests wait, the run says %d", len(waiting), run.Waiting())
		}
		i := pick(len(waiting))
		w := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		if err := run.Answer(w.id, w.answer); err != nil {
			return "", err
		}
		if run.Answer(w.id, w.answer) == nil {
			return "", errors.New("a second answer was taken")
		}
	}
	return report(run, asks), nil
}

func describe(q *workflow.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", q.Node)
	if q.Attempt > 1 {
		fmt.Fprintf(&b, " attempt %d after %v", q.Attempt, q.Wait)
	}
	if q.At > 0 {
		fmt.Fprintf(&b, " at %v", q.At)
	}
	if q.Timeout > 0 {
		fmt.Fprintf(&b, " within %v", q.Timeout)
	}
	if q.Ask == workflow.AskTool {
		fmt.Fprintf(&b, ": %s %s", q.Call.Tool, template.AppendJSON(nil, q.Call.Params))
		return b.String()
	}
	fmt.Fprintf(&b, ": model %s", q.Model.Model)
	for _, m := range q.Model.Messages {
		fmt.Fprintf(&b, " [%s %q]", m.Role, m.Text)
	}
	if q.Model.JSON {
		b.WriteString(" json")
	}
	if q.Model.Variables != nil {
		fmt.Fprintf(&b, " variables %s", template.AppendJSON(nil, q.Model.Variables))
	}
	for _, t := range q.Model.Tools {
		fmt.Fprintf(&b, " tool %s", t.Name)
	}
	return b.String()
}

func report(run *workflow.Run, asks []string) string {
	var b strings.Builder
	slices.Sort(asks)
	for _, a := range asks {
		fmt.Fprintf(&b, "ask %s\n", a)
	}
	trace := slices.Clone(run.Trace())
	slices.SortStableFunc(trace, func(x, y workflow.NodeFinished) int { return strings.Compare(x.Node, y.Node) })
	for _, n := range trace {
		fmt.Fprintf(&b, "%s %s %s", n.Outcome, n.Type, n.Node)
		if n.Attempts > 1 {
			fmt.Fprintf(&b, " attempts %d", n.Attempts)
		}
		if n.Finish > 0 {
			fmt.Fprintf(&b, " %v to %v", n.Start, n.Finish)
		}
		if n.Err != nil {
			fmt.Fprintf(&b, ": %s: %v", protocol.KindOf(n.Err), n.Err)
		}
		b.WriteByte('\n')
	}
	if err := run.Err(); err != nil {
		fmt.Fprintf(&b, "stopped: %v\n", err)
	}
	for _, f := range run.Failures() {
		fmt.Fprintf(&b, "failure %s: %v\n", f.Node, f.Err)
	}
	for _, m := range run.Missing() {
		fmt.Fprintf(&b, "missing %s: %s\n", m.Output, strings.TrimSpace(string(m.Outcome)+" "+m.Node))
	}
	fmt.Fprintf(&b, "complete %v, %d steps, %v\n", run.Complete(), run.Steps(), run.Elapsed())
	fmt.Fprintf(&b, "out %s\n", template.AppendJSON(nil, run.Outputs(map[string]any{})))
	return b.String()
}

// Promises 2, 4, 6 and 7: all faults with their places, what is skipped and what fails,
// runs of too many steps, waits before retries. TestScripts plays testdata/*.txt. Rewrite the "want" parts with
//
//	go test ./engine/workflow -run Scripts -update
func TestScripts(t *testing.T) {
	doctest.Archives(t, "testdata/*.txt", "want", *update, func(t *testing.T, a *txtar.Archive, _ string) string {
		return readScript(t, a).outcome(t)
	})
}

// outcome compiles and plays under several orders of answers.
func (s *script) outcome(t *testing.T) string {
	plan, faults := workflow.Compile(s.main, s.options())
	if len(faults) > 0 {
		var b strings.Builder
		for _, f := range faults {
			fmt.Fprintln(&b, f)
		}
		return b.String()
	}
	var run workflow.Run
	want := ""
	for i, pick := range []order{first, last, shuffled(1), shuffled(2), shuffled(3)} {
		got, err := s.play(plan, &run, pick)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		if i == 0 {
			want = got
		} else if got != want {
			t.Errorf("another order of answers (%d), another outcome:\n%s\nfirst:\n%s", i, got, want)
		}
	}
	return want
}

func shuffled(seed uint64) order {
	d := protocol.NewDraw(seed)
	return func(open int) int { return d.IntN(open) }
}
