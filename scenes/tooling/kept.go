package tooling

import (
	"bytes"
	"fmt"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
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
		s.opt.Watch.masked(metrics.MaskedWithheld)
		text := err.Error()
		if t := s.tools[r.Meta.Tool]; t != nil && t.withheld.Add(1) == maxWithheld {
			text += fmt.Sprintf("; secret_exfiltration: it is the output number %d of this tool that spelled one, so its grant is taken away for this run", maxWithheld)
			s.opt.Watch.masked(metrics.MaskedExfiltration)
		}
		meta := r.Meta
		*r = tools.Fail(protocol.KindOf(err), text)
		r.Meta = meta
		return
	}
	if found {
		s.opt.Watch.masked(metrics.MaskedPlain)
	}
	r.Output = output
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

// maxWithheld is how many outputs of a tool are withheld, because they spell a secret in
// another form, until nobody may call it any more.
const maxWithheld = 3

// leaks says why a tool is not called any more; nil = it is.
func (t *toolOf) leaks() error {
	if t.withheld.Load() < maxWithheld {
		return nil
	}
	return protocol.Errorf(protocol.KindDenied, "its grant is taken away for this run: %d of its outputs spelled a secret (secret_exfiltration); look at the tool, and start the run anew", maxWithheld)
}
