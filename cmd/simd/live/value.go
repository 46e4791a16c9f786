package live

import (
	"tavernsim/engine/panel"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/replies"
)

// valueOf reads JSON that a person gives. Whole numbers are exact.
func valueOf(text string) (any, error) {
	t, err := lenient.Read(text, lenient.Options{Plain: true, Strict: true})
	return t.Value, err
}

// answerOf reads a line: JSON that fits, else the line as text.
func answerOf(q *panel.Asked, line string) (v any, err error) {
	check := func(v any) error {
		if q.Schema == nil {
			return nil
		}
		return replies.CheckAnswer(q.Schema, protocol.Encode(v))
	}
	if v, err = valueOf(line); err != nil {
		return line, check(line)
	}
	if err = check(v); err != nil && check(line) == nil { // a text that could be JSON, too
		return line, nil
	}
	return v, err
}
