package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
)

// FactQuery chooses facts.
type FactQuery struct {
	Span
	Kinds []string // any of; a name may end in *
	Actor string
	Limit int // 0 = all
}

// FactLine is one fact of the view "facts".
type FactLine struct {
	Seq   uint64          `json:"seq"`
	Wave  uint64          `json:"wave"`
	Time  string          `json:"time"`
	Actor string          `json:"actor"`
	Kind  string          `json:"kind"`
	Data  factjson.Object `json:"data"`
}

// Matches reports whether a pattern, whose last character may be *, fits a name.
func Matches(pattern, typ string) bool {
	if stem, wild := strings.CutSuffix(pattern, "*"); wild {
		return strings.HasPrefix(typ, stem)
	}
	return pattern == typ
}

// MatchesAny is Matches of one of several patterns; none fits every name.
func MatchesAny(patterns []string, typ string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return Matches(p, typ) })
}

// Exact are the names that the index can look for; none when one is a pattern.
func Exact(patterns []string) []string {
	if slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, "*") }) {
		return nil
	}
	return patterns
}

// Facts hands over the facts that q chooses, in order.
func (s *Scene) Facts(q FactQuery, yield func(FactLine) error) error {
	if err := s.Known(q.Actor); err != nil {
		return err
	}
	query, err := s.Query(q.Span, persistence.Query{Actor: q.Actor, Kinds: Exact(q.Kinds)})
	if err != nil {
		return err
	}
	waves, n := s.waves(), 0
	err = s.Scan(query, func(r protocol.Record) error {
		if !MatchesAny(q.Kinds, r.Kind) {
			return nil
		}
		line, err := s.factLine(r, waves)
		if err == nil {
			err = yield(line)
		}
		if n++; err == nil && n == q.Limit {
			err = ErrStop
		}
		return err
	})
	if err == nil && n == 0 && q.Span.From == 0 {
		err = s.KnownKinds(q.Kinds)
	}
	return err
}

// KnownKinds is an error of kind not found when one of the names, or patterns, is
// that of no fact of the run. Ask it when nothing was found.
func (s *Scene) KnownKinds(names []string) error {
	return s.known("fact of kind", names, persistence.Query{}, func(r protocol.Record) (string, error) { return r.Kind, nil })
}

// KnownTypes is KnownKinds for types of events.
func (s *Scene) KnownTypes(names []string) error {
	return s.known("event of type", names, persistence.Query{Kinds: []string{bus.FactRouted, bus.FactRefused}}, func(r protocol.Record) (string, error) {
		fact, err := s.Fact(r)
		if err != nil {
			return "", err
		}
		return header(fact).Type, nil
	})
}

func (s *Scene) known(what string, names []string, q persistence.Query, of func(protocol.Record) (string, error)) error {
	if len(names) == 0 {
		return nil
	}
	seen := map[string]bool{}
	names = slices.Clone(names) // that no fact has matched
	err := s.Scan(q, func(r protocol.Record) error {
		name, err := of(r)
		if err != nil {
			return err
		}
		if len(seen) < maxKnown {
			seen[name] = true
		}
		if names = slices.DeleteFunc(names, func(n string) bool { return Matches(n, name) }); len(names) == 0 {
			return ErrStop
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return protocol.Errorf(protocol.KindNotFound, "the run has no %s %q; it has %s", what, names[0], cmp.Or(strings.Join(slices.Sorted(maps.Keys(seen)), ", "), "none"))
	}
	return nil
}

// maxKnown bounds the names that an error lists.
const maxKnown = 200

// Known checks that an instance id, or the name of a service ($world), is one of
// the scene.
func (s *Scene) Known(id string) error {
	if id == "" || cast.OfScene(id) {
		return nil
	}
	return s.agent(id)
}

func (s *Scene) factLine(r protocol.Record, waves *waves) (FactLine, error) {
	fact, err := s.Fact(r)
	if err != nil {
		return FactLine{}, err
	}
	wave, err := waves.of(r.Seq)
	return FactLine{Seq: r.Seq, Wave: wave, Time: r.Time.String(), Actor: r.Actor, Kind: r.Kind, Data: factjson.Of(fact)}, err
}
