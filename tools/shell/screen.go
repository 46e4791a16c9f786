package shell

import "unicode/utf8"

// Bounds of what is kept between two answers.
const (
	maxOutput = 1 << 20  // bytes
	maxLine   = 64 << 10 // bytes of a line that may still change
)

// screen makes a text of what programs write to a terminal: without its escape sequences
// and control characters, with lines as they were in the end. It keeps the first bytes and
// counts the rest.
type screen struct {
	text    []byte
	line    []byte // not ended; a carriage return begins it anew
	returns bool   // the last character was a carriage return
	escape  escape
	dropped int64
}

// escape is where in an escape sequence the stream is.
type escape byte

const (
	plain    escape = iota
	begun           // after ESC
	control         // after ESC [, up to a letter
	charset         // one character more
	title           // a text that BEL or ESC \ ends
	titleEnd        // ESC within it
)

func (s *screen) write(b []byte) {
	for _, c := range b {
		if s.escape != plain || c == 0x1b {
			s.escapes(c)
			continue
		}
		s.put(c)
	}
}

// escapes takes a character of an escape sequence.
func (s *screen) escapes(c byte) {
	switch {
	case c == 0x18 || c == 0x1a: // they cancel a sequence
		s.escape = plain
	case c == 0x1b && (s.escape == title || s.escape == titleEnd):
		s.escape = titleEnd
	case c == 0x1b:
		s.escape = begun
	case s.escape == begun && c == '[':
		s.escape = control
	case s.escape == begun && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'):
		s.escape = title
	case s.escape == begun && 0x20 <= c && c <= 0x2f:
		s.escape = charset
	case s.escape == control && (c < 0x40 || c > 0x7e) && c >= 0x20:
	case s.escape == charset && 0x20 <= c && c <= 0x2f:
	case s.escape == title && c != 0x07:
	case s.escape == titleEnd && c != '\\' && c != 0x07:
		s.escape = title
	case s.escape == control && (c == '\n' || c == '\r' || c == '\b' || c == '\t'): // terminals obey these within one
		s.put(c)
	default:
		s.escape = plain
	}
}

func (s *screen) put(c byte) {
	if s.returns && c != '\n' && c != '\r' {
		s.line = s.line[:0]
	}
	s.returns = c == '\r'
	switch {
	case c == '\n':
		s.line = append(s.line, c)
		s.flush()
	case c == '\b':
		_, n := utf8.DecodeLastRune(s.line)
		s.line = s.line[:len(s.line)-n]
	case c == '\t' || c >= 0x20 && c != 0x7f:
		if s.line = append(s.line, c); len(s.line) >= maxLine {
			s.flush()
		}
	}
}

func (s *screen) flush() {
	room := min(len(s.line), maxOutput-len(s.text))
	s.text = append(s.text, s.line[:room]...)
	s.dropped += int64(len(s.line) - room)
	s.line = s.line[:0]
}

// take gives what there is, and how much was dropped. Part of a character stays for the
// next time unless it is the last.
func (s *screen) take(last bool) (text string, dropped int64) {
	var rest []byte
	if !last {
		rest = append(rest, unfinished(s.line)...)
		s.line = s.line[:len(s.line)-len(rest)]
	}
	s.flush()
	text, dropped = string(s.text), s.dropped
	s.text, s.line, s.dropped = nil, append(s.line, rest...), 0
	return text, dropped
}

// unfinished is the beginning of a character at the end of a text.
func unfinished(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return tail
			}
			return nil
		}
	}
	return nil
}
