package setup

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
)

// rights are the selectors of who may what.
type rights map[cast.Right]cast.Selectors

// rightsOf compiles what a definition says. A list in the place of orders means instances
// and profiles by their ids.
func rightsOf(directors []string, o *agenda.Orders) (rights, error) {
	r := rights{}
	for right, texts := range map[cast.Right][]string{
		cast.Direct: directors, cast.GiveGoals: slices.Concat(o.Goals, either(o.Agents)), cast.AskReflection: slices.Concat(o.Reflection, either(o.Agents)), cast.ChangeState: o.PrivateState,
	} {
		list, err := cast.ParseAll(texts)
		if err != nil {
			return nil, err
		}
		r[right] = list
	}
	return r, nil
}

func either(ids []string) (texts []string) {
	for _, id := range ids {
		if texts = append(texts, id); id != "*" {
			texts = append(texts, "profile:"+id)
		}
	}
	return texts
}

// Member is an agent as selectors see it; the scene's own is none.
func (s *Scene) Member(o uint32) cast.Member {
	return cast.Member{Instance: s.Name(o), Profile: s.Profile(o), Roles: s.roles(int(o))}
}

// May reports whether an agent has a right. Directors have every right.
func (s *Scene) May(instance string, right cast.Right) bool {
	o, ok := s.find(instance)
	if !ok {
		return false
	}
	m := s.Member(uint32(o))
	return s.rights[right].Match(&m) || s.rights[cast.Direct].Match(&m)
}

// Members are the ordinals of the agents that some selector means; the scene's own is none.
func (s *Scene) Members(of cast.Selectors) []uint32 {
	return s.MembersOf(of, func(uint32) bool { return true })
}

// MembersOf are those of them that are there. Who is named alone is found without asking the
// others. Who is in a place is known only while the scene runs: as far as the definition tells,
// everybody may be.
func (s *Scene) MembersOf(of cast.Selectors, there func(uint32) bool) (list []uint32) {
	if len(of) == 1 {
		if id, named := of[0].Instance(); named {
			if o, ok := s.Ordinal(id); ok && int(o) < s.Size() && there(o) {
				list = []uint32{o}
			}
			return list
		}
	}
	anybody := slices.ContainsFunc(of, func(x cast.Selector) bool {
		name, by := x.Place()
		return by && s.hasPlace(name)
	})
	for o := range uint32(s.Size()) {
		if !there(o) {
			continue
		}
		if m := s.Member(o); anybody || of.Match(&m) {
			list = append(list, o)
		}
	}
	return list
}

func (s *Scene) hasPlace(name string) bool {
	if s.Space == nil {
		return false
	}
	_, ok := s.Space.Place(name)
	return ok
}
