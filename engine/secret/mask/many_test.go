package mask

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// stored is a file of a zip that is not compressed.
const stored = zipHead + "\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc2\x41\x24\x35\x03\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00aabc"

// letterSecrets are values of 24 letters and digits.
func letterSecrets(n int) (values []string) {
	random := rand.New(rand.NewPCG(3, 4))
	for range n {
		b := make([]byte, 24)
		for i := range b {
			b[i] = in62[random.IntN(len(in62))]
		}
		values = append(values, string(b))
	}
	return values
}

// Promise 2: no secret passes because there are many. In bits all pieces of eight characters are those of every value.
func TestManySecrets(t *testing.T) {
	values := letterSecrets(150)
	m := masker(t, values...)
	for i, value := range values {
		for _, format := range []string{"%08b", "%08b ", "%07b", "%b", `\%03o`, `\u%04x`, "%d,"} {
			spelled := each(value, format)
			for _, text := range []string{spelled, reversed(spelled), each(value[8:16], format), each("AAAAA"+value+"AAAAA", format)} {
				if _, f := m.Text("x: " + text + " ."); f.Withhold != fmt.Sprint("S", i) {
					t.Errorf("%s in %s: %q: %+v", value, format, text, f)
				}
			}
		}
	}
}

// Texts whose pieces stand in many places of the patterns take no longer than their share of time, with many secrets, too.
func TestCrowdedPieces(t *testing.T) {
	prefixed := letterSecrets(150)
	for i := range prefixed {
		prefixed[i] = "acme-prod-" + prefixed[i]
	}
	random := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	for name, c := range map[string]struct {
		text   string
		values []string
	}{
		"bits":       {each(string(random[:1<<17]), "%08b "), letterSecrets(150)},
		"bits of A":  {strings.Repeat("01000001 ", 1<<20/9), letterSecrets(150)},
		"octal of A": {strings.Repeat(`\101`, 1<<18), letterSecrets(150)},
		"prefixes":   {strings.Repeat("acme prod ", 1<<17), prefixed},
		"zips":       {strings.Repeat(stored, 1<<20/len(stored)), letterSecrets(1)},
	} {
		m := masker(t, c.values...)
		begun := used()
		m.Text(c.text)
		if took := used() - begun; took > 15*time.Second { // nearly all takes a tenth of a second
			t.Errorf("%s: %v", name, took)
		}
	}
}
