package verify

import (
	"context"
	"sync"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm/replay"
	"tavernsim/llm/surrogate"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
)

// Situations adds what models read in a scene, by request; its deliberations are decided
// again for that.
func Situations(ctx context.Context, made *setup.Scene, journal history.Journal, opt Options, to map[replay.Place]replay.Entry) error {
	var mu sync.Mutex // guards to
	opt.Asked = func(name string, turn uint64, q *effect.Ask) {
		if q.Kind != effect.KindModel {
			return
		}
		e := replay.Entry{Profile: q.Model.Profile, Purpose: q.Model.Purpose, Situation: surrogate.Situation(&q.Model)}
		mu.Lock()
		defer mu.Unlock()
		to[replay.Place{Scene: made.ID, Agent: name, Turn: turn, Request: int64(q.Number)}] = e
	}
	r, _, err := Run(ctx, made, journal, opt)
	if err == nil && r.Difference != nil {
		err = protocol.Errorf(protocol.KindConflict, "scene %s: this version decides the run otherwise, so what its models read is not known (simd replay --verify shows where); use the version that wrote it", made.ID)
	}
	return err
}
