package scenes

import "tavernsim/protocol"

// carrier is an envelope to the stage whose body is a value.
type carrier struct {
	env   protocol.Envelope
	value any
}

func (c *carrier) of(kind protocol.Kind, v any) *protocol.Envelope {
	c.env.Kind, c.value = kind, v
	c.env.Body.SetValue(&c.value)
	return &c.env
}

// carrying makes an envelope to the stage that carries a value.
func carrying(kind protocol.Kind, v any) *protocol.Envelope { return new(carrier).of(kind, v) }

// carried is the value that an envelope carries beside its bytes, or in their place.
func carried[T any](env *protocol.Envelope) (T, error) {
	v, err := env.Body.Value()
	x, ok := v.(T)
	if err == nil && !ok {
		err = protocol.Errorf(protocol.KindInternal, "%s carries a %T", env.Kind, v)
	}
	return x, err
}
