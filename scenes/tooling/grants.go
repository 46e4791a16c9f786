package tooling

import (
	"tavernsim/protocol"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools"
)

// refusals say of everything that asks for something why the operator has not granted it, by
// id; nil = it is granted.
func (s *Set) refusals() map[string]error {
	refused := map[string]error{}
	for _, a := range needs.Of(s.opt.Project, s.opt.Place) {
		refused[a.Tool] = s.opt.Grants.Check(&a)
	}
	return refused
}

// refuse notes in the tools of the set why they may not be called.
func (s *Set) refuse() {
	refused := s.refusals()
	for id, t := range s.tools {
		t.refused = refused[id]
		if t.Plugin != "" {
			t.refused = refused[needs.OfPlugin(t.Plugin)]
		}
		if t.by != nil && t.refused == nil {
			t.refused = refused[needs.OfPlugin(t.by.Plugin)]
		}
	}
}

// denied is the result of a call that is not carried out.
func denied(tool string, err error) tools.Result {
	r := tools.Fail(protocol.KindOf(err), err.Error())
	r.Meta.Tool = tool
	return r
}
