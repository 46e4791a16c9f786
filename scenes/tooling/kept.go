package tooling

import (
	"bytes"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/manifest"
)

// keeper keeps the artifacts of a request; nil = nobody keeps them.
func (s *Set) keeper(q *effect.Ask) func(tools.Blob) (tool.Artifact, error) {
	store := s.opt.Artifacts
	if store == nil {
		return nil
	}
	owner := artifact.Owner{Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn}
	return func(b tools.Blob) (tool.Artifact, error) {
		id, size, err := store.Put(owner, bytes.NewReader(b.Data))
		return tool.Artifact{ID: id, Size: size, Type: b.Type, Name: b.Name}, err
	}
}

// keeperOfTexts keeps texts of files, unless there is a secret in one.
func (s *Set) keeperOfTexts(q *effect.Ask) func(tools.Blob) (tool.Artifact, error) {
	keep := s.keeper(q)
	if keep == nil {
		return nil
	}
	return func(b tools.Blob) (tool.Artifact, error) {
		if err := s.maskFile(&b); err != nil {
			return tool.Artifact{}, err
		}
		return keep(b)
	}
}

// mask takes all secrets out of a result that is whole. A file with one is withheld with
// everything else: its bytes cannot be changed.
func (s *Set) mask(r *tools.Result) {
	output, found, err := s.held().Store().Value(r.Output)
	if err == nil && r.Error != nil {
		was := r.Error.Message
		r.Error.Message, err = s.held().Store().Text(was)
		found = found || r.Error.Message != was
	}
	for _, b := range r.Blobs {
		if err == nil {
			err = s.maskFile(&b)
		}
	}
	if err != nil {
		meta := r.Meta
		*r = tools.Fail(protocol.KindOf(err), s.withheld(meta.Tool, err.Error()))
		r.Meta = meta
		return
	}
	if found {
		s.opt.Watch.masked(metrics.MaskedPlain)
	}
	r.Output = output
}

// conceal lets nobody see what a call answers that has a secret of which the operator says so. What
// is told in its place has no schema.
func (s *Set) conceal(c *tools.Call, o *tools.Options) {
	impl, names, hear := &c.Tool.Implementation, c.Tool.Secrets(), c.Progress
	if impl.Type == manifest.MCP {
		names = s.opt.Project.Servers()[impl.Server].Definition.Secrets()
	}
	if !s.held().Withheld(names...) {
		return
	}
	c.Ask = nil // a question, too, is what the server writes
	o.Check, o.Left = nil, nil
	c.Progress = func(p tools.Progress) {
		p.Message = ""
		hear(p)
	}
	o.Mask = func(r *tools.Result) {
		r.Withhold()
		if out, ok := r.Output.(map[string]any); ok && impl.Type == manifest.Script {
			out["exit_code"] = int64(0) // another one is an error
		}
		s.maskError(r)
	}
}

// withheld counts an output of a tool that is withheld, and says why it is.
func (s *Set) withheld(tool, why string) string {
	s.opt.Watch.masked(metrics.MaskedWithheld)
	t := s.tools[tool]
	if t == nil {
		return why
	}
	why, last := t.leaks.One(why)
	if last {
		s.opt.Watch.masked(metrics.MaskedExfiltration)
	}
	return why
}

func (s *Set) maskFile(b *tools.Blob) error {
	for _, text := range []string{b.Name, b.Type, string(b.Data)} {
		masked, err := s.held().Store().Text(text)
		if err == nil && masked != text {
			err = protocol.Errorf(protocol.KindDenied, "the output is withheld: a file in it has a secret")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
