package tooling_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// reports is the scene of the script report: the third step of a block names what the
// first, a task, writes.
func reports(t testing.TB, stop string) *project.Project {
	t.Helper()
	data, err := os.ReadFile("../testdata/script/report.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("simulation: {stop: {ticks: 20}}", "simulation: {"+stop+"}",
		"execution: {mode: async,", "execution: {repeat: free, mode: async,", // what an interruption cuts off is asked again
	).Replace(string(data))
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// callsOf lists the calls of a scene, with what came of them.
func callsOf(t testing.TB, s *scenestest.Scene, tool string) (list []string) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			if r.Kind != "agent.call_made" {
				return nil
			}
			v, err := r.Data.Value()
			f, _ := v.([]any)
			if len(f) > 4 && f[1] == tool {
				list = append(list, fmt.Sprint(r.Actor, " ", f[0], " ", f[4]))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	return list
}

// Seed 000 §5.2: the report is built when the cover is there, whatever takes how long: one
// digest with every number of workers, mocked and live, and interrupted.
func TestAStepWaitsForATask(t *testing.T) {
	want := "ada 1.3 requested; bo 1.3 requested; ada 1.3 ok; bo 1.3 ok"
	for _, mode := range []tooling.Mode{tooling.Live, tooling.Mock} {
		digest := ""
		for i, workers := range []int{1, 2, 7, 2, 1} {
			lab := slowly("")
			set := scenestest.Settings{Tools: mode, Workers: workers, Snapshots: int64(5 * i), Services: map[string]tools.Executor{"images": lab, "files": lab, "reports": lab}}
			s := scenestest.New(t, reports(t, "stop: {ticks: 20}"), "")
			first := set
			first.InterruptAt = uint64(i)
			r := s.Run(t, first)
			if r.Err == nil && !r.Final {
				r = s.Run(t, set)
			}
			if r.Err != nil || !r.Final {
				t.Fatal(r)
			}
			if digest == "" {
				digest = r.Digest()
			}
			if r.Digest() != digest {
				t.Errorf("%s, %d workers, interrupted after wave %d: %s, before %s", mode, workers, i, r.Digest(), digest)
			}
			if got := callsOf(t, s, "Report.Build"); strings.Join(got, "; ") != want && mode == tooling.Live {
				t.Errorf("%s: %s", mode, got)
			}
			mustVerify(t, s, set)
		}
	}
}

// On the realtime clock the step goes on when the answer is there.
func TestAStepWaitsInRealtime(t *testing.T) {
	lab := slowly("")
	set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"images": lab, "files": lab, "reports": lab}}
	s := scenestest.New(t, reports(t, "clock: realtime, stop: {after: 2s}"), "")
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	got := strings.Join(callsOf(t, s, "Report.Build"), "; ")
	for _, want := range []string{"ada 1.3 requested", "ada 1.3 ok", "bo 1.3 requested", "bo 1.3 ok"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	mustVerify(t, s, set)
}

// The budget of tools is never exceeded, and who gets the rest does not depend on timing:
// one digest with every number of workers, live and interrupted.
func TestABudgetOfTools(t *testing.T) {
	text := strings.NewReplacer("CLOCK", "stop: {ticks: 6}", "  - {instance_id: \"a_{n}\", profile_id: person, count: 5}\n", "  - {instance_id: \"a_{n}\", profile_id: person, count: 5}\ntool_budget: {calls: 7, seconds: 1000}\n",
		"execution: {mode: async, repeat: by_key, latency: 1s, timeout: 5s}", "execution: {repeat: by_key, latency: 1s, timeout: 5s}", "latency: 2500ms", "latency: 1s").Replace(tasked)
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := ""
	for i, slow := range []string{"", "two a_1", "two a_4", "two a_2"} {
		set := scenestest.Settings{Tools: tooling.Live, Workers: []int{1, 2, 7, 2}[i], Snapshots: 4, Services: map[string]tools.Executor{"lab": slowly(slow)}}
		s := scenestest.New(t, p, "")
		first := set
		first.InterruptAt = uint64(i)
		r := s.Run(t, first)
		if r.Err == nil && !r.Final {
			r = s.Run(t, set)
		}
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("%q is slow: %s, before %s", slow, r.Digest(), digest)
		}
		made := 0
		for _, c := range callsOf(t, s, "order") {
			if strings.HasSuffix(c, " ok") {
				made++
			}
		}
		for _, f := range factsOf(t, s) {
			if _, ok := f.(*tooltask.Opened); ok {
				made++
			}
		}
		if made != 7 {
			t.Errorf("%d calls were made of 7", made)
		}
		mustVerify(t, s, set)
	}
}

// A call that was carried out counts in the budget of tools although it failed as one that never left: its file is too
// large. It does so in each turn, resumed and decided again.
func TestWhatWasCarriedOutCounts(t *testing.T) {
	text := strings.NewReplacer("CLOCK", "stop: {ticks: 6}", "  - {instance_id: \"a_{n}\", profile_id: person, count: 5}\n", "  - {instance_id: \"a_{n}\", profile_id: person, count: 5}\ntool_budget: {calls: 7, money: 0.03}\n",
		"mode: async, ", "", "implementation: {type: service, name: lab}\n", "implementation: {type: service, name: lab}\nlimits: {artifact: 1000}\ncost: 0.01\n").Replace(tasked)
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := ""
	for _, at := range []uint64{0, 2} {
		calls := atomic.Int64{}
		lab := tools.Func(func(context.Context, *tools.Call) tools.Result {
			calls.Add(1)
			r := tools.Output("done")
			r.Attach("picture", "image/png", make([]byte, 2000))
			return r
		})
		set := scenestest.Settings{Tools: tooling.Live, Workers: 2, Services: map[string]tools.Executor{"lab": lab}}
		s := scenestest.New(t, p, "")
		first := set
		first.InterruptAt = at
		r := s.Run(t, first)
		if r.Err == nil && !r.Final {
			r = s.Run(t, set)
		}
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		if n := calls.Load(); n != 3 {
			t.Errorf("interrupted at %d: %d calls were carried out, want the 3 that the money is for", at, n)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("interrupted at %d: %s, before %s", at, r.Digest(), digest)
		}
		mustVerify(t, s, set)
	}
}
