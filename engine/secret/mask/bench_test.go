package mask

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func BenchmarkText(b *testing.B) {
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
	text := all.String()[:min(all.Len(), 1<<20)]
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

// The time to make a masker grows as the number of its secrets.
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			list := make([]Secret, n)
			for i := range list {
				list[i] = Secret{"S" + strconv.Itoa(i%(n/2)), fmt.Sprintf("tok%dQx91%dzebra%dWALLplum%dabcdEFGH", i*7919, i*104729, i, i*31)}
			}
			for b.Loop() {
				if _, err := New(list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/secret")
		})
	}
}
