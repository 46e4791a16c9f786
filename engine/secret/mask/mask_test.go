package mask

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	ascii85enc "encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const token = "sk-Live_9fQ2xZ7bT4mN"

func masker(t testing.TB, values ...string) *Masker {
	t.Helper()
	var secrets []Secret
	for i, v := range values {
		secrets = append(secrets, Secret{fmt.Sprintf("S%d", i), v})
	}
	m, err := New(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Promise 1.
func TestPlain(t *testing.T) {
	m := masker(t, token)
	for text, want := range map[string]string{
		"key=" + token + ";":                          "key=$KARYI{S0};",
		"two: " + token + " and " + token:             "two: $KARYI{S0} and $KARYI{S0}",
		strings.ToUpper(token):                        "$KARYI{S0}",
		"sk-Live_9fQ\n2xZ7bT4mN":                      "$KARYI{S0}",
		"s k - L i v e _ 9 f Q 2 x Z 7 b T 4 m N.":    "$KARYI{S0}.",
		"\x1b[1msk-Live\x1b[0m_9fQ2xZ7b\x1b[32mT4mN!": "\x1b[1m$KARYI{S0}!",
		`{"a":"sk-Live_9fQ2","b":"xZ7bT4mN"}`:         `{"a":"$KARYI{S0}","b":"$KARYI{S0}"}`,
		"first half sk-Live_9fQ":                      "first half $KARYI{S0}",
		"second 2xZ7bT4mN half":                       "second $KARYI{S0} half",
		"-rw-r--r-- 1 a a 0 /tmp/" + token + ".txt":   "-rw-r--r-- 1 a a 0 /tmp/$KARYI{S0}.txt",
		`["\u003c` + token + `\u003e"] a%20b%20`:      `["\u003c$KARYI{S0}\u003e"] a%20b%20`,
		"only sk-Live and 9fQ2xZ7":                    "only sk-Live and 9fQ2xZ7",
	} {
		got, f := m.Text(text)
		if got != want && text != "only sk-Live and 9fQ2xZ7" || f.Withhold != "" {
			t.Errorf("%q: %q %+v, want %q", text, got, f, want)
		}
	}
}

func swappedHex(s string) string {
	var b strings.Builder
	for i := 0; i+1 < len(s); i += 2 {
		fmt.Fprintf(&b, " %02x%02x", s[i+1], s[i])
	}
	return b.String()
}

func xxd(s string) string { return hex.Dump([]byte(s)) }

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func wrapped(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func jsonEscaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04X`, c)
	}
	return b.String()
}

func fullWidth(s string) string {
	return strings.Map(func(r rune) rune {
		if '!' <= r && r <= '~' {
			return r + '！' - '!'
		}
		return r
	}, s)
}

// bold is a text in mathematical letters.
func bold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r + '𝐚' - 'a'
		case 'A' <= r && r <= 'Z':
			return r + '𝐀' - 'A'
		case '0' <= r && r <= '9':
			return r + '𝟎' - '0'
		}
		return r
	}, s)
}

func between(s, what string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(string(r) + what)
	}
	return b.String()
}

func reversedRunes(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// tricks are ways to spell a secret.
func tricks() map[string]func(string) string {
	b64 := base64.StdEncoding.EncodeToString
	return map[string]func(string) string{
		"base64":               func(s string) string { return b64([]byte(s)) },
		"base64 offset 1":      func(s string) string { return b64([]byte("x" + s)) },
		"base64 offset 2":      func(s string) string { return b64([]byte("xy" + s)) },
		"base64 in a text":     func(s string) string { return b64([]byte("the token is " + s + " and no other")) },
		"base64 of URLs":       func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("a?" + s)) },
		"base64 in lines":      func(s string) string { return wrapped(b64([]byte("token "+s)), 7) },
		"base64 twice":         func(s string) string { return b64([]byte(b64([]byte("t " + s)))) },
		"base64 three times":   func(s string) string { return b64([]byte(b64([]byte(b64([]byte(s)))))) },
		"base64 backwards":     func(s string) string { return reversed(b64([]byte("ab" + s))) },
		"base32":               func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
		"base32 offset 3":      func(s string) string { return strings.ToLower(base32.StdEncoding.EncodeToString([]byte("abc" + s))) },
		"hex":                  func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":                  func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"hex with colons":      func(s string) string { return wrapped(fmt.Sprintf("% x", s), 11) },
		"hex of base64":        func(s string) string { return hex.EncodeToString([]byte(b64([]byte(s)))) },
		"xxd":                  xxd,
		"od -x":                swappedHex,
		"od -x odd":            func(s string) string { return swappedHex("x" + s + "y") },
		"octal":                func(s string) string { return each(s, `\%03o`) },
		"od -b":                func(s string) string { return "0000000 " + each(s, ` %03o`) },
		"printf %o":            func(s string) string { return each(s, "%o ") },
		"binary, no zeros":     func(s string) string { return each(s, "%b ") },
		"binary of 7 bits":     func(s string) string { return each(s, "%07b ") },
		"xxd -b":               func(s string) string { return each(s, "%08b ") },
		"base32 of hex":        func(s string) string { return base32.HexEncoding.EncodeToString([]byte("ab" + s)) },
		"percent twice":        func(s string) string { return url.QueryEscape(each(s, "%%%02X")) },
		"zlib and base64":      func(s string) string { return b64([]byte(deflated("token: " + s))) },
		"decimal":              func(s string) string { return each(s, "%d, ") },
		"reversed":             reversed,
		"ROT13":                func(s string) string { return strings.Map(rot13, s) },
		"ROT47":                func(s string) string { return strings.Map(rot47, s) },
		"Atbash":               func(s string) string { return strings.Map(atbash, s) },
		"Atbash backwards":     func(s string) string { return reversed(strings.Map(atbash, s)) },
		"base36":               func(s string) string { return "n = " + new(big.Int).SetBytes([]byte(s)).Text(36) },
		"base36 of a line":     func(s string) string { return strings.ToUpper(new(big.Int).SetBytes([]byte(s + "\n")).Text(36)) },
		"base62":               func(s string) string { return new(big.Int).SetBytes([]byte(s)).Text(62) },
		"base62 in lines":      func(s string) string { return wrapped(new(big.Int).SetBytes([]byte(s)).Text(62), 9) },
		"base58":               func(s string) string { return number(s, in58) },
		"UTF-7":                func(s string) string { return utf7(s, func(r rune) bool { return r != '_' && r != '-' && r < 128 }) },
		"UTF-7, all coded":     func(s string) string { return utf7("ab"+s, func(rune) bool { return false }) },
		"ROT13 reversed":       func(s string) string { return reversed(strings.Map(rot13, s)) },
		"percent":              func(s string) string { return each(s, "%%%02X") },
		"percent in a query":   func(s string) string { return "q=" + url.QueryEscape(s) },
		`\u`:                   jsonEscaped,
		`\x`:                   func(s string) string { return each(s, `\x%02x`) },
		"0x":                   func(s string) string { return each(s, "0x%02x, ") },
		"entities":             func(s string) string { return each(s, "&#%d;") },
		"entities in hex":      func(s string) string { return each(s, "&#x%x;") },
		"gzip":                 func(s string) string { return zipped(s) },
		"gzip and base64":      func(s string) string { return b64([]byte(zipped("token: " + s))) },
		"full-width":           fullWidth,
		"full-width backwards": func(s string) string { return reversedRunes(fullWidth(s)) },
		"bold":                 bold,
		"some full-width, far apart": func(s string) string {
			return "The text before is long enough, " + strings.Repeat("with many words, ", 100) + between(fullWidth(s[:1])+s[1:len(s)/2]+fullWidth(s[len(s)/2:]), strings.Repeat(" ", 3000))
		},
		"accents":              func(s string) string { return between(s, "\u0301") },
		"zero-width spaces":    func(s string) string { return between(s, "\u200b") },
		"soft hyphens":         func(s string) string { return between(s, "\u00ad") },
		"base64 of full-width": func(s string) string { return b64([]byte("token " + fullWidth(s))) },
		"full-width base64":    func(s string) string { return fullWidth(b64([]byte("token " + s))) },
		"full-width hex":       func(s string) string { return fullWidth(hex.EncodeToString([]byte(s))) },
		"ascii85":              func(s string) string { return joined(in85(s+"\n\n\n\n", 0, ascii85)) },
		"ascii85 offset 3":     func(s string) string { return encoded85("the token: " + s + " ends") },
		"ascii85 with marks":   func(s string) string { return "<~" + wrapped(encoded85("ab"+s+"\n"), 9) + "~>" },
		"z85":                  func(s string) string { return joined(in85(s+"pad.", 0, z85)) },
		"base85 of RFC 1924":   func(s string) string { return joined(in85("key="+s+"pad.", 0, rfc1924)) },
		"base64 of ascii85":    func(s string) string { return b64([]byte(encoded85("x" + s + "y"))) },
		"uuencode":             func(s string) string { return "\nbegin 644 x\n" + uulines("token "+s) + "`\nend\n" },
		"uuencode, two lines":  func(s string) string { return "\n" + uulines(strings.Repeat("-", 35)+s) },
		"uuencode in a line":   func(s string) string { return uu([]byte("token " + s + "..")) },
		"deflate and base64":   func(s string) string { return b64([]byte(rawDeflated("token: " + s))) },
		"deflate and hex":      func(s string) string { return hex.EncodeToString([]byte(rawDeflated(s))) },
		"od":                   func(s string) string { return dumped(s, 2, " %06o") },
		"od odd":               func(s string) string { return dumped("x"+s+"y", 2, " %06o") },
		"od -d":                func(s string) string { return dumped(s, 2, " %5d") },
		"od -tx4":              func(s string) string { return dumped("abc"+s, 4, " %08x") },
		"od -to4":              func(s string) string { return dumped("a"+s, 4, " %011o") },
		"od -tu4":              func(s string) string { return dumped("ab"+s, 4, " %10d") },
		"od -tu8":              func(s string) string { return dumped("abcde"+s, 8, " %20d") },
		"od -tu8 in one line":  func(s string) string { return strings.ReplaceAll(dumped(s, 8, " %20d"), "\n", " ") },
		"od -to8":              func(s string) string { return dumped("abc"+s+"xy", 8, " %022o") },
		"od -An -w8 -tu8":      func(s string) string { return strings.ReplaceAll(bigWords(s+"1234567", 8, "%d"), ", ", "\n") },
		"od --endian=big -tu2": func(s string) string { return bigWords("a"+s+"1", 2, "%5d") },
		"od --endian=big -to2": func(s string) string { return bigWords("a"+s+"1", 2, "%06o") },
		"od --endian=big -to4": func(s string) string { return bigWords("ab"+s+"123", 4, "%011o") },
		"od --endian=big -to8": func(s string) string { return bigWords("ab"+s+"1234567", 8, "%022o") },
		"od -tx8":              func(s string) string { return dumped("abcde"+s, 8, " %016x") },
		`\u{}`:                 func(s string) string { return each(s, `\u{%x}`) },
		"zip and base64":       func(s string) string { return b64([]byte(inZip("token: " + s))) },
		"octal, 0o":            func(s string) string { return each(s, "0o%o, ") },
		"octal, 0o, lines":     func(s string) string { return each(s, "0o%03o\n") },
		"octal, four digits":   func(s string) string { return each(s, "%04o ") },
		"octal, two or three":  func(s string) string { return each(s+"\n\t ", "%o, ") },
		"decimal, four digits": func(s string) string { return each(s, "%04d ") },
		"decimal, n":           func(s string) string { return each(s, "%dn,") },
		"hex, n":               func(s string) string { return each(s, "0x%xn, ") },
		"binary, 0b":           func(s string) string { return each(s, "0b%08b, ") },
		"binary, 0b, bin":      func(s string) string { return each(s, "0b%b ") },
		"binary, 0B, lines":    func(s string) string { return each(s, "0B%08b\n") },
		"one number":           func(s string) string { return new(big.Int).SetBytes([]byte(s)).Text(10) },
		"one number, n":        func(s string) string { return new(big.Int).SetBytes([]byte(s+"\n")).Text(10) + "n" },
		"one number in octal":  func(s string) string { return "0o" + new(big.Int).SetBytes([]byte(s)).Text(8) },
		"one number in binary": func(s string) string { return "0b" + new(big.Int).SetBytes([]byte(s)).Text(2) },
		"big words":            func(s string) string { return bigWords("ab"+s, 4, "%d") },
		"big words of a value": func(s string) string { return bigWords(s, 4, "%d") },
		"tags": func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < 0x80 {
					r += 0xE0000
				}
				return r
			}, s)
		},
		"tags of hex": func(s string) string {
			return spelledBy(hex.EncodeToString([]byte(s)), func(c byte) rune { return 0xE0000 + rune(c) })
		},
		"selectors":      func(s string) string { return "x" + spelledBy(s, func(c byte) rune { return 0xE0100 + rune(c) - 16 }) },
		"half in base64": func(s string) string { return b64([]byte(s[:len(s)/2+1])) },
	}
}

