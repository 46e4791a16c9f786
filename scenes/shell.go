package scenes

import "tavernsim/protocol"

// carrying makes an envelope to the stage whose body is a value.
func carrying(kind protocol.Kind, v any) *protocol.Envelope {
	env := &protocol.Envelope{Kind: kind}
	env.Body.SetValue(v)
	return env
}

// carried is the value that an envelope carries beside its bytes, or in their place.
func carried[T any](env *protocol.Envelope) (T, error) {
	v, err := env.Body.Value()
	x, ok := v.(T)
	if err == nil && !ok {
		err = protocol.Errorf(protocol.KindInternal, "%s carries a %T", env.Kind, v)
	}
	return x, err
}
