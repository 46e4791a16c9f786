package operator

import (
	"cmp"
	"encoding/json"
	"os"
	"os/user"
	"slices"
	"strconv"

	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/audit"
)

// audit opens the log of the operator. A project does not choose it.
func (t *Tools) audit(s *Set) (err error) {
	file := cmp.Or(t.Audit, audit.DefaultFile(os.Getenv))
	if file == "" || file == audit.Off {
		return nil
	}
	if err := Outside(file, t.Folder); err != nil {
		return err
	}
	s.by = audit.Entry{By: t.By, User: userName(), Project: s.opt.Place.Folder, Mode: string(cmp.Or(t.Mode, tooling.Live))}
	s.log, err = audit.Open(file)
	return err
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// audited notes a call before it is made, and what came of it. A call that cannot be noted is
// not made.
func (s *Set) audited(t *project.Tool, params map[string]any, do func() tools.Result) tools.Result {
	e := s.by
	e.Tool = t.Definition.ID
	if b, err := json.Marshal(t.Definition); err == nil {
		e.Definition = audit.Hash(b)
	}
	number, err := s.log.Begin(e, s.shown(params))
	if err != nil {
		r := tools.Fail(protocol.KindUnknown, "the call is not made, because it cannot be noted: "+err.Error())
		r.Meta.Tool = t.Definition.ID
		return r
	}
	r := do()
	end := audit.Entry{Status: string(r.Status), Rule: r.Meta.Rule, Attempts: r.Meta.Attempts, Took: r.Meta.Latency}
	if r.Error != nil {
		end.Kind = string(r.Error.Kind)
	}
	if len(r.Meta.Failed) > 0 {
		end.Failed = s.failed(r.Meta.Failed)
	}
	if v, err := r.Hooks.Value(); err == nil && v != nil {
		end.Hooks, _ = json.Marshal(v) // hooks.go of scenes/tooling masks it
	}
	if b, err := json.Marshal([]any{r.Status, r.Output, r.Error, r.Artifacts}); err == nil {
		end.Result = audit.Hash(b)
	}
	if err := s.log.End(number, end); err != nil && r.Error == nil {
		meta := r.Meta
		r = tools.Fail(protocol.KindUnknown, "the call was made, and what came of it cannot be noted: "+err.Error())
		r.Meta = meta
	}
	return r
}

// maxNodeError is how much of the error of a node a line has; eight of them fit.
const maxNodeError = 160

// failed are nodes as the audit has them: an error may quote a value.
func (s *Set) failed(nodes []tools.FailedNode) json.RawMessage {
	list := slices.Clone(nodes)
	for i := range list {
		masked, err := s.Mask(list[i].Error)
		text, _ := masked.(string)
		if err != nil {
			text = "withheld: it has a secret"
		}
		list[i].Error = protocol.Short(text, maxNodeError) // now that no part of a secret can be left
	}
	b, _ := json.Marshal(list) // texts
	return b
}

// shown are parameters without secrets: neither the values that the operator gave, in any
// spelling, nor fields whose names say that they hold one.
func (s *Set) shown(params map[string]any) any {
	masked, err := s.Mask(params)
	if err != nil {
		return "withheld: they have a secret"
	}
	hidden, _ := secret.Hide(masked)
	return hidden
}
