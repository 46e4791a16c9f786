package memory

import (
	"cmp"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// RulesOf reads what a profile says, with every default filled in; nil = its agents remember
// nothing. history is how many utterances their history has.
func RulesOf(p *profile.Profile, history int) *Rules {
	if p.Memory == nil || *p.Memory == (profile.Memory{}) {
		return nil
	}
	r := &Rules{}
	if e := p.Memory.Episodes; e != nil {
		*r = Rules{Keep: cmp.Or(e.Keep, profile.MaxEpisodes), Recall: given(e.Recall, profile.DefaultRecall), HalfLife: cmp.Or(e.HalfLife.Std(), profile.DefaultHalfLife), Consolidate: e.Consolidate}
	}
	if h := p.Memory.History; h != nil {
		r.History = &Talking{Tokens: int64(cmp.Or(h.Tokens, profile.DefaultTalk)), Partners: cmp.Or(h.Partners, profile.DefaultPartners)}
	}
	if s := p.Memory.Summary; s != nil {
		r.Summary = &Summarising{After: history, Tokens: cmp.Or(s.Tokens, profile.DefaultSummary), HalfLife: cmp.Or(s.HalfLife.Std(), profile.DefaultHalfLife)}
		if s.By == profile.ByModel {
			r.Summary.Model = &s.Model
		}
	}
	if x := p.Reflection; x != nil {
		r.Reflect = &Triggers{
			GoalEnded: given(x.GoalEnded, true), BeforeSleep: x.BeforeSleep, Every: int64(x.Every),
			Failures: int64(given(x.Failures, profile.DefaultFailures)), Importance: int64(given(x.Importance, profile.DefaultImportance)),
			MinInterval: profile.DefaultMinInterval, MaxPerDay: int64(cmp.Or(x.MaxPerDay, profile.DefaultMaxPerDay)),
		}
		for _, name := range protocol.SortedKeys(x.Writes) {
			if r.Writes == nil {
				r.Writes = map[string]string{}
			}
			r.Writes[knowledge.CanonicalType(name)] = x.Writes[name]
		}
		if x.MinInterval != nil {
			r.Reflect.MinInterval = x.MinInterval.Std()
		}
	}
	return r
}

// Bases are those of the entries of reflections that name none; see Writes. nil rules name none.
func (r *Rules) Bases() map[string]string {
	if r == nil {
		return nil
	}
	return r.Writes
}

func given[T any](v *T, otherwise T) T {
	if v != nil {
		return *v
	}
	return otherwise
}
