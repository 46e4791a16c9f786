// Package plot shows the script of a scene: its state, variables and collections,
// and the steps that led there.
//
// The caller opens the run (scenes/view/inspect). The view reads only the facts of the script,
// and folds the run to its end. It does not show the answers of an open secret
// collection.
package plot

import (
	"tavernsim/engine/script"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// View is the script of a scene at the end of its journal.
type View struct {
	Scene       string         `json:"scene"`
	Wave        uint64         `json:"wave"`
	Time        string         `json:"time"`
	State       string         `json:"state"`
	Since       string         `json:"since"` // that it is in the state
	Context     string         `json:"context"`
	Active      []string       `json:"active"` // selectors; none = everybody
	Variables   map[string]any `json:"variables"`
	Collections []Collection   `json:"collections"`
	Outcome     *script.Result `json:"outcome"` // null = none yet
	History     []Step         `json:"history"`
}

// Collection is one that was opened.
type Collection struct {
	Collection string         `json:"collection"`
	State      string         `json:"state"`
	Opened     string         `json:"opened"`
	Due        string         `json:"due,omitempty"`
	Closed     string         `json:"closed,omitempty"` // why; absent = it is open
	Asked      int64          `json:"asked"`
	Answered   int64          `json:"answered"`
	Secret     bool           `json:"secret"`
	Counts     map[string]any `json:"counts"`
	Winner     string         `json:"winner,omitempty"`
	Result     any            `json:"result,omitempty"` // of a voting or an auction
	Answers    []any          `json:"answers"`
}

// Step is one fact of the script.
type Step struct {
	Seq  uint64 `json:"seq"`
	Time string `json:"time"`
	Kind string `json:"kind"`
	Fact any    `json:"fact"`
}

// Of reads the script of a scene.
func Of(s *inspect.Scene) (*View, error) {
	end := s.Journal().Durable()
	state, err := s.Fold(end.Number)
	if err != nil {
		return nil, err
	}
	st, m := state.Script()
	if st == nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "the scene %s has no script", s.ID)
	}
	v := &View{Scene: s.ID, Wave: state.Agenda.Wave, Time: state.Agenda.Now.String(), State: st.Current, Variables: shown(st.Vars), Active: []string{}, Collections: []Collection{}, Outcome: st.Outcome.Result(), History: []Step{}}
	if n := m.States[st.Current]; n != nil {
		v.Since, v.Active = st.Entered.String(), append(v.Active, n.Active...)
	}
	if v.Context, err = m.Context(st); err != nil {
		v.Context = ""
	}
	v.Context = secret.Text(v.Context)
	hidden := map[string]bool{}
	for _, c := range m.Report(st) {
		hidden[c.ID] = c.Hidden
		v.Collections = append(v.Collections, collection(&c))
	}
	return v, s.Scan(persistence.Query{Kinds: script.Kinds()}, func(r protocol.Record) error {
		f, err := s.Fact(r)
		if err != nil {
			return err
		}
		if x, ok := f.(*script.Answered); ok && hidden[x.Collection] {
			f = &script.Answered{Collection: x.Collection, Agent: x.Agent, Event: x.Event}
		}
		v.History = append(v.History, Step{Seq: r.Seq, Time: r.Time.String(), Kind: r.Kind, Fact: factjson.Of(f)})
		return nil
	})
}

// shown is a value without secrets.
func shown[T any](v T) T {
	out, _ := secret.Hide(v)
	return out.(T)
}

func collection(c *script.Report) Collection {
	out := Collection{Collection: c.ID, State: c.State, Opened: c.Opened.String(), Closed: c.Why, Asked: int64(c.Asked.Len()), Answered: int64(len(c.Answers)),
		Secret: c.Secret, Counts: c.Counts, Winner: c.Winner, Answers: shown(c.Values)}
	if c.Result != nil {
		out.Result = shown(c.Result)
	}
	if c.Due != 0 {
		out.Due = c.Due.String()
	}
	return out
}
