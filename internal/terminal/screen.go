// Package terminal shows text to people: with colours on a terminal, in tables, and without terminal
// control sequences, even if the text goes through a file or a pipe first. It does not handle the bytes
// of files and exports.
package terminal

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Screen is a terminal. What is written to it may hold text of agents, models
// and files, which must not steer the terminal: of all that does, only line ends,
// tabs and the colours of paint go through. Files and pipes are no screens: see Print.
type Screen struct {
	w     io.Writer
	width func() int // in cells; 0 = not known

	mu   sync.Mutex // guards what follows, and the order of writes
	rest []byte     // the begin of a character or of a colour
}

// On is f itself, or the screen that f is.
func On(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return &Screen{w: f, width: func() int {
		n, _, _ := term.GetSize(int(f.Fd()))
		return n
	}}
}

// Is reports whether what On gave is a terminal.
func Is(w io.Writer) bool {
	_, yes := w.(*Screen)
	return yes
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []byte
	shown, s.rest = harmless(append(s.rest, p...))
	if _, err := s.w.Write(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Width is that of the terminal in cells; 0 = not known.
func (s *Screen) Width() int { return s.width() }

// Rewrite shows a text in place of the line that stands there.
func (s *Screen) Rewrite(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, _ := harmless([]byte(line))
	_, _ = s.w.Write(append([]byte("\r\x1b[K"), shown...))
}

// harmless shows what would steer a terminal. It leaves the end of data over if
// that may be half a character or half a colour.
func harmless(data []byte) (shown, rest []byte) {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == '\x1b':
			code, whole := colour(string(data[:min(len(data), 5)]))
			switch {
			case whole:
				shown, n = append(shown, code...), len(code)
			case code != "":
				return shown, data
			default:
				shown = utf8.AppendRune(shown, visible(r))
			}
		case !utf8.FullRune(data):
			return shown, data
		case r == '\n', r == '\t':
			shown = append(shown, data[0])
		default:
			shown = utf8.AppendRune(shown, visible(r))
		}
		data = data[n:]
	}
	return shown, nil
}

// colour finds the colour of paint with which text begins, or which begins with
// text.
func colour(text string) (code string, whole bool) {
	for _, code := range colours() {
		switch code = "\x1b[" + code + "m"; {
		case strings.HasPrefix(text, code):
			return code, true
		case strings.HasPrefix(code, text):
			return code, false
		}
	}
	return "", false
}

// visible is r, or a sign for it if it steers a terminal or turns its text
// around. The two joiners are part of how some languages are written.
func visible(r rune) rune {
	switch {
	case r == '\u200c', r == '\u200d', !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return r
	case r < ' ':
		return '\u2400' + r
	}
	return utf8.RuneError
}
