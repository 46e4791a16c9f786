package endpoint

// Text is a text that comes in parts. One that comes at once is not copied.
type Text struct {
	whole string
	parts []byte
}

// Add adds a part.
func (t *Text) Add(s string) {
	switch {
	case s == "":
	case t.whole == "":
		t.whole = s
	default:
		if t.parts == nil {
			t.parts = append(t.parts, t.whole...)
		}
		t.parts = append(t.parts, s...)
	}
}

// Len is the size in bytes.
func (t *Text) Len() int { return max(len(t.whole), len(t.parts)) }

func (t *Text) String() string {
	if t.parts != nil {
		return string(t.parts)
	}
	return t.whole
}