// inZip is an archive whose second file has the text.
func inZip(s string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"a": "nothing that matters", "z": s} {
		f, _ := w.Create(name)
		f.Write([]byte(text))
	}
	w.Close()
	return b.String()
}

func spelledBy(s string, by func(byte) rune) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(by(s[i]))
	}
	return b.String()
}

// bzipped is the token in bzip2 and hex, which Go only unpacks.
const bzipped = "425a6839314159265359427481120000089f80000214a000052410932a0940200022800347947a85309a680d3105f19d508e23b40aef92f8bb9229c2848213a40890"

// Promise 2.
func TestUnpackedOnly(t *testing.T) {
	if _, f := masker(t, token).Text("x: " + bzipped); f.Withhold == "" || f.Form != "hex of bzip2 of plain" {
		t.Errorf("%+v", f)
	}
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// rfc1924 is the alphabet of git and Python.
const rfc1924 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

func encoded85(s string) string {
	b := make([]byte, ascii85enc.MaxEncodedLen(len(s)))
	return string(b[:ascii85enc.Encode(b, []byte(s))])
}

func rawDeflated(s string) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 9)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// uulines are the lines of uuencode, with a grave accent in the place of spaces.
func uulines(s string) string {
	var b strings.Builder
	for part := range slices.Chunk([]byte(s), 45) {
		n := len(part)
		for len(part)%3 != 0 {
			part = append(slices.Clip(part), 0)
		}
		b.WriteString(strings.ReplaceAll(string(uucode[n])+uu(part), " ", "`") + "\n")
	}
	return b.String()
}

