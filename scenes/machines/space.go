package machines

import (
	"tavernsim/engine/bus"
	"tavernsim/engine/space"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
)

// Space is the service of where agents are. Without a block space it has no state.
type Space struct {
	State *space.State // nil = the scene has no space

	scene *setup.Scene
}

func spaceKind() ServiceKind {
	return ServiceKind{Name: space.Service, New: newSpace, Facts: space.Facts, Read: func(raw protocol.Raw) (any, error) {
		q, err := space.ReadRequest(raw)
		return q.Value(), err
	}}
}

func newSpace(sc *setup.Scene) (Service, error) {
	s := &Space{scene: sc}
	if sc.Space != nil {
		s.State = space.NewState(sc.Space, sc.Starts, sc, sc.Simulation().Tick.Std())
	}
	return s, nil
}

// Decide implements Service.
func (s *Space) Decide(in *packed.Reader, now protocol.Time, give func([]protocol.Fact, bool) error) error {
	raws, err := in.Next(int(in.Left))
	if err != nil {
		return err
	}
	requests := make([]space.Request, len(raws))
	for i, raw := range raws {
		if requests[i], err = space.ReadRequest(raw); err != nil {
			return err
		}
	}
	if s.State == nil {
		return give(space.RefuseAll(requests), false)
	}
	facts, err := s.State.Decide(now, requests)
	if err != nil {
		return err
	}
	return give(facts, false)
}

// Apply implements Service.
func (s *Space) Apply(f protocol.Fact) error {
	x, ok := f.(space.Fact)
	if !ok {
		return unfolded(f)
	}
	if s.State == nil {
		if _, refused := x.(*space.Refused); refused {
			return nil
		}
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: the scene %s has no space: the journal is of another project", f.FactKind(), s.scene.ID)
	}
	return s.State.Apply(x)
}

// Publish implements Service.
func (s *Space) Publish() Part {
	if s.State == nil {
		return Part{}
	}
	return Part{Shown: s.State.Share(), Next: s.State.Next()}
}

// Snapshot implements Service.
func (s *Space) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	if s.State == nil {
		return nil, nil
	}
	return s.State.Snapshot(codec)
}

// Load implements Service.
func (s *Space) Load(codec *protocol.Codec, raw protocol.Raw) (err error) {
	if s.State == nil {
		if len(raw) > 0 {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: the snapshot holds a space; the scene has none", s.scene.ID)
		}
		return nil
	}
	s.State, err = space.Restore(s.scene.Space, s.scene, s.scene.Simulation().Tick.Std(), codec, raw)
	return err
}

// Space is the state of the service; nil = the scene has no space.
func (s *State) Space() *space.State { return part[*Space](s).State }

// WithSpace is the view with agents elsewhere.
func (v *View) WithSpace(shown *space.View) *View {
	return v.With(space.Service, Part{Shown: shown, Next: v.of(space.Service).Next})
}

// Space is where agents are; nil = the scene has no space.
func (v *View) Space() *space.View {
	x, _ := v.Shown(space.Service).(*space.View)
	return x
}

// Look implements Observer: the channel asks where agents are.
func (e *Events) Look(v *View) {
	e.State.Space = nil
	if x := v.Space(); x != nil {
		e.State.Space = x
	}
}

// crossings publishes the events of steps over borders of places.
func (w *wave) crossings(list []space.Crossed) {
	for _, c := range list {
		for _, e := range [...]struct{ typ, place string }{{space.TypeLeft, c.Left}, {space.TypeEntered, c.Entered}} {
			if e.place != "" {
				d := protocol.Draft{EventHeader: protocol.EventHeader{Type: e.typ, Source: c.Instance}, Body: protocol.Encode(map[string]any{"agent": c.Instance, "place": e.place})}
				w.sequence([]protocol.Sequenced{{To: bus.Service, Data: d.AppendMsg(nil)}})
			}
		}
	}
}
