package tam

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// This file finds keys in the bytes around a delimiter.

// keyAhead reports whether "key:" and an opening delimiter stand at b[start].
func keyAhead(b []byte, start int) bool {
	head := b[start:min(len(b), start+maxKey+utf8.UTFMax)]
	k := bytes.IndexFunc(head, func(r rune) bool { return !isKeyRune(r) })
	if k < 0 || k > maxKey {
		return false
	}
	r, n := utf8.DecodeRune(head[k:])
	if _, _, ok := keyBefore(head[:k+n]); !ok || r != ':' && r != '：' {
		return false
	}
	for j := start + k + n; j < len(b) && j-start <= maxKey; j += n {
		n = blankLen(b[j:])
		if n == 0 && isDecor(b[j]) {
			n = 1
		}
		if n == 0 {
			return scanDelim(b, j).kind == delimOpen
		}
	}
	return false
}

// isDecor are the marks that people put around keys.
func isDecor(c byte) bool { return c == '*' || c == '`' || c == '"' || c == '\'' }

// isKeyRune holds for what a key may be made of. It is wide, for keys are
// normalised, but holds no punctuation of sentences.
func isKeyRune(r rune) bool {
	if r < utf8.RuneSelf {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return true
		}
		switch r {
		case '_', '-', ' ', '\t', '\r', '.', '*', '`', '"', '\'', '(', ')', '[', ']', '/', '@', '$', '&', '+', '~', '%':
			return true
		}
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '•' ||
		unicode.In(r, unicode.Pc, unicode.Pd, unicode.Zs) || dropInvisible(r) < 0
}

// keyBefore reads "bullet key:" at the end of head and returns where the key
// stands in it.
func keyBefore(head []byte) (start, end int, ok bool) {
	body := head
	for len(body) > 0 {
		if t := trimBlankRight(body); len(t) < len(body) {
			body = t
		} else if isDecor(body[len(body)-1]) {
			body = body[:len(body)-1]
		} else {
			break
		}
	}
	switch {
	case bytes.HasSuffix(body, []byte(":")):
		body = body[:len(body)-1]
	case bytes.HasSuffix(body, []byte("：")):
		body = body[:len(body)-len("：")]
	default:
		return 0, 0, false
	}
	body = trimBlankRight(body)
	start = len(body) - len(trimBullet(trimBlank(body)))
	if !isKey(body[start:]) {
		return 0, 0, false
	}
	return start, len(body), true
}

func isKey(b []byte) bool {
	word := false
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if !isKeyRune(r) {
			return false
		}
		word = word || unicode.IsLetter(r) || unicode.IsDigit(r)
		b = b[n:]
	}
	return word
}

// trimBlank drops blanks at the start.
func trimBlank(b []byte) []byte {
	for n := blankLen(b); n > 0; n = blankLen(b) {
		b = b[n:]
	}
	return b
}

func trimBlankRight(b []byte) []byte {
	for len(b) > 0 {
		_, n := utf8.DecodeLastRune(b)
		if blankLen(b[len(b)-n:]) != n {
			break
		}
		b = b[:len(b)-n]
	}
	return b
}

// trimBullet drops a list bullet: "- ", "* ", "1. ", "2) ".
func trimBullet(b []byte) []byte {
	i := 0
	switch {
	case len(b) > 0 && (b[0] == '-' || b[0] == '*' || b[0] == '+'):
		i = 1
	case bytes.HasPrefix(b, []byte("•")):
		i = len("•")
	default:
		for i < len(b) && i < 3 && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		if i == 0 || i >= len(b) || b[i] != '.' && b[i] != ')' {
			return b
		}
		i++
	}
	if rest := trimBlank(b[i:]); len(rest) < len(b)-i {
		return rest
	}
	return b
}