// Promise 2.
func TestOtherSpellings(t *testing.T) {
	for _, value := range []string{token, "p@ss w0rd/with+signs=&", "0123456789abcdef0123456789abcdef", "пароль-и-тайное-слово"} {
		m := masker(t, "another-secret-value", value)
		for name, spell := range tricks() {
			text := "before " + spell(value) + " after"
			if name == "gzip" {
				text = spell(value)
			}
			got, f := m.Text(text)
			if f.Withhold != "S1" && strings.Contains(fmt.Sprint(f.Plain), "S1") && !strings.Contains(got, value[len(value)/2:]) {
				continue // the plain column of a dump, or a value that is written in hex already
			}
			if f.Withhold != "S1" {
				t.Errorf("%s of %q: %q %+v", name, value, text, f)
			}
		}
	}
}

// Promise 3.
func TestNothingFalse(t *testing.T) {
	m := masker(t, append(manySecrets(), mixed()...)...)
	checked := 0
	for _, pattern := range []string{"../../../*/*.go", "../../../*/*/*.go", "../../../docs/*/*.md", "../../../*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got, f := m.Text(string(text)); f.Any() || got != string(text) {
				t.Errorf("%s: %+v", file, f)
			}
			checked += len(text)
		}
	}
	if checked < 1<<20 {
		t.Errorf("%d bytes", checked)
	}
}

