package runner

import (
	"path/filepath"
	"testing"

	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/scenes/run/rundir"
)

// What the gate of a closed endpoint refused is recorded as what the endpoint answered is: a replay and a fork without
// a change come to the same digest, and nobody is asked.
func TestRefusedRequestsAreRecorded(t *testing.T) {
	for _, fault := range []string{"unauthorized=1", "quota=1"} {
		faults, err := mock.ParseFaults(fault)
		if err != nil {
			t.Fatal(err)
		}
		s, to := serve(t, mock.Options{Faults: faults}, endpoint.Definition{})
		p, seed, dir := loadRacers(t), uint64(7), filepath.Join(t.TempDir(), "run")
		opt := Options{Dir: dir, Seed: &seed, Agents: 10, Ticks: 4, Endpoints: to}
		want, asked := run(t, p, opt), s.Report(0).Requests
		answers, err := rundir.ReadAnswers(dir)
		if err != nil || answers.Len() != 40 || want.Failed != 40 || asked >= 40 {
			t.Fatalf("%s: %d answers are recorded, %d turns failed, %d were asked, %v", fault, answers.Len(), want.Failed, asked, err)
		}
		opt.Dir, opt.Endpoints, opt.Answers, opt.OnMiss = filepath.Join(t.TempDir(), "again"), nil, dir, MissFail
		if got := run(t, p, opt); got.Digest != want.Digest || got.Model.Answers.Missed != 0 {
			t.Errorf("%s: the replay has the digest %s, want %s; %+v", fault, got.Digest, want.Digest, got.Model.Answers)
		}
		fork := filepath.Join(t.TempDir(), "fork")
		if _, err := rundir.Fork(t.Context(), dir, fork, rundir.ForkOptions{At: "wave:2"}); err != nil {
			t.Fatal(err)
		}
		r, err := Resume(fork, Options{Endpoints: to})
		if err != nil {
			t.Fatal(err)
		}
		if got := wait(t, r); got.Digest != want.Digest || s.Report(0).Requests != asked {
			t.Errorf("%s: the fork has the digest %s, want %s; %d requests instead of %d", fault, got.Digest, want.Digest, s.Report(0).Requests, asked)
		}
	}
}
