package history

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/llm/replay"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// Answers calls yield for the answers of endpoints in a scene, also for their failures and what their gates refused,
// from a fact on, in the order of the journal. Only one that names its question can be found again.
func Answers(scene string, journal Journal, from uint64, yield func(*replay.Entry) error) error {
	codec := machines.NewCodec()
	var turn []*replay.Entry // of the deliberation whose facts are being read; they stand together
	return journal.Scan(persistence.Query{From: from, Kinds: []string{agentfact.FactModelAnswered, agentfact.FactTurnEnded}}, func(r protocol.Record) error {
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		switch f := fact.(type) {
		case *agentfact.ModelAnswered:
			if x, ok := f.Answered(); ok && !f.Cut() && x.Model.Origin != nil && x.Model.Origin.Question != "" {
				e := replay.Of(scene, r.Actor, 0, f.Request, &x.Model, x.Err)
				turn = append(turn, &e)
			}
		case *agentfact.TurnEnded:
			for _, e := range turn {
				e.Turn = f.Turn
				if err := yield(e); err != nil {
					return err
				}
			}
			turn = turn[:0]
		}
		return nil
	})
}