func manySecrets() []string {
	values := []string{token, "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AKIAIOSFODNN7EXAMPLE", "postgres://simd:h7Gk2Lq9@db.internal:5432/simd"}
	for i := range 16 {
		values = append(values, base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "value %d of many %x", i*7919, i*104729)))
	}
	return values
}

func TestShortValues(t *testing.T) {
	for _, v := range []string{"", "short", "1234567", "------------", "a-b-c-d-e-f-g", "aaaaaaaaaaaaaaaa", "0101010101010101"} {
		if _, err := New([]Secret{{"K", v}}); err == nil || strings.Contains(err.Error(), "a-b-c") {
			t.Errorf("%q: %v", v, err)
		}
	}
	var none *Masker
	if text, f := none.Text("x"); text != "x" || f.Any() {
		t.Error(text, f)
	}
}

// A text that is full of a secret, or of its pieces, takes no more than its share of time.
func TestManyHits(t *testing.T) {
	m := masker(t, token, "abcdabcdabcdabcdabcdabcdabcdabcd")
	for _, piece := range []string{token, token[:9], "abcd", token + " x "} {
		text := strings.Repeat(piece, 1<<19/len(piece))
		if got, f := m.Text(text); len(got) > len(text)+64 || !f.Any() && len(piece) > 9 {
			t.Errorf("%q: %d bytes %+v", piece, len(got), f)
		}
	}
	if got, _ := m.Text(strings.Repeat(token+" x ", 3)); got != strings.Repeat("$KARYI{S0} x ", 3) {
		t.Error(got)
	}
}

