package child

import (
	"encoding/json"
	"fmt"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Bounds of a line that is longer than a message may be.
const (
	maxSkipped = 8     // times the longest message: what is read and dropped
	maxPart    = 1_024 // bytes of a name or an id that are kept
)

// Unsound is the code of the error that stands for an answer that has a result which nobody can read.
const Unsound = -32099

// UnsoundAnswer is that error, of the request with an id.
func UnsoundAnswer(id []byte, why string) []byte {
	text, _ := json.Marshal(why) // a text never fails
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, Unsound, text)
}

// Long is what is known of a message that is longer than it may be.
type Long struct {
	ID     []byte // as it was written
	Answer bool   // else it is a request
	Bytes  int    // with the end of the line
	Most   int    // bytes that it may have
}

// Error says that it is too long.
func (l *Long) Error() error {
	return protocol.Errorf(protocol.KindLimit, "a message exceeded %d bytes", l.Most)
}

// Fails is an error in the place of an answer, so that what was asked fails and nothing else.
func (l *Long) Fails() []byte {
	return UnsoundAnswer(l.ID, fmt.Sprintf("the answer has %d bytes; at most %d of a message are read", l.Bytes, l.Most))
}

// skim finds the id of a message in its bytes, without keeping them.
type skim struct {
	depth           int
	quoted, escaped bool
	name, part      []byte // of the object
	seen            bool   // anything
	broken          bool   // it is no object, or has more than one id
	long            Long
}

func (s *skim) read(b []byte) {
	s.long.Bytes += len(b)
	for _, c := range b {
		switch {
		case s.quoted:
			s.keep(c)
			s.quoted = s.escaped || c != '"'
			s.escaped = !s.escaped && c == '\\'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			s.sign(c)
		}
	}
}

// sign reads a character that is in no text.
func (s *skim) sign(c byte) {
	s.broken = s.broken || !s.seen && c != '{' || s.seen && s.depth == 0
	s.seen = true
	switch c {
	case '"':
		s.quoted = true
		s.keep(c)
	case '{', '[':
		s.keep(c)
		s.depth++
	case '}', ']':
		if s.depth == 1 {
			s.field()
		}
		s.depth--
	case ',':
		if s.depth == 1 {
			s.field()
		}
	case ':':
		if s.depth == 1 {
			s.name, s.part = append(s.name[:0], s.part...), s.part[:0]
		}
	default:
		s.keep(c)
	}
}

func (s *skim) keep(c byte) {
	if s.depth == 1 && len(s.part) <= maxPart {
		s.part = append(s.part, c)
	}
}

// field ends a field of the message.
func (s *skim) field() {
	switch string(s.name) {
	case `"id"`:
		s.broken = s.broken || s.long.ID != nil
		s.long.ID = append([]byte{}, s.part...)
	case `"result"`, `"error"`:
		s.long.Answer = true
	}
	s.name, s.part = s.name[:0], s.part[:0]
}

// end is what is known of the message; nil = it is none whose id is known.
func (s *skim) end(most int) *Long {
	id := s.long.ID
	scalar := len(id) > 0 && len(id) <= maxPart && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
	if s.broken || s.depth != 0 || s.quoted || !scalar || wirejson.Read(id, func(r *wirejson.Reader) { r.Skip() }) != nil {
		return nil
	}
	s.long.Most = most
	return &s.long
}
