package tooling

import (
	"strings"
	"sync/atomic"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/toolreplay"
)

// Replay is the mode in which nothing is carried out; recorded answers are given again
// ([Options.Recorded]).
const Replay Mode = "replay"

// replayed counts the calls that got a recorded answer, and those for which there is none.
type replayed struct{ given, missed atomic.Int64 }

// ParseMode reads a mode; "" is Live. With Replay it gives the path of the run whose answers
// are given again.
func ParseMode(s string) (m Mode, run string, err error) {
	word, run, of := strings.Cut(s, ":")
	switch m = Mode(word); {
	case s == "":
		return Live, "", nil
	case !of && (m == Live || m == Mock || m == Off):
		return m, "", nil
	case m == Replay && run != "":
		return m, run, nil
	case m == Replay:
		return "", "", protocol.Errorf(protocol.KindInvalid, "tools %q: name the run directory whose answers are given again: replay:DIR", s)
	}
	return "", "", protocol.Errorf(protocol.KindInvalid, "tools %q: want live, mock, replay:DIR or off", s)
}

// placeOf is what asks.
func placeOf(q *effect.Ask) toolreplay.Place {
	return toolreplay.Place{Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn, Number: int64(q.Number)}
}

// recorded is the answer that is given again, or that there is none.
func (s *Set) recorded(q *effect.Ask) effect.Answered {
	at := placeOf(q)
	e, ok := s.opt.Recorded.Find(toolreplay.Question(setup.KindTool, q.Call), at)
	if !ok {
		s.replayed.missed.Add(1)
		miss := tools.Fail(protocol.KindNotFound, s.opt.Recorded.Missed(at, q.Call))
		a := effect.Answered{Err: miss.Err()}
		if t := s.tools[q.Call.Tool]; t != nil {
			a.Latency, _ = t.Definition.Latency()
		}
		return a
	}
	s.replayed.given.Add(1)
	if err := s.bring(q, e); err != nil {
		return effect.Answered{Err: err, Carried: !tooltask.Costs(protocol.KindOf(err))}
	}
	return given(e)
}

// again is a recorded answer as the result of a call.
func (s *Set) again(q *effect.Ask) tools.Result {
	x := s.recorded(q)
	r := tools.Output(x.Output)
	if x.Err != nil {
		kind := protocol.KindOf(x.Err)
		r = tools.Fail(kind, strings.TrimPrefix(x.Err.Error(), string(kind)+": ")) // a recorded text begins with it
	}
	r.Artifacts, r.Meta = x.Artifacts, tools.Meta{Tool: q.Call.Tool, Latency: protocol.Duration(x.Latency)}
	return r
}

// given is a recorded answer.
func given(e *toolreplay.Entry) effect.Answered {
	v, err := e.Output.Value()
	if err == nil {
		err = e.Err()
	}
	return effect.Answered{Output: v, Artifacts: e.Artifacts, Latency: e.Latency.Std(), Took: e.Took.Std(), Err: err, Carried: e.Carried, Hooks: e.Hooks}
}

// bring brings the artifacts that an answer names into the run. One that is missing stays
// so: the answer is what it was.
func (s *Set) bring(q *effect.Ask, e *toolreplay.Entry) error {
	from, to := s.opt.RecordedArtifacts, s.opt.Artifacts
	if from == nil || to == nil {
		return nil
	}
	owner := artifact.Owner{Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn}
	for i := range e.Artifacts {
		f, err := from.Open(e.Artifacts[i].ID)
		if err != nil {
			continue
		}
		_, _, err = to.Put(owner, f)
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Replayed counts the calls that got a recorded answer, and those for which there is none.
func (s *Set) Replayed() (given, missed int64) {
	if s == nil {
		return 0, 0
	}
	return s.replayed.given.Load(), s.replayed.missed.Load()
}