// A secret anywhere in any text is found, and what is around it stays.
func TestAnywhere(t *testing.T) {
	m := masker(t, token)
	rapid.Check(t, func(r *rapid.T) {
		around := rapid.StringOf(rapid.SampledFrom([]rune(" .,;:!?\n\"{}[]()<>~")))
		before, after := around.Draw(r, "before"), around.Draw(r, "after")
		got, f := m.Text(before + token + after)
		if want := before + "$KARYI{S0}" + after; got != want || f.Withhold != "" {
			r.Fatalf("%q, want %q (%+v)", got, want, f)
		}
	})
}

func FuzzText(f *testing.F) {
	m := masker(f, token, "0123456789abcdef0123456789abcdef")
	for _, spell := range tricks() {
		f.Add(spell(token))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, found := m.Text(text)
		if !found.Any() && got != text {
			t.Errorf("%q became %q", text, got)
		}
		if found.Withhold == "" && strings.Contains(strings.ToLower(got), strings.ToLower(token)) {
			t.Errorf("%q still has it", got)
		}
	})
}

// BenchmarkText masks source text with twenty secrets, beside a copy of the same bytes.
// Numbers and UTF-7 are written as programs of others write them.
func TestNumbers(t *testing.T) {
	direct := func(r rune) bool { return r != '~' && r < 128 }
	for got, want := range map[string]string{
		number("Hello World!", in58): "2NEpo7TZRRrLZSi2U", number("Hello World!", in36): new(big.Int).SetBytes([]byte("Hello World!")).Text(36), strings.Map(rot47, "sk-Live_9fQ2"): "D<\\{:G60h7\"a",
		utf7("Hi~€!", direct): "Hi+AH4grA-!", strings.Map(atbash, "Abz9"): "Zya9",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A code behind a compressed beginning is found, also behind one that unpacks to all that is decoded.
func TestBehindACompressedBeginning(t *testing.T) {
	m := masker(t, token)
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(token))))
	for _, n := range []int{2, maxDecoded / 8} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(bytes.Repeat([]byte("nothing! "), n))
		_ = w.Close()
		for name, beginning := range map[string]string{"gzip": b.String(), "the head of a bzip2": "BZh", "the head of a zip": zipHead} {
			if _, f := m.Text(beginning + strings.Repeat(" all is fine here.", 60) + "\n" + twice); f.Withhold != "S0" {
				t.Errorf("%s, %d: %+v", name, n, f)
			}
		}
	}
}
