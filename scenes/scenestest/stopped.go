package scenestest

import (
	"testing"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// RunUntil runs the scene and interrupts it in the wave of each call of its model
// that when chooses: on the virtual clock it stops after that wave, whatever the
// load. Workers ask when at the same time.
func (s *Scene) RunUntil(t testing.TB, set Settings, when func(*protocol.ModelRequest) bool) Result {
	t.Helper()
	model, err := Model(s.Project, s.Def)
	if err != nil {
		t.Fatal(err)
	}
	m := &stopper{Instant: model.(llm.Instant), when: when, run: make(chan *Running, 1)}
	set.Model = m
	r, err := s.Start(set)
	if err != nil {
		t.Fatal(err)
	}
	m.run <- r
	return r.Close()
}

type stopper struct {
	llm.Instant
	when func(*protocol.ModelRequest) bool
	run  chan *Running // holds the run, once it has started
}

// Answer implements llm.Instant.
func (m *stopper) Answer(req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	if m.when(req) {
		r := <-m.run
		r.Interrupt()
		m.run <- r
	}
	return m.Instant.Answer(req)
}
