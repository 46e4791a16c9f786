package protocol

import "github.com/tinylib/msgp/msgp"

// Texts reads the texts of an encoded value as parts of one piece of memory. Without any ("") each
// text has memory of its own.
type Texts string

// ShareTexts begins to read a value, which ends where its bytes end.
func ShareTexts(b []byte) Texts {
	if len(b) > maxShared {
		return ""
	}
	return Texts(b)
}

// Read reads a text in front of the rest of the value.
func (t Texts) Read(b []byte) (text string, rest []byte, err error) {
	if t == "" {
		return msgp.ReadStringBytes(b)
	}
	raw, rest, err := msgp.ReadStringZC(b)
	end := len(t) - len(rest)
	return string(t[end-len(raw) : end]), rest, err
}
