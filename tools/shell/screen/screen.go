// Package screen makes a text of what programs write to a terminal.
//
// # Promises
//
//  1. The text has no escape sequence and no control character but tabs and ends of lines.
//  2. A line is as it was in the end: what is written after a carriage return or a backspace stands in the place of what
//     was there, and ESC [ K erases the rest. A column is a character, whatever its width. Other sequences move nothing.
//  3. What is kept is bounded; the rest is counted.
//
// # Not here
//
// When a text is taken, and which part of the stream is one (tools/shell).
package screen

import (
	"slices"
	"unicode/utf8"
)

// Bounds of what is kept until it is taken.
const (
	MaxText = 1 << 20  // bytes
	maxLine = 64 << 10 // bytes of a line that may still change
)

// Screen keeps the first bytes and counts the rest.
type Screen struct {
	text    []byte
	line    []byte // not ended
	at      int    // where the next character stands in it
	escape  escape
	number  int // of a sequence that may erase; below 0 = it has another form
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

// Write takes what a program wrote.
func (s *Screen) Write(b []byte) {
	for _, c := range b {
		if s.escape != plain || c == 0x1b {
			s.escapes(c)
			continue
		}
		s.put(c)
	}
}

// escapes takes a character of an escape sequence.
func (s *Screen) escapes(c byte) {
	switch {
	case c == 0x18 || c == 0x1a: // they cancel a sequence
		s.escape = plain
	case c == 0x1b && (s.escape == title || s.escape == titleEnd):
		s.escape = titleEnd
	case c == 0x1b:
		s.escape = begun
	case s.escape == begun && c == '[':
		s.escape, s.number = control, 0
	case s.escape == begun && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'):
		s.escape = title
	case s.escape == begun && 0x20 <= c && c <= 0x2f:
		s.escape = charset
	case s.escape == control && (c < 0x40 || c > 0x7e) && c >= 0x20:
		if c < '0' || c > '9' || s.number < 0 {
			s.number = -1 // it is no single number
		} else {
			s.number = min(s.number*10+int(c-'0'), 99)
		}
	case s.escape == charset && 0x20 <= c && c <= 0x2f:
	case s.escape == title && c != 0x07:
	case s.escape == titleEnd && c != '\\' && c != 0x07:
		s.escape = title
	case s.escape == control && (c == '\n' || c == '\r' || c == '\b' || c == '\t'): // terminals obey these within one
		s.put(c)
	default:
		if s.escape == control && c == 'K' {
			s.erase()
		}
		s.escape = plain
	}
}

// erase erases the line, from the place on or all of it.
func (s *Screen) erase() {
	switch s.number {
	case 0:
		s.line = s.line[:s.at]
	case 2:
		s.line, s.at = s.line[:0], 0
	}
}

func (s *Screen) put(c byte) {
	switch {
	case c == '\r':
		s.at = 0
	case c == '\n':
		s.line = append(s.line, c)
		s.flush()
	case c == '\b':
		_, n := utf8.DecodeLastRune(s.line[:s.at])
		s.at -= n
	case c == '\t' || c >= 0x20 && c != 0x7f:
		n := 0 // bytes in whose place it stands; the first byte of a character makes room for all
		if utf8.RuneStart(c) {
			_, n = utf8.DecodeRune(s.line[s.at:])
		}
		s.line = slices.Replace(s.line, s.at, s.at+n, c)
		if s.at++; len(s.line) >= maxLine {
			s.flush()
		}
	}
}

func (s *Screen) flush() {
	room := min(len(s.line), MaxText-len(s.text))
	s.text = append(s.text, s.line[:room]...)
	s.dropped += int64(len(s.line) - room)
	s.line, s.at = s.line[:0], 0
}

// Dropped is how much was dropped since the last text.
func (s *Screen) Dropped() int64 { return s.dropped }

// ToEnd lets the next character stand behind the line.
func (s *Screen) ToEnd() { s.at = len(s.line) }

// Take gives what there is, and how much was dropped. Part of a character stays for the
// next time unless it is the last.
func (s *Screen) Take(last bool) (text string, dropped int64) {
	var rest []byte
	if !last {
		rest = append(rest, unfinished(s.line)...)
		s.line = s.line[:len(s.line)-len(rest)]
	}
	s.flush()
	text, dropped = string(s.text), s.dropped
	s.text, s.line, s.dropped = nil, append(s.line, rest...), 0
	s.ToEnd()
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
