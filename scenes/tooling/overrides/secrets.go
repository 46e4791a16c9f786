package overrides

import (
	"context"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/rpc"
	"tavernsim/tools/secrets"
)

// methodSecret asks a service for the value of a secret.
const methodSecret = "secret/get"

const (
	maxSecretTime = 30 * time.Second // in which a value comes, with the start of the service
	maxSecret     = 64 << 10         // bytes of a value
)

// Secrets is a store of secrets that a service keeps. What it gave is taken out of outputs from
// then on.
type Secrets struct {
	Winner   *Winner
	Services Services
	Held     func() *secrets.Held // takes the values out of outputs, and has those of persons
	Refused  func() error         // why the operator lets it give none; nil = it may
}

// owner has the values that the service gave, in Held: no agent is called so.
const owner = "\x00store"

// For asks for the values that a tool needs; all of them, or an error without any.
func (s *Secrets) For(ctx context.Context, agent, tool string, names []string) (map[string]string, error) {
	if err := s.Refused(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, maxSecretTime)
	defer stop()
	out := map[string]string{}
	for _, name := range names {
		value, err := s.ask(ctx, agent, tool, name)
		if err != nil {
			return nil, err
		}
		if err := s.Held().Give(owner, name, value); err != nil {
			return nil, protocol.Errorf(protocol.KindDenied, "the secret %s of %s: %w", name, s.Winner.Name(), err)
		}
		out[name] = value
	}
	return out, nil
}

func (s *Secrets) ask(ctx context.Context, agent, tool, name string) (string, error) {
	raw, failed := s.Services.Ask(ctx, &rpc.Request{Service: s.Winner.Service, Method: methodSecret, Params: map[string]any{"name": name, "tool": tool, "agent": agent}})
	if failed != nil {
		return "", protocol.Errorf(failed.Error.Kind, "the secret %s: %s: %s", name, s.Winner.Name(), failed.Error.Message)
	}
	var said struct {
		Value *string `json:"value"`
	}
	if err := rpc.ReadAnswer(raw, &said); err != nil || said.Value == nil { // the error may have the value in it
		return "", protocol.Errorf(protocol.KindInvalid, "the secret %s: %s: the answer is no object with the text value", name, s.Winner.Name())
	}
	if len(*said.Value) > maxSecret {
		return "", protocol.Errorf(protocol.KindLimit, "the secret %s: %s: the value has more than %d bytes", name, s.Winner.Name(), maxSecret)
	}
	return *said.Value, nil
}

// Own gives what an agent names: the values that persons gave it, and else those of the service.
func (s *Secrets) Own(ctx context.Context, session, agent, tool string, names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		if value, ok := s.Held().Given(session, name); ok {
			out[name] = value
			continue
		}
		values, err := s.For(ctx, agent, tool, []string{name})
		if err != nil {
			return nil, protocol.Errorf(protocol.KindOf(err), "%w; or ask for it with get_value", err)
		}
		out[name] = values[name]
	}
	return out, nil
}
