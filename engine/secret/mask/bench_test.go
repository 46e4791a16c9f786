package mask

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
)

func BenchmarkText(b *testing.B) {
	text := sources(b)
	b.Run("copy", func(b *testing.B) {
		dst := make([]byte, len(text))
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			copy(dst, text)
		}
	})
	m := masker(b, manySecrets()...)
	b.Run("mask", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, f := m.Text(text); f.Any() {
				b.Fatal(f)
			}
		}
	})
}

// Kinds of files, with twenty secrets of ASCII and with five others among them, beside a copy of the same bytes. The goal is 50 MB/s.
func BenchmarkKinds(b *testing.B) {
	random := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	compiler, err := exec.LookPath("go") // the test itself holds the values of its secrets
	if err != nil {
		b.Skip(err)
	}
	program, err := os.ReadFile(compiler)
	if err != nil {
		b.Fatal(err)
	}
	source := sources(b)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(program)
	_ = w.Close()
	lines := func(code string) string {
		var b strings.Builder
		for ; len(code) > 76; code = code[76:] {
			b.WriteString(code[:76] + "\n")
		}
		return b.String() + code
	}
	var wide []byte
	for _, u := range utf16.Encode([]rune(source)) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	var rows strings.Builder
	for _, c := range random[:1<<18] {
		fmt.Fprintf(&rows, "%d, ", c)
	}
	maskers := map[string]*Masker{"ASCII": masker(b, randomSecrets()...), "others": masker(b, append(randomSecrets()[5:], mixed()...)...)}
	object, err := json.Marshal(strings.Split(source, "\n"))
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []struct{ name, text string }{
		{"source", source},
		{"JSON", string(object)},
		{"random", string(random)},
		{"program", string(program)},
		{"gzip", packed.String()},
		{"base64", base64.StdEncoding.EncodeToString(random)},
		{"base64 in lines", lines(base64.StdEncoding.EncodeToString(random))},
		{"base64 of text", lines(base64.StdEncoding.EncodeToString([]byte(source)))},
		{"hex", lines(hex.EncodeToString(random))},
		{"hex dump", hex.Dump(random[:1<<18])},
		{"numbers", rows.String()},
		{"utf-16", string(wide)},
		{"percent", url.QueryEscape(source)},
		{"cyrillic", strings.Repeat("Съешь же ещё этих мягких французских булок, да выпей чаю. ", 1<<13)},
		{"chinese", strings.Repeat("天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。", 1<<14)},
		{"zeros", strings.Repeat("\x00", 1<<20)},
		{"bits", each(string(random[:1<<17]), "%08b ")},
		{"bits of text", each(source[:1<<17], "%08b")},
		{"bits of A", strings.Repeat("01000001 ", 1<<20/9)},
		{"octal", each(source[:1<<18], `\%03o`)},
		{"octal of A", strings.Repeat(`\101`, 1<<18)},
		{"units", each(source[:1<<17], `\u%04x`)},
		{"zips", strings.Repeat(stored, 1<<20/len(stored))},
	} {
		for secrets, m := range maskers {
			b.Run(kind.name+"/"+secrets, func(b *testing.B) {
				begun := used()
				for b.Loop() {
					if _, f := m.Text(kind.text); f.Any() {
						b.Fatal(f)
					}
				}
				b.ReportMetric(float64(b.N*len(kind.text))/1e6/(used()-begun).Seconds(), "MB/cpu-s")
			})
		}
		b.Run(kind.name+"/copy", func(b *testing.B) {
			dst := make([]byte, len(kind.text))
			b.SetBytes(int64(len(kind.text)))
			for b.Loop() {
				copy(dst, kind.text)
			}
		})
	}
}

// used is the time of the processor that this process took, which other programs change less than that of a clock.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// randomSecrets are 20 values of letters and digits that stand in no file.
func randomSecrets() (values []string) {
	random := rand.NewChaCha8([32]byte{1})
	for i := range 20 {
		value := make([]byte, 12+i)
		_, _ = random.Read(value)
		values = append(values, base64.RawURLEncoding.EncodeToString(value))
	}
	return values
}

func sources(b *testing.B) string {
	files, err := filepath.Glob("../../*/*.go")
	if err != nil {
		b.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()[:min(all.Len(), 1<<20)]
}

// The time to make a masker grows as the number of its secrets.
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			list := make([]Secret, n)
			for i := range list {
				list[i] = Secret{"S" + strconv.Itoa(i%(n/2)), fmt.Sprintf("tok%dQx91%dzebra%dWALLplum%dabcdEFGH", i*7919, i*104729, i, i*31)}
			}
			begun := used()
			for b.Loop() {
				if _, err := New(list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((used()-begun).Microseconds())/float64(b.N*n), "cpu-µs/secret")
		})
	}
}
