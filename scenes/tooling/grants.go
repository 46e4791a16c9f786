package tooling

import (
	"cmp"

	"tavernsim/protocol"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools"
)

// refusal says why the operator has not granted what a tool asks for; nil = it may be called.
func (s *Set) refusal(t *toolOf) error {
	who := t.Definition.ID
	if t.Plugin != "" {
		who = needs.OfPlugin(t.Plugin)
	}
	err := s.own.Refused(who)
	if t.by != nil {
		err = cmp.Or(err, s.own.Refused(needs.OfPlugin(t.by.Plugin)))
	}
	return err
}

// Renewed is what a set has with other files of the operator, from when take is called. What is
// replaced by the service of a plugin that they do not grant is an error: to go on with what
// was replaced would be another scene.
func (s *Set) Renewed(f own.Files) (take func() error, err error) {
	if s == nil {
		return func() error { return nil }, nil
	}
	x := s.now()
	next, err := x.own.Next(f)
	if err == nil {
		err = x.mayReplace(next.Refused)
	}
	return func() error { return x.own.Take(next) }, err
}

// denied is the result of a call that is not carried out. Words and values of services may be in the reason.
func (s *Set) denied(tool string, err error) tools.Result {
	r := tools.Fail(protocol.KindOf(err), s.maskSaid(err.Error()))
	r.Meta.Tool = tool
	return r
}
