package inspect

import (
	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/deadletters"
)

// Redelivery is what [Redeliver] did.
type Redelivery struct {
	Scene   string `json:"scene"`
	Sent    int    `json:"sent"`    // will be published when the run goes on
	Before  int    `json:"before"`  // chosen, and sent again before
	Content int    `json:"content"` // chosen, and their content is not kept
	Wave    uint64 `json:"wave"`    // that holds the fact; 0 = nothing was sent
	Digest  string `json:"digest"`  // of the journal now
}

// MaxRedelivered bounds the dead letters of one redelivery: they are published at
// one moment.
const MaxRedelivered = 10_000

// Redeliver sends the dead letters that q chooses again: the stopped run gets a
// wave that says so, and its scene publishes them when it is resumed. What was
// sent again before stays away, unless again says otherwise. It opens the run
// for writing.
func Redeliver(dir, scene string, q DeadLetterQuery, again bool) (*Redelivery, error) {
	m, err := Open(dir)
	if err != nil {
		return nil, err
	}
	chosen, out, err := m.collect(scene, q, again)
	if err := closed(m, err); err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		return out, nil
	}
	return out, send(dir, out, chosen)
}

func closed(r *Run, err error) error {
	if closing := r.Close(); err == nil {
		err = closing
	}
	return err
}

func (r *Run) collect(scene string, q DeadLetterQuery, again bool) ([]agenda.Letter, *Redelivery, error) {
	s, err := r.Scene(scene)
	if err != nil {
		return nil, nil, err
	}
	if reason, err := s.ended(); err != nil || reason != "" {
		if err == nil {
			err = protocol.Errorf(protocol.KindConflict, "scene %s: it has ended (%s) and hears nothing any more: fork the run at an earlier moment (simd fork) and send again there", s.ID, reason)
		}
		return nil, nil, err
	}
	out := &Redelivery{Scene: s.ID, Digest: s.journal.Durable().Digest.String()}
	var chosen []agenda.Letter
	err = s.DeadLetters(q, func(l deadletters.Letter) error {
		switch {
		case !l.Sendable:
			out.Content++
		case l.Redelivered && !again:
			out.Before++
		case len(chosen) == MaxRedelivered:
			return protocol.Errorf(protocol.KindLimit, "more than %d dead letters at one moment: choose fewer, by reason, type, agent or time", MaxRedelivered)
		default:
			chosen = append(chosen, agenda.Letter{Seq: l.Seq, Agent: l.Agent, Draft: l.Draft().AppendMsg(nil)})
		}
		return nil
	})
	return chosen, out, err
}

// send writes the wave that sends letters again.
func send(dir string, out *Redelivery, chosen []agenda.Letter) error {
	m, err := runOf(rundir.OpenForWriting(dir))
	if err != nil {
		return err
	}
	w, err := m.send(out.Scene, chosen)
	if err := closed(m, err); err != nil {
		return err
	}
	out.Sent, out.Wave, out.Digest = len(chosen), w.Number, w.Digest.String()
	return nil
}

func (r *Run) send(scene string, chosen []agenda.Letter) (persistence.Wave, error) {
	s, err := r.Scene(scene)
	if err != nil {
		return persistence.Wave{}, err
	}
	made, err := s.made()
	if err != nil {
		return persistence.Wave{}, err
	}
	return history.Redeliver(made, s.journal, s.reading(), chosen)
}
