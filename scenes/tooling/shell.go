package tooling

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mount"
	"tavernsim/tools/secrets"
	"tavernsim/tools/shell"
	"tavernsim/tools/shell/folders"
)

// sessions are those of the agents of a scene, with the secrets that persons give to them.
type sessions struct {
	leave    Leave // who is asked for secrets
	executor *shell.Executor
}

// Asking gives the executors for the table of a scene. l says who is asked for secrets, and, if
// there is a policy, for leave.
func (s *Set) Asking(l Leave, policy bool) []outside.Entry {
	list := s.Entries()
	if s != nil {
		l = s.asked(l)
		s.shell.leave = l
	}
	if policy {
		list = append(list, l.Entry())
	}
	return list
}

// held are the secrets of the scene.
func (s *Set) held() *secrets.Held { return s.own.Held() }

// sessions makes the executor of the sessions of the scene, once.
func (s *Set) sessions() *shell.Executor {
	if s.shell.executor == nil {
		s.shell.executor = shell.New(shell.Options{Sandbox: s.opt.Sandbox, Mask: s.maskMore, Has: s.hasSecret, Before: s.sessionBefore, Unclean: s.unclean})
	}
	return s.shell.executor
}

func (x *sessions) close() {
	if x.executor != nil {
		_ = x.executor.Close() // it ends what runs, and has nothing to say
	}
}

// owned gives a call of a session, or one for a secret, what it needs of the agent, and what
// carries it out.
func (s *Set) owned(ctx context.Context, t *toolOf, c *tools.Call, q *effect.Ask) (x tools.Executor, err error) {
	c.Owner = q.Model.Scene + "\x00" + q.Model.Agent
	switch t.Definition.Implementation.Type {
	case manifest.Value:
		return value{s, q}, nil
	case manifest.Shell:
		c.Files = s.source(q)
		content, _ := c.Params["content"].(string)
		c.Secrets, err = s.ownSecrets(ctx, q.Model.Agent, c, c.Tool.ID, manifest.SecretsIn(content))
	}
	return t.executor, err
}

// maskMore masks what an agent is told after something else.
func (s *Set) maskMore(before, text string) (string, error) {
	masked, err := s.held().Store().More(before, text)
	switch {
	case err != nil:
		s.opt.Watch.masked(metrics.MaskedWithheld)
	case masked != text:
		s.opt.Watch.masked(metrics.MaskedPlain)
	}
	return masked, err
}

// hasSecret reports whether a text spells a secret in any way.
func (s *Set) hasSecret(text string) bool {
	masked, err := s.held().Store().Text(text)
	return err != nil || masked != text
}

// maskError masks the error of a result whose output is masked already.
func (s *Set) maskError(r *tools.Result) {
	if r.Error == nil {
		return
	}
	var err error
	if r.Error.Message, err = s.held().Store().Text(r.Error.Message); err != nil {
		r.Error.Message = "the error is withheld: it has a secret"
	}
}

// sessionBefore notes in the run that an agent has a session, and reports whether it had one
// already.
func (s *Set) sessionBefore(owner string) bool {
	if s.opt.Mounts.Files == "" {
		return false
	}
	dir := filepath.Join(s.opt.Mounts.Files, sessionsDir)
	return folders.Begins(s.opt.Mounts.Files, dir, mount.Folder(owner))
}

// unclean notes what a kill would leave of a session.
func (s *Set) unclean(owner string, m folders.Mark) error {
	if s.opt.Mounts.Files == "" {
		return nil
	}
	m.Names = slices.Clone(m.Names)
	for i, name := range m.Names {
		if _, given := s.held().Given(owner, name); given {
			m.Names[i] = "get_value:" + name // no file has it, and no later process
		}
	}
	return m.Note(filepath.Join(s.opt.Mounts.Files, sessionsDir), s.opt.Mounts.Files, mount.Folder(owner))
}

// clean removes what programs with secrets wrote when an earlier process was killed.
func (s *Set) clean() error {
	if s.opt.Mounts.Files == "" {
		return nil
	}
	removed, err := folders.Clean(filepath.Join(s.opt.Mounts.Files, sessionsDir), s.opt.Mounts.Files, s.opt.Secrets.Has, s.hasSecret)
	if len(removed) > 0 && s.opt.Warn != nil {
		s.opt.Warn(fmt.Sprintf("%d files were removed that programs with secrets had written when simd was killed: %s", len(removed), s.maskSaid(protocol.Short(strings.Join(removed, ", "), 1<<10))))
	}
	return err
}

// sessionsDir has an empty file for each agent that had a session: no
// folder of a scene begins with a point.
const sessionsDir = ".sessions"
