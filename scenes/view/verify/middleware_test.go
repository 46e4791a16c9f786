package verify_test

import (
	"context"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus/delivery"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// host drops, delays, moves and passes, by the length of names and by the time.
func host() delivery.Chain {
	return delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
		switch (int64(len(m.Receiver)+len(m.Envelope.Source)) + int64(m.Now)/int64(time.Second)) % 4 {
		case 0:
			return v.Drop("not now")
		case 1:
			return v.Delay(m.Now.Add(2 * time.Second))
		case 2:
			return v.In(delivery.Critical, "loud")
		}
		return v
	})}
}

// without walks a history with middleware in a process that has none.
func without(t *testing.T, s *scenestest.Scene) (r *verify.Report, state *machines.State) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		var err error
		if r, state, err = verify.Run(context.Background(), s.Made(t, scenestest.Settings{}), j, verify.Options{NoMiddleware: true}); err != nil {
			t.Fatal(err)
		}
	})
	return r, state
}

// A history with middleware verifies with it; without it the channel's facts are
// taken as they are, and everything else is held to the rules.
func TestMiddlewareOfTheHost(t *testing.T) {
	for name, p := range map[string]*project.Project{"town": scenestest.Town(t), "crowd": crowded(t)} {
		t.Run(name, func(t *testing.T) {
			s, set := scenestest.New(t, p, ""), scenestest.Settings{Middleware: host()}
			if r := s.Run(t, set); r.Err != nil {
				t.Fatal(r)
			}
			if r := run(t, s, set, 2); r.Difference != nil || r.Taken[verify.TakenMiddleware] > 0 {
				t.Errorf("with it: %+v, difference %+v", r, r.Difference)
			}
			if r := run(t, s, scenestest.Settings{}, 2); r.Difference == nil {
				t.Fatal("the middleware makes no difference: nothing is tested")
			}
			r, state := without(t, s)
			if n := channelFacts(t, s); r.Difference != nil || r.Taken[verify.TakenMiddleware] != n || r.Verified+n+r.Taken[verify.TakenOutside] != r.Facts {
				t.Errorf("without it: %+v, difference %+v; the channel has %d facts", r, r.Difference, n)
			}
			if got, _ := state.Hash(); got != s.FoldHash(t, set) {
				t.Error("the walk ends in another state than the fold")
			}
		})
	}
}

// What follows from a channel's facts is held to them where they are taken.
func TestOtherFactsBesideMiddleware(t *testing.T) {
	s := scenestest.New(t, crowded(t), "")
	s.Run(t, scenestest.Settings{Middleware: host()})
	for kind, change := range map[string]func(protocol.Fact){
		agenda.FactWaveClosed: func(f protocol.Fact) { f.(*agenda.WaveClosed).Events++ },
		agenda.FactBlocked:    func(f protocol.Fact) { f.(*agenda.Blocked).Agent++ },
	} {
		var at uint64
		changed := rewritten(t, s, func(r *protocol.Record) bool {
			first := r.Kind == kind && at == 0
			if first {
				at = r.Seq
			}
			return first
		}, change)
		if r, _ := without(t, changed); at == 0 || r.Difference == nil || r.Difference.Seq != at {
			t.Errorf("%s was changed at seq %d: %+v", kind, at, r.Difference)
		}
	}
}

func crowded(t *testing.T) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(crowd))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func channelFacts(t *testing.T, s *scenestest.Scene) (n uint64) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Read(1, func(r protocol.Record) error {
			if r.Actor == "$events" {
				n++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	return n
}
