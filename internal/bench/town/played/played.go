// Package played lets the engine play the towns of package town in real time.
package played

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"tavernsim/internal/bench/town"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/limit"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

//go:embed project
var files embed.FS

// Play lets the engine run a trace under one schedule. Calls take their time divided by
// compression. It tells seen how many seconds it has taken.
//
// A walk begins one tick after the turn that asks for it, and agents perceive who is near as the wave
// before left it. So the calls of step s are made in tick s+1, when the engine shows where everybody
// is at the beginning of step s, and the scene has one tick more than the trace has steps. Who turns round
// between two steps without a rest is a step late; nobody in a generated town does.
func Play(ctx context.Context, t *town.Trace, name string, slots int, compression int, seen func(seconds float64)) (town.Played, error) {
	return play(ctx, t, name, slots, &model{trace: t, compression: float64(compression)}, seen)
}

func play(ctx context.Context, t *town.Trace, name string, slots int, m *model, seen func(seconds float64)) (p town.Played, err error) {
	p = town.Played{Schedule: name}
	server, err := mock.New(mock.Options{Model: m, Punctual: true})
	if err != nil {
		return p, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	h := server.HTTP()
	served := make(chan struct{})
	go func() { defer close(served); _ = h.Serve(l) }() // ends when it is closed
	defer func() { err = errors.Join(err, h.Close()); <-served }()

	dir, err := os.MkdirTemp("", "simd-town-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := project(t, filepath.Join(dir, "project")); err != nil {
		return p, err
	}
	loaded, err := runner.Load(filepath.Join(dir, "project"), true)
	if err != nil {
		return p, err
	}
	url := "http://" + l.Addr().String() + "/v1"
	e, err := endpoint.New("town", endpoint.Definition{Preset: "vllm", BaseURL: url, Limits: endpoint.Limits{MaxConcurrency: places(slots)}}, "", func(string) string { return "" })
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if p.Bare, err = m.bare(ctx, url); err != nil {
		return p, err
	}
	asked := server.Report(0).Requests
	r, err := runner.Start(loaded, runner.Options{Dir: filepath.Join(dir, "run"), Schedule: scenes.Schedule(name), Endpoints: map[string]*endpoint.Endpoint{"town": e}, Version: "bench"})
	if err != nil {
		return p, err
	}
	s, err := wait(ctx, r, seen)
	if err != nil {
		return p, err
	}
	calls, _ := t.Calls()
	if want := int64(t.Agents) * int64(t.Steps+1); s.Deliberations != want || s.Model.Failed > 0 || s.Model.Calls != int64(calls) {
		return p, protocol.Errorf(protocol.KindInternal, "bench: the engine had %d of %d turns and %d of %d calls, of which %d failed: %s", s.Deliberations, want, s.Model.Calls, calls, s.Model.Failed, strings.Join(s.Troubles, "; "))
	}
	if s.Schedule != nil && s.Schedule.GaveUp != "" {
		return p, protocol.Errorf(protocol.KindInternal, "bench: the engine gave up to run ahead: %s", s.Schedule.GaveUp)
	}
	p.Seconds, p.Digest, p.Made = s.WallSeconds*m.compression, s.Digest, int(server.Report(0).Requests-asked)
	p.Wasted = float64(p.Made-calls) / float64(max(calls, 1))
	return p, nil
}

// wait waits for a run, and interrupts it when ctx ends.
func wait(ctx context.Context, r *runner.Runner, seen func(seconds float64)) (*rundir.Summary, error) {
	began, ended := time.Now(), make(chan struct{})
	var s *rundir.Summary
	var err error
	go func() { defer close(ended); s, err = r.Wait() }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ended:
			if err = errors.Join(ctx.Err(), err); err != nil {
				return nil, err
			}
			return s, nil
		case <-look.C:
			seen(time.Since(began).Seconds())
		case <-ctx.Done():
			r.Interrupt()
			<-ended
			return nil, ctx.Err()
		}
	}
}

// lookEvery is how often the caller is told how long it has taken.
const lookEvery = 200 * time.Millisecond

// places are how many calls an endpoint must let out for so many of a scene that is not interactive.
func places(slots int) int {
	n := slots
	for n-n*limit.DefaultKept/100 < slots {
		n++
	}
	return n
}

