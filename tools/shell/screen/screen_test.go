package screen

import (
	"strings"
	"testing"
)

// Promises 1 to 3.
func TestOutputsAreText(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m": "red", "10%\r20%\r30%\n": "30%\n", "a\r\nb\r\n": "a\nb\n", "ab\bc": "ac", "N\bNA\bA": "NA", "\x1b]0;title\x07x": "x", "\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\": "l",
		"\x1b(Bx\x1b=y\x1b7z": "xyz", "a\x00b\x07c\x7fd": "abcd", "tab\there": "tab\there", "ü\b\b€": "€", "\x1b[?25l\x1b[2Kdone": "done", "\x1b": "", "\x1b[": "", "x\x1b[12": "x", "\x1b[31\nm": "\n",
		"\x1b]0;a\x18b": "b", "\x1b]0;a\x1ab": "b", "\x1b]0;a\x1bbz\x07c": "c", "\x1b]0;a\x1b\x1bbz\x07c": "c", "\x1b]0;a\x1b\x07x": "x", "\x1bPq\x07x": "x", "\x1bXq\x07x": "x", "\x1b^q\x07x": "x", "\x1b_q\x07x": "x",
		"\x1b( Bx": "x", "a\x1b[3\tmb": "a\tb", "ab\x1b[3\bmc": "ac", "ab\x1b[3\rmc": "cb", "a\r\r\n": "a\n", "a\xe2\x82": "a\xe2\x82",
		"abc\b\bX": "aXc", "abc\rX": "Xbc", "abc\b\b\b\b\bX": "Xbc", "abc\b\b": "abc", "äöü\rx\by€": "y€ü", "abc\rü": "übc", "ü\ra": "a", "abc\b\n": "abc\n", "ab\r\r\nc": "ab\nc",
		"loading\r\x1b[Kdone": "done", "loading\x1b[2K\rdone": "done", "loading\r\x1b[0Kdone": "done", "abc\r\x1b[1KX": "Xbc", "abc\r\x1b[?2KX": "Xbc", "abc\r\x1b[1;2KX": "Xbc", "abc\r\x1b[102KX": "Xbc", "abc\b\x1b[KX": "abX", "abc\x1b[K": "abc",
		strings.Repeat("a", maxLine) + "\rb": strings.Repeat("a", maxLine) + "b",
	} {
		s := Screen{}
		for _, c := range []byte(in) {
			s.Write([]byte{c})
		}
		if got, _ := s.Take(true); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	s := Screen{}
	s.Write([]byte("a\xe2\x82"))
	if text, _ := s.Take(false); text != "a" {
		t.Errorf("%q", text)
	}
	s.Write([]byte("\xac\n"))
	if text, _ := s.Take(false); text != "€\n" {
		t.Errorf("%q", text)
	}
	s.Write([]byte(strings.Repeat("a", MaxText+10)))
	if text, dropped := s.Take(true); len(text) != MaxText || dropped != 10 {
		t.Errorf("%d bytes, %d dropped", len(text), dropped)
	}
}

// Promise 2: what is taken does not change any more; the next character stands behind what is left.
func TestTaken(t *testing.T) {
	s := Screen{}
	s.Write([]byte("abc\r"))
	if text, _ := s.Take(false); text != "abc" {
		t.Errorf("%q", text)
	}
	s.Write([]byte("X"))
	if text, _ := s.Take(false); text != "X" {
		t.Errorf("%q", text)
	}
	s.Write([]byte("50%\r"))
	s.ToEnd()
	s.Write([]byte("after"))
	if text, _ := s.Take(true); text != "50%after" {
		t.Errorf("%q", text)
	}
}
