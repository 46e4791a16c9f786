package setup

// Groups counts the agents of each role and of each profile.
func (s *Scene) Groups() (roles, profiles map[string]any) {
	return s.GroupsOf(func(uint32) bool { return true })
}

// GroupsOf is Groups of those who are there.
func (s *Scene) GroupsOf(there func(uint32) bool) (roles, profiles map[string]any) {
	roles, profiles = map[string]any{}, map[string]any{}
	for o := range uint32(s.Size()) {
		if !there(o) {
			continue
		}
		m := s.Member(o)
		count(profiles, m.Profile)
		for _, role := range m.Roles {
			count(roles, role)
		}
	}
	return roles, profiles
}

func count(counts map[string]any, name string) {
	n, _ := counts[name].(int64)
	counts[name] = n + 1
}