// project writes the project of a trace.
func project(t *town.Trace, dir string) error {
	sub, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, sub); err != nil {
		return err
	}
	agents := make([]any, t.Agents)
	for a := range agents {
		calls, to := plan(t, a)
		agents[a] = map[string]any{
			"instance_id": fmt.Sprintf("a_%d", a), "profile_id": "villager", "place": fmt.Sprintf("%d,%d", t.Place(0, a).X, t.Place(0, a).Y),
			"initial_private_state_override": map[string]any{"calls": calls, "to": to},
		}
	}
	scene, err := json.Marshal(map[string]any{
		"id": "town", "name": t.Name, "agent_instances": agents,
		"space":      map[string]any{"grid": map[string]any{"width": t.Width, "height": t.Height}, "perception": map[string]any{"radius": t.Radius}, "speed": t.Speed},
		"simulation": map[string]any{"seed": 1, "tick": "1s", "stop": map[string]any{"ticks": t.Steps + 1}, "limits": map[string]any{"max_deliberating": 100_000}},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "scenes"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "scenes", "town.json"), scene, 0o600)
}

// plan is what an agent does in each tick, as workflows/live.yaml reads it.
func plan(t *town.Trace, a int) (calls, to string) {
	const digits = "0123456789abcdefghijklmnopqrstuv"
	var c, w strings.Builder
	for tick := range t.Steps + 1 {
		n, cell := 0, ""
		if tick > 0 {
			n = len(t.Tokens(tick-1, a))
		}
		if tick < t.Steps && t.Place(tick+1, a) != t.Place(tick, a) {
			cell = fmt.Sprintf("%d,%d", t.Place(tick+1, a).X, t.Place(tick+1, a).Y)
		}
		c.Write([]byte{digits[n/32], digits[n%32]})
		fmt.Fprintf(&w, "%-9s", cell)
	}
	return c.String(), w.String()
}

// model answers the calls of a trace. Whatever the agent perceives is a part of its question, and so
// of the answer.
type model struct {
	trace       *town.Trace
	compression float64
	asked       func(step, agent int, text string) // for tests; nil = nobody wants to know
}

// bareCalls is how many calls a bare client makes.
const bareCalls = 100

// bare asks the first calls of the trace one after the other, with Go's client alone. Timers of the
// server wake some time late, and a call has to be sent; no engine can do better than that.
func (m *model) bare(ctx context.Context, url string) (float64, error) {
	var want, took float64
	n := 0
	for k := range m.trace.Steps * m.trace.Agents {
		step, agent := k/m.trace.Agents, k%m.trace.Agents
		for i, tokens := range m.trace.Tokens(step, agent) {
			if n++; n > bareCalls {
				return town.Ratio(took, want), nil
			}
			began := time.Now()
			if err := ask(ctx, url, fmt.Sprintf("a_%d %d %d:", agent, step+2, i)); err != nil {
				return 0, err
			}
			took += time.Since(began).Seconds()
			want += m.trace.Seconds(tokens) / m.compression
		}
	}
	return town.Ratio(took, want), nil
}

func ask(ctx context.Context, url, text string) error {
	body := fmt.Sprintf(`{"model":"town","messages":[{"role":"user","content":%q}]}`, text)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusOK {
		err = protocol.Errorf(protocol.KindInternal, "bench: the server of the town answers %s", resp.Status)
	}
	return err
}

// Name implements llm.Provider.
func (m *model) Name() string { return "town" }

// Complete implements llm.Provider.
func (m *model) Complete(_ context.Context, q *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	return m.Answer(q)
}

// Close implements llm.Provider.
func (m *model) Close() error { return nil }

// Answer implements llm.Instant.
func (m *model) Answer(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	var agent, turn, index int
	text := q.Messages[len(q.Messages)-1].Text
	if _, err := fmt.Sscanf(text, "a_%d %d %d:", &agent, &turn, &index); err != nil {
		return protocol.ModelAnswer{}, protocol.Errorf(protocol.KindInvalid, "no question of the town: %.80q", text)
	}
	if agent < 0 || agent >= m.trace.Agents || turn < 2 || turn > m.trace.Steps+1 || index < 0 || index >= len(m.trace.Tokens(turn-2, agent)) {
		return protocol.ModelAnswer{}, protocol.Errorf(protocol.KindInvalid, "no question of the trace: %.80q", text)
	}
	tokens := m.trace.Tokens(turn-2, agent)[index]
	if m.asked != nil {
		m.asked(turn-2, agent, text)
	}
	return protocol.ModelAnswer{
		Model: q.Model, Text: fmt.Sprintf("%x", xxh3.HashString(text)), Finish: protocol.FinishStop, Usage: protocol.Usage{Input: int64(len(text)) / 4, Output: int64(tokens)},
		Latency: time.Duration(m.trace.Seconds(tokens) / m.compression * float64(time.Second)),
	}, nil
}
