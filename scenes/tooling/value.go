package tooling

import (
	"cmp"
	"context"
	"errors"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/tooling/forms"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/manifest"
	"tavernsim/tools/secrets"
)

// value carries get_value out: a person is asked for a secret, which the agent can use from
// then on and which nothing keeps.
type value struct {
	*Set
	q *effect.Ask
}

// Call implements tools.Executor.
func (v value) Call(ctx context.Context, c *tools.Call) tools.Result {
	key, _ := c.Params["key"].(string)
	told := func(status string) tools.Result {
		return tools.Output(map[string]any{"key": key, "status": status, "use": "$KARYI{" + key + "}"})
	}
	for _, tool := range []string{manifest.Command, manifest.Input, manifest.Edit} {
		if _, err := v.ownSecrets(ctx, v.q.Model.Agent, c, tool, []string{key}); err == nil {
			return told("available")
		}
	}
	said, err := v.ask(ctx)
	if err == nil {
		err = v.held().Give(c.Owner, key, said)
	}
	if err != nil {
		r := tools.Fail(cmp.Or(protocol.KindOf(err), protocol.KindUnknown), "the secret "+key+" was not given: "+err.Error())
		r.Unsent = true
		return r
	}
	return told("given")
}

// Close implements tools.Executor.
func (value) Close() error { return nil }

// ask asks for the value. Rules can only refuse: they have none.
func (v value) ask(ctx context.Context) (string, error) {
	l := v.shell.leave
	by := &ruled{l}
	if said, ok := by.rule(v.q); ok && !said.Yes {
		return "", protocol.Errorf(protocol.KindDenied, "a rule says no: %s", said.Reason)
	}
	if l.Door == nil {
		return "", protocol.Errorf(protocol.KindDenied, "%s; the operator can give it in a file of secrets", permit.Why(permit.ByNever))
	}
	v.q.Verdict = &permit.Verdict{Do: permit.Ask, Rule: manifest.GetValue}
	q := by.question(v.q)
	q.Kind = approvals.KindValue
	until, stop := context.WithTimeoutCause(ctx, cmp.Or(l.Timeout, DefaultSilence), errSilence)
	defer stop()
	defer outside.AsksPerson(ctx)()
	said, err := l.Door.Ask(until, q)
	switch {
	case err == nil && !said.Yes:
		return "", protocol.Errorf(protocol.KindDenied, "the answer was no: %s", said.Reason)
	case errors.Is(err, errSilence) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return "", protocol.Errorf(protocol.KindDenied, "%s", permit.Why(permit.BySilence))
	}
	return said.Value, err
}

// asking lets the other side of a call ask a person, and keeps what was asked with the call.
func (s *Set) asking(ctx context.Context, c *tools.Call, o *tools.Options, q *effect.Ask) {
	if c.Tool.Implementation.Type != manifest.MCP {
		return // nobody else asks
	}
	by, own := &ruled{s.shell.leave}, *q
	own.Verdict = &permit.Verdict{Do: permit.Ask, Rule: c.Tool.ID}
	a := forms.For(forms.Of{
		Door: by.Door, Timeout: cmp.Or(by.Timeout, DefaultSilence),
		Rule:     func() (permit.Leave, bool) { return by.rule(q) },
		Question: func() *approvals.Question { return by.question(&own) },
		Secrets:  func() *secrets.Store { return s.held().Store() },
		Waits: func() (done func()) {
			if c.Tool.Execution.Repeat == manifest.Never || !(*live)(s).MayRepeat(q) {
				return func() {} // nobody would know what came of a call that is given up
			}
			return outside.AsksPerson(ctx)
		},
	})
	c.Ask, o.Left = a.Ask, a.Left
}
