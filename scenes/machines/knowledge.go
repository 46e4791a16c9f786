package machines

import (
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
)

// MaxChanges bounds the requests that a service decides about at once, and so the
// size of a fact. It does not bound a wave.
const MaxChanges = 4096

// Knowledge is the knowledge service.
type Knowledge struct {
	State knowledge.State

	initial knowledge.State
}

func knowledgeKind() ServiceKind {
	return ServiceKind{Name: knowledge.Service, New: newKnowledge, Facts: knowledge.Facts}
}

func newKnowledge(sc *setup.Scene) (Service, error) {
	return &Knowledge{State: sc.Bases, initial: sc.Bases}, nil
}

// Decide implements Service.
func (k *Knowledge) Decide(in *packed.Reader, now protocol.Time, give func([]protocol.Fact, bool) error) error {
	raws, err := in.Next(int(in.Left))
	if err != nil {
		return err
	}
	commit := knowledge.Commit{Now: now}
	for _, raw := range raws {
		req, err := knowledge.RequestOf(raw)
		if err != nil {
			return err
		}
		if req.By == setup.ActorScene {
			req.By = "" // the scene itself has every permission
		}
		commit.Requests = append(commit.Requests, req)
	}
	facts := knowledge.Decide(k.State, commit)
	for _, f := range facts {
		k.State = knowledge.Apply(k.State, f)
	}
	return give(facts, false)
}

// Apply implements Service.
func (k *Knowledge) Apply(f protocol.Fact) error {
	x, ok := f.(knowledge.Fact)
	if !ok {
		return unfolded(f)
	}
	k.State = knowledge.Apply(k.State, x)
	return nil
}

// Publish implements Service.
func (k *Knowledge) Publish() Part { return Part{Shown: k.State} }

// Snapshot implements Service.
func (k *Knowledge) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	return knowledge.Snapshot(codec, k.State)
}

// Load implements Service.
func (k *Knowledge) Load(codec *protocol.Codec, raw protocol.Raw) (err error) {
	k.State, err = knowledge.Restore(codec, k.initial, raw)
	return err
}
