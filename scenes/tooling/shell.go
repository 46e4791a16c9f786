package tooling

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/tooling/leaks"
	"tavernsim/tools"
	"tavernsim/tools/files"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/places"
	"tavernsim/tools/mount"
	"tavernsim/tools/secrets"
	"tavernsim/tools/shell"
	"tavernsim/tools/shell/folders"
)

// sessions are those of the agents of a scene, with the secrets that persons give to them.
type sessions struct {
	leave    Leave // who is asked for secrets
	executor *shell.Executor
	leaks    *leaks.Count
	beside   *folders.Beside // of Mounts.Agent
}

// Asking gives the executors for the table of a scene. l says who is asked for secrets, and, if
// there is a policy, for leave.
func (s *Set) Asking(l Leave, policy bool) []outside.Entry {
	list := s.Entries()
	if s != nil {
		l = s.asked(l)
		l.mounts = s.opt.Mounts                   // what a leave is for is read where the call will be carried out
		s.shell.leave, s.now().shell.leave = l, l // a scene that goes on may have another edition already
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
		s.shell.executor = shell.New(shell.Options{Sandbox: s.opt.Sandbox, Mask: s.maskMore, Has: s.hasSecret, Withheld: s.held().Withheld, Before: s.sessionBefore, Unclean: s.unclean, Named: s.named})
	}
	return s.shell.executor
}

func (x *sessions) close() {
	if x.executor != nil {
		_ = x.executor.Close() // it ends what runs, and has nothing to say
	}
	x.beside.Close()
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
		if c.Secrets, err = s.ownSecrets(ctx, q.Model.Agent, c, c.Tool.ID, places.SecretsIn(content)); err == nil && c.Tool.ID == manifest.Command {
			c.Loan, err = s.loan(ctx, c, q)
		}
	case manifest.Files:
		if c.Tool.ID == manifest.Edit {
			c.Secrets, err = s.edited(ctx, c, q)
		}
	}
	return t.executor, err
}

// edited gives an edit the secrets that it writes, and those of the files that it changes.
func (s *Set) edited(ctx context.Context, c *tools.Call, q *effect.Ask) (map[string]string, error) {
	values, err := s.inFiles(ctx, c, q)
	if err != nil {
		return nil, err
	}
	more, err := s.ownSecrets(ctx, q.Model.Agent, c, manifest.Edit, files.SecretsOf(c.Params))
	maps.Copy(values, more)
	return values, err
}

// loan lends a command the secrets to which files of its agent refer.
func (s *Set) loan(ctx context.Context, c *tools.Call, q *effect.Ask) (tools.Loan, error) {
	values, err := s.inFiles(ctx, c, q)
	if err != nil {
		return nil, err
	}
	return s.refs.Loan(c.Files, c.Owner, values)
}

// inFiles are the secrets to which files of an agent refer, and which it may use now.
func (s *Set) inFiles(ctx context.Context, c *tools.Call, q *effect.Ask) (map[string]string, error) {
	list, err := s.refs.Of(c.Owner)
	values := map[string]string{}
	for _, names := range list {
		for _, name := range names {
			if v, err := s.ownSecrets(ctx, q.Model.Agent, c, manifest.Edit, []string{name}); err == nil {
				maps.Copy(values, v)
			}
		}
	}
	return values, err
}

// maskMore masks what an agent is told after something else.
func (s *Set) maskMore(before, text string) (string, error) {
	masked, err := s.held().Store().More(before, text)
	if err == nil && masked != text {
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
	if r.Withheld {
		r.Error.Message = s.withheld(r.Meta.Tool, r.Error.Message)
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
	return folders.Begins(s.opt.Mounts.Files, s.opt.Mounts.sessions(), mount.Folder(owner))
}

// unclean notes what a kill would leave of a session.
func (s *Set) unclean(owner string, m folders.Mark) error {
	switch {
	case s.opt.Mounts.Files != "":
		return m.Note(s.opt.Mounts.sessions(), s.opt.Mounts.Files, mount.Folder(owner))
	case s.opt.Mounts.Agent != "":
		return s.shell.beside.Note(m)
	}
	return nil
}

// named is what marks call a secret of an agent.
func (s *Set) named(owner, name string) string {
	if _, given := s.held().Given(owner, name); given {
		return "get_value:" + name // no file has it, and no later process
	}
	return name
}

// Clean removes what programs with secrets wrote when an earlier process was killed.
func (s *Set) Clean() error {
	removed, err := folders.Swept{}, error(nil)
	switch {
	case s.opt.Mounts.Files != "":
		s.takeBack()
		removed, err = folders.Clean(s.opt.Mounts.sessions(), s.opt.Mounts.Files, s.opt.Secrets.Has, s.hasSecret)
	case s.opt.Mounts.Agent != "":
		removed, err = s.shell.beside.Clean(s.opt.Secrets.Has, s.hasSecret)
	}
	if list := slices.Concat(removed.Files, removed.Unread); len(list) > 0 && s.opt.Warn != nil {
		s.opt.Warn(fmt.Sprintf("%d files were removed that programs with secrets had written when simd was killed: %s", len(list), s.maskSaid(protocol.Short(strings.Join(list, ", "), 1<<10))))
	}
	return err
}

// takeBack takes the values of secrets out of the files that refer to them, which a process lent them
// that was killed: the files keep the references. A value that only a person knows cannot be found
// any more.
func (s *Set) takeBack() {
	for _, session := range folders.Marked(s.opt.Mounts.sessions()) {
		owner, err := url.PathUnescape(session)
		scene, agent, is := strings.Cut(owner, "\x00")
		if err != nil || !is || mount.Folder(owner) != session {
			continue // a name that was cut
		}
		list, err := s.refs.Of(owner)
		if err != nil {
			continue // the first call that needs them says so
		}
		values := map[string]string{}
		for _, names := range list {
			for _, name := range names {
				if v, err := s.opt.Secrets.For(scene, manifest.Edit, []string{name}); err == nil {
					maps.Copy(values, v)
				}
			}
		}
		if l, err := s.refs.Loan(s.opt.Mounts.Source(scene, agent, nil), owner, values); err == nil && l != nil {
			l.Back()
		}
	}
}

// sessions is the folder of what is noted about agents: an empty file for each that had a session, and which
// of its files refer to secrets. No folder of a scene begins with a point. "" = there is none.
func (m *Mounts) sessions() string {
	if m.Files == "" {
		return ""
	}
	return filepath.Join(m.Files, ".sessions")
}
