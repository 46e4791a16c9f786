package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// mixed are values that have eight letters of ASCII in a row beside others.
func mixed() []string {
	return []string{"пароль-Секрет-9fQ2xZ7bT4", "pässwörd-日本語-9fQ2xZ7b", "ключ日本語Zebra77x9QwLm", "密码abcqefgh1w34", "tok_9fQ2xZ7b—Größe-Ÿéñüöä"}
}

// aligned are spellings of texts in which what stands for a letter does not depend on its neighbours.
func aligned() map[string]func(string) string {
	return map[string]func(string) string{
		"JSON": inASCII, `\x`: escapedBytes(`\x%02x`), "percent": escaped, "query": url.QueryEscape, "octal": escapedBytes(`\%03o`), "XML": escapedBeyond("&#%d;", utf8.MaxRune),
		"hex": func(s string) string { return hex.EncodeToString([]byte(s)) }, "rows": func(s string) string { return each(s, "%d, ") },
		"0x": func(s string) string { return each(s, "0x%02x, ") }, "bits": func(s string) string { return each(s, "%08b ") }, "od -b": func(s string) string { return each(s, " %03o") },
		"itself": func(s string) string { return s }, "NFD": norm.NFD.String, "read as Latin-1": wide, "backwards": backwards, "escapes of escapes": func(s string) string { return url.QueryEscape(escaped(s)) },
	}
}

// shifting are spellings in which it does, and those of them that files have of no secret only.
func shifting() (all, dumps map[string]func(string) string) {
	return map[string]func(string) string{
			"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"base32": func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
			"UTF-7":  func(s string) string { return utf7(s, func(rune) bool { return false }) },
		}, map[string]func(string) string{
			"od": func(s string) string { return dumped(s, 2, " %06o") }, "od -x": swappedHex, "uuencode": func(s string) string { return uu([]byte(s)) },
		}
}

// escapedBytes escapes the bytes beyond ASCII.
func escapedBytes(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			if s[i] < utf8.RuneSelf {
				b.WriteByte(s[i])
			} else {
				b.WriteString(each(s[i:i+1], format))
			}
		}
		return b.String()
	}
}

// windows are the parts of a value that have so many letters and digits and, unless these are eight, no signs.
func windows(value string, letters int) (parts []string) {
	runes := []rune(value)
	sign := func(r rune) bool { return len(squeeze(string(r))) == 0 }
	for from := range runes {
		to := from
		for n := 0; to < len(runes) && n < letters; to++ {
			if letters != gram || !sign(runes[to]) {
				n++
			}
		}
		if part := string(runes[from:to]); !sign(runes[from]) && utf8.RuneCount(squeeze(part)) == letters {
			parts = append(parts, part)
		}
	}
	return parts
}

// Promises 1 and 3 for each part of a value with letters beyond ASCII: eight letters are found in each spelling, and fewer are not.
func TestParts(t *testing.T) {
	coded, dumped := shifting()
	for _, value := range mixed() {
		m := masker(t, value)
		check := func(names map[string]func(string) string, before string, letters int, found bool) {
			for name, spell := range names {
				for _, part := range windows(value, letters) {
					text := spell(before + part + " jj")
					if _, f := m.Text(text); f.Any() != found {
						t.Errorf("%s of %q in %q: %+v", name, part, text, f)
					}
				}
			}
		}
		check(aligned(), "jj ", gram-1, false)
		check(aligned(), "jj ", gram, true)
		for _, before := range []string{"jj", "jjj", "jjjj", "jjjjj"} {
			check(coded, before, gram-3, false)
			check(coded, before, gram, true)
			check(dumped, before, 3, false)
		}
	}
}

// Promise 3: a word that a value has with accents is none without them.
func TestWordsWithoutAccents(t *testing.T) {
	m := masker(t, "pässwörd-日本語-9fQ2xZ7b")
	for text, hit := range map[string]bool{"the password is": false, "Password: ": false, "drowssap": false, "ｐassword": false, "passwörd": false, "password-日": true, "日drowssap": true, "password日本語9": true} {
		if _, f := m.Text(text); f.Any() != hit {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

// Promise 3: eight characters of base85 stand for seven letters, which are no third of a long value.
func TestFewCharactersOfBase85(t *testing.T) {
	m := masker(t, "Jaw3oN7l0Eu_rwgqDjw8se-un5bXlAnHioLUUvmc", "xyEyJMHMS9hHwoiDfgCB-ypNsv9rE3gpdJc")
	for _, text := range []string{"an array/slice type", "// action{a1}\n\t\"haction\""} {
		if _, f := m.Text(text); f.Any() {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func joined(blocks []block) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.text)
	}
	return b.String()
}

// Promise 2: a part in ROT47 is found if it has the letters of a hit and its encoding has eight: what became a sign at its ends counts, too.
func TestPartsInROT47(t *testing.T) {
	random, parts := rand.New(rand.NewPCG(1, 2)), 0
	for _, value := range append(mixed(), "vq3UEy7JGgcN54TbXw8Zk1mPz6Rs0aLd") {
		for range 6 {
			m, runes := masker(t, value), []rune(value)
			for from := range runes {
				for to := range runes[from:] {
					piece := string(runes[from : from+to+1])
					spelled := strings.Map(rot47, piece)
					ends := spelled[:1] + spelled[len(spelled)-1:] // one that stands for itself has nothing beside it that counts
					if utf8.RuneCountInString(string(squeeze(piece))) < part(value) || len(squeeze(spelled)) < gram || beyond(ends, 0) >= 0 {
						continue
					}
					parts++
					if _, f := m.Text("j " + spelled + " ;"); !f.Any() {
						t.Errorf("%q of %q: %q is not found", piece, value, spelled)
					}
				}
			}
			b := make([]byte, 16+random.IntN(32))
			for i := range b {
				b[i] = in62[random.IntN(len(in62))]
			}
			value = string(b)
		}
	}
	if parts < 3000 {
		t.Errorf("only %d parts", parts)
	}
}
