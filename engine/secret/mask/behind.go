package mask

import (
	"encoding/base32"
	"encoding/base64"
)

// minBehind is how many letters a code of a code has at least: what it spells has minCoded.
const minBehind = 20

// behind looks for secrets in codes that begin within a word, behind a part of an address, a name, an escape, or that end before one.
// The place where they begin is not known, so it decodes the word from each place that leads to other bytes. What such a code holds
// that a scan does not find is a code again, which is text, or it is compressed: nothing else that is decoded is searched.
func (s *search) behind(word []byte, depth int) (name, form string) {
	if len(word) < minBehind {
		return "", ""
	}
	if name, form = s.behindHex(word, depth); name != "" {
		return name, form
	}
	plain := make([]byte, len(word))
	for from := 1; from < 4; from++ {
		n, _ := base64.RawStdEncoding.Decode(plain, whole(word[from:]))
		if name, form = s.texts(plain[:n], "base64", depth); name != "" {
			return name, form
		}
	}
	return "", ""
}

// behindHex looks at the parts of a word that may be hex or base32.
func (s *search) behindHex(word []byte, depth int) (name, form string) {
	plain := make([]byte, len(word))
	parts(word, func(c byte) bool { return value(c) < 16 }, func(part []byte) bool {
		for from := range 2 {
			if from == 0 && len(part) == len(word) && len(word)%2 == 0 {
				continue // it has been searched whole
			}
			n := 0
			for i := from; i+1 < len(part); i += 2 {
				plain[n] = byte(value(part[i])<<4 | value(part[i+1]))
				n++
			}
			if name, form = s.texts(plain[:n], "hex", depth); name != "" {
				return false
			}
		}
		return true
	})
	for _, alphabet := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz234567"} {
		if name != "" {
			break
		}
		code := base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)
		parts(word, func(c byte) bool { return '2' <= c && c <= '7' || alphabet[0] <= c && c <= alphabet[25] }, func(part []byte) bool {
			for from := range 8 {
				n, _ := code.Decode(plain, part[from:len(part)-(len(part)-from)%8])
				if name, form = s.texts(plain[:n], "base32", depth); name != "" {
					return false
				}
			}
			return true
		})
	}
	return name, form
}

// parts gives the parts of a word of one alphabet that may be codes, until do returns false.
func parts(word []byte, of func(byte) bool, do func(part []byte) bool) {
	for at := 0; at < len(word); at++ {
		begin := at
		for at < len(word) && of(word[at]) {
			at++
		}
		if at-begin >= minBehind && !do(word[begin:at]) {
			return
		}
	}
}

// texts looks for secrets in what was decoded: in its parts that are text, and in what of it is compressed.
func (s *search) texts(plain []byte, form string, depth int) (name, in string) {
	for at := 0; at < len(plain); at++ {
		begin := at
		for at < len(plain) && textual(plain[at]) {
			at++
		}
		if at-begin >= minCoded && s.left > at-begin {
			s.left -= at - begin
			if name, in = s.inner(string(plain[begin:at]), form, depth); name != "" {
				return name, in
			}
		}
	}
	if depth+1 < maxDepth && headed(plain) {
		if name, in = s.unpacked(string(plain), depth+1); name != "" {
			return name, form + " of " + in
		}
	}
	return "", ""
}

// textual reports whether a byte is of a text in ASCII or UTF-16.
func textual(c byte) bool {
	return ' ' <= c && c <= '~' || c == '\n' || c == '\r' || c == '\t' || c == 0
}

// headed reports whether bytes have the head of something compressed.
func headed(plain []byte) bool {
	for i := 0; i+2 < len(plain); i++ {
		switch c, next := plain[i], plain[i+1]; {
		case c == 0x1f && next == 0x8b, c == 'B' && next == 'Z', c == 'P' && next == 'K', c == 'x' && (next == 1 || next == 0x5e || next == 0x9c || next == 0xda):
			return true
		}
	}
	return false
}
