package verify

import (
	"bytes"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Single is one deliberation that is decided again by itself, against the state of the
// scene before the wave in which it began.
type Single struct {
	Scene   *setup.Scene
	Codec   *protocol.Codec
	State   *machines.State // its agent is changed by no more than a deliberation in flight
	Agent   uint32
	Seed    uint64 // in force at that time
	At      protocol.Time
	End     *agentfact.TurnEnded // as it was recorded
	Records []protocol.Record    // its facts

	Activated []Activated // by then, when it was decided again: what its knowledge was
}

// Activated says why an entry of a knowledge base stood before the agent, or did not.
type Activated struct {
	KB      string `json:"kb"`
	Entry   string `json:"entry"`
	Purpose string `json:"purpose"` // of the workflow that was shown it
	In      bool   `json:"in"`
	Why     string `json:"why"`
}

// maxActivated bounds what is told of the entries of a turn.
const maxActivated = 1000

// traced keeps what is worth telling: an entry whose keywords do not occur is not.
func (s *Single) traced(kb, purpose string, list []knowledge.Traced) {
	for _, x := range list {
		if (x.In || !x.Unheard()) && len(s.Activated) < maxActivated {
			s.Activated = append(s.Activated, Activated{kb, x.Entry.ID, purpose, x.In, secret.Text(x.Why)})
		}
	}
}

// Again decides it with the answers that were recorded and shows every request to the
// outside that it makes, which is valid during the call. different says why what comes
// out is not what was recorded, "" when it is.
func (s *Single) Again(show func(*effect.Ask)) (different string, err error) {
	t := &turn{agent: s.Agent, records: s.Records}
	m := s.State.Agents[s.Agent]
	wake := machines.Wake(s.Scene, m, s.State.Shown(), s.End.Wave, s.At, s.Seed, "")
	wake.Trace = s.traced
	wake.Before = &agent.Arrived{Through: s.End.Through, Seen: s.End.Seen}
	d, err := t.play(m, &wake, s.Codec, show)
	defer m.Release()
	switch {
	case err != nil:
		return "", err
	case t.err != nil:
		return "", t.err
	case t.lost:
		return "not enough of its answers was recorded", nil
	case len(d.Facts) == 0:
		abandon(m)
		return t.trouble, nil
	}
	for i, f := range d.Facts {
		raw, err := s.Codec.Append(nil, f)
		if err != nil {
			return "", err
		}
		if i >= len(s.Records) || s.Records[i].Kind != f.FactKind() || !bytes.Equal(s.Records[i].Data, raw) {
			return "its fact " + f.FactKind() + " is another one than was recorded", nil
		}
	}
	return "", nil
}
