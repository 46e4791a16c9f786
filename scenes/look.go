package scenes

import (
	"context"

	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/machines"
)

// Look returns what an agent is like between two waves, without a fact being read. It waits for the end
// of the wave that is open, or for ctx.
func (r *Run) Look(ctx context.Context, id string) (*glance.Seen, error) {
	o, ok := r.scene.Ordinal(id)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "scene %s has no agent %q", r.scene.ID, id)
	}
	l := glance.New(o)
	r.scene.stage.Tell(l.Message(protocol.KindControl))
	return l.Wait(ctx, r.stage.over.Done())
}

// look takes the looks that wait when no wave is open: at once, or when the stage asks whether the next one
// may begin. An asked actor gets the question behind all that the last wave told it, and before anything of the next.
func (st *stage) look(wait *glance.Queue) {
	for l := wait.Take(!st.machine.Open()); l != nil; l = wait.Take(true) {
		if !l.Stands(st.machine.Agenda, st.Name) {
			continue
		}
		st.seats.Tell(l.Agent, l.Message(protocol.KindSnapshot))
		for i, k := range machines.Services() {
			if k.Name == bus.Service {
				st.services[i].Tell(l.Message(protocol.KindSnapshot))
			}
		}
	}
}
