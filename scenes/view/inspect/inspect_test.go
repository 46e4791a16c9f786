package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/deadletters"
)

// post unpacks the post office and returns its folder.
func post(t *testing.T) string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/post.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "post")
}

// ran runs the post office; with interrupt the run is stopped at a moment that
// nobody chose, and can go on.
func ran(t *testing.T, opt runner.Options, interrupt bool) string {
	t.Helper()
	var stop func(*scenes.Progress) bool
	if interrupt {
		stop = func(p *scenes.Progress) bool { return p.Events.Load() >= 3 }
	}
	return ranProject(t, post(t), opt, stop)
}

// ranProject runs a project until stop says so; nil = to its end.
func ranProject(t *testing.T, project string, opt runner.Options, stop func(*scenes.Progress) bool) string {
	t.Helper()
	p, err := runner.Load(project, true)
	if err != nil {
		t.Fatal(err)
	}
	opt.Dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if stop != nil {
		for !stop(r.Scenes[0].Run.Progress) {
			wait()
		}
		r.Interrupt()
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return opt.Dir
}

func opened(t *testing.T, dir string) *Scene {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := r.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Promise 1: nothing is written. Every view leaves the journal as it was.
func TestViewsWriteNothing(t *testing.T) {
	dir := ran(t, runner.Options{}, false)
	before := digest(t, dir)
	s := opened(t, dir)
	for name, look := range looks() {
		if _, err := look(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.run.Close(); err != nil {
		t.Fatal(err)
	}
	if after := digest(t, dir); after != before {
		t.Errorf("the run was %s and is %s", before, after)
	}
}

// Promise 3: the same run gives the same answer, whatever was stored how.
func TestSameAnswer(t *testing.T) {
	one := opened(t, ran(t, runner.Options{BatchFacts: 1, Snapshots: machines.SnapshotPolicy{Facts: 5}}, false))
	two := opened(t, ran(t, runner.Options{Workers: 3}, false))
	for name, look := range looks() {
		a, err := look(one)
		if err != nil {
			t.Fatal(err)
		}
		b, err := look(two)
		if err != nil || a != b {
			t.Errorf("%s differs, %v:\n%s\n%s", name, err, a, b)
		}
	}
}

func looks() map[string]func(*Scene) (string, error) {
	return map[string]func(*Scene) (string, error){
		"summary": func(s *Scene) (string, error) {
			v, err := s.Summary(0)
			if err == nil {
				v.Run, v.Created = "", time.Time{}
			}
			return text(v, err)
		},
		"agents":       func(s *Scene) (string, error) { v, err := s.Agents(AgentQuery{}); return text(v, err) },
		"agent":        func(s *Scene) (string, error) { v, err := s.Agent("bo", "wave:4"); return text(v, err) },
		"world":        func(s *Scene) (string, error) { v, err := s.World("**", "3s", false); return text(v, err) },
		"diff":         func(s *Scene) (string, error) { v, err := s.Diff("", "wave:0", "end"); return text(v, err) },
		"deliberation": func(s *Scene) (string, error) { v, err := s.Deliberation("bo/1"); return text(v, err) },
		"trace":        func(s *Scene) (string, error) { v, err := s.Trace("ada/1.e1", TraceOptions{}); return text(v, err) },
		"groups": func(s *Scene) (string, error) {
			v, err := s.GroupDeadLetters(DeadLetterQuery{}, BySource)
			return text(v, err)
		},
		"events": func(s *Scene) (string, error) {
			return lines(func(y func(EventLine) error) error { return s.Events(EventQuery{}, y) })
		},
		"facts": func(s *Scene) (string, error) {
			return lines(func(y func(FactLine) error) error { return s.Facts(FactQuery{}, y) })
		},
	}
}

func text(v any, err error) (string, error) {
	b, bad := json.Marshal(v)
	if err == nil {
		err = bad
	}
	return string(b), err
}

func lines[T any](read func(func(T) error) error) (string, error) {
	var b strings.Builder
	err := read(func(line T) error {
		s, err := text(line, nil)
		b.WriteString(s + "\n")
		return err
	})
	return b.String(), err
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	r, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Scenes[0].Digest + r.Scenes[0].StateHash
}

// A redelivered run goes on, publishes the letters once, and replays to the
// digest it ended with.
func TestRedeliver(t *testing.T) {
	dir := ran(t, runner.Options{Ticks: 1 << 30, Snapshots: machines.SnapshotPolicy{Facts: 20}}, true)
	q := DeadLetterQuery{Types: []string{"letter.*"}}
	out, err := Redeliver(dir, "", q, false)
	if err != nil || out.Sent != 1 || out.Wave == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if again, err := Redeliver(dir, "", q, false); err != nil || again.Sent != 0 || again.Before != 1 || again.Digest != out.Digest {
		t.Errorf("without --again: %+v, %v", again, err)
	}
	if rest, err := Redeliver(dir, "", DeadLetterQuery{Reasons: []string{"loop"}}, false); err != nil || rest.Sent+rest.Before != 0 {
		t.Errorf("nothing to send: %+v, %v", rest, err)
	}
	goOn(t, dir)
	s := opened(t, dir)
	var list []deadletters.Letter
	err = s.DeadLetters(q, func(l deadletters.Letter) error {
		list = append(list, l)
		return nil
	})
	if err != nil || len(list) != 2 || !list[0].Redelivered || list[1].Redelivered || list[1].Trace != list[0].Trace || list[1].Wave <= out.Wave {
		t.Errorf("letters %+v, %v", list, err)
	}
	if err := s.run.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := Redeliver(dir, "", DeadLetterQuery{Types: q.Types, Span: Span{Until: "0s"}}, true); err != nil || again.Sent != 1 {
		t.Errorf("with --again: %+v, %v", again, err)
	}
	digest(t, dir) // replays
}

// goOn resumes a run until the letters were published, and interrupts it again.
func goOn(t *testing.T, dir string) {
	t.Helper()
	r, err := runner.Resume(dir, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun := r.Scenes[0].Run.Progress.Deliberations.Load()
	for r.Scenes[0].Run.Progress.Deliberations.Load() < begun+20 {
		wait()
	}
	r.Interrupt()
	sum, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if replayed, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{}); err != nil || replayed.Scenes[0].Digest != sum.Digest {
		t.Errorf("replayed %+v, %v; ran %s", replayed, err, sum.Digest)
	}
}

func TestRedeliverEnded(t *testing.T) {
	dir := ran(t, runner.Options{}, false)
	before := digest(t, dir)
	if _, err := Redeliver(dir, "", DeadLetterQuery{}, false); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("%v", err)
	}
	if after := digest(t, dir); after != before {
		t.Error("something was written")
	}
}

// Who waits for room in an inbox is blocked, and the view names whom it waits for;
// before and after it is idle.
func TestBlocked(t *testing.T) {
	project := post(t)
	for name, text := range map[string]string{
		"scenes/office.yaml": `{id: office, name: Office, schema_version: "1.0", simulation: {stop: {ticks: 3}}, agent_instances: [
  {instance_id: cy, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}},
  {instance_id: bo, profile_id: person, custom_runtime_config: {wake_on_start: false, inbox: {normal: {max: 1, policy: block}}}}]}`,
		"models/voices.yaml": `rules:
  - match: {agent: cy}
    answer: {calls: [{tool: PublishEventTool, params: {type: letter.a, target_agent_instance_id: bo}}, {tool: PublishEventTool, params: {type: letter.b, target_agent_instance_id: bo}}]}
  - match: {agent: bo}
    latency: {fixed: 10s}
    answer: {text: ""}
otherwise: ""
`,
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, ranProject(t, project, runner.Options{}, nil))
	for at, want := range map[string]string{
		"wave:1": "cy idle [], bo idle []", "wave:2": "cy blocked [bo], bo idle []", "wave:3": "cy idle [], bo idle []", "end": "cy blocked [bo], bo idle []",
	} {
		var got []string
		for _, id := range []string{"cy", "bo"} {
			v, err := s.Agent(id, at)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(v.Agent, " ", v.State, " ", v.WaitsFor))
			if v.State == agenda.StateBlocked && v.Next != "" {
				t.Errorf("%s: %s is blocked, and woken at %s", at, id, v.Next)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", at, strings.Join(got, ", "), want)
		}
	}
	for state, want := range map[string]string{agenda.StateBlocked: "cy", agenda.StateIdle: "bo", agenda.StateAsleep: ""} {
		list, err := s.Agents(AgentQuery{State: state})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range list.Agents {
			got = append(got, a.Agent)
		}
		if strings.Join(got, " ") != want || list.Total != 2 {
			t.Errorf("%s: %v of %d, want %q", state, got, list.Total, want)
		}
	}
	for want, st := range map[string]agenda.Standing{
		agenda.StateGivenUp: {GivenUp: true, WaitsFor: []uint32{1}, Asleep: true}, agenda.StateResting: {Resting: true, WaitsFor: []uint32{1}, Asleep: true}, agenda.StateBlocked: {WaitsFor: []uint32{1}, Asleep: true}, agenda.StateAsleep: {Asleep: true}, agenda.StateIdle: {},
	} {
		if got := st.State(); got != want {
			t.Errorf("%+v is %s, want %s", st, got, want)
		}
	}
}

// What an inbox dropped or refused, and what was given up, is a letter with the
// content of the event that its fact names; and can be sent again.
func TestLettersOfInboxes(t *testing.T) {
	project := post(t)
	for name, text := range map[string]string{
		"scenes/office.yaml": `{id: office, name: Office, schema_version: "1.0", simulation: {stop: {ticks: 1000000000}, seed: 5}, agent_instances: [{instance_id: cy, profile_id: clerk},
  {instance_id: bo, profile_id: person, custom_runtime_config: {wake_on_start: false, max_redeliveries: 1, inbox: {low: {max: 1}, normal: {max: 2, policy: refuse}}}}]}`,
		"models/voices.yaml": `rules:
  - match: {agent: cy, variables: {turn: 1}}
    answer: {calls: [
      {tool: PublishEventTool, params: {type: letter.must, payload: m, requires_ack: true, target_agent_instance_id: bo}},
      {tool: PublishEventTool, params: {type: letter.one, payload: 1, target_agent_instance_id: bo}},
      {tool: PublishEventTool, params: {type: letter.two, payload: 2, ephemeral: true, target_agent_instance_id: bo}}` +
			strings.Repeat(`, {tool: PublishEventTool, params: {type: letter.low, payload: l, priority: low, target_agent_instance_id: bo}}`, 20) + `]}
  - match: {agent: bo, events: letter.must}
    answer: {fail: server_error}
otherwise: ""
`,
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := ranProject(t, project, runner.Options{}, func(p *scenes.Progress) bool { return p.Deliberations.Load() > 20 })
	list := func() (got []string) {
		s := opened(t, dir)
		err := s.DeadLetters(DeadLetterQuery{}, func(l deadletters.Letter) error {
			payload, err := text(l.Payload, nil)
			got = append(got, fmt.Sprint(l.Type, " of ", l.Source, " to ", l.Agent, ": ", l.Reason, " ", l.Count, " ", payload, " ", l.Sendable, l.Redelivered))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if groups, err := s.GroupDeadLetters(DeadLetterQuery{}, ByReason); err != nil || groups[0].Name != "inbox_full" || groups[0].Count != 19 || groups[0].Types[0].Name != "letter.low" {
			t.Errorf("groups %+v, %v", groups, err)
		}
		if err := s.run.Close(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := list()
	want := []string{"letter.low of cy to bo: inbox_full 1 \"l\" true false", " of  to bo: inbox_full 4 null false false",
		"letter.two of cy to bo: queue_full 1 null false false", "letter.must of cy to bo: redeliveries 1 \"m\" true false"}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no letter %q in\n%s", line, strings.Join(got, "\n"))
		}
	}
	out, err := Redeliver(dir, "", DeadLetterQuery{Reasons: []string{"inbox_full", "redeliveries"}}, false)
	if err != nil || out.Sent != 16 || out.Content != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if again := list(); !slices.Contains(again, "letter.must of cy to bo: redeliveries 1 \"m\" true true") {
		t.Errorf("sent again: %s", strings.Join(again, "\n"))
	}
	digest(t, dir)
}

// Promise 5: no view shows a secret, wherever it stands.
func TestViewsHideSecrets(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	for name, look := range looks() {
		got, err := look(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "swordfish", `"k1"`, `"k2"`} {
			if strings.Contains(got, secret) {
				t.Errorf("%s shows %s:\n%s", name, secret, got)
			}
		}
	}
}
