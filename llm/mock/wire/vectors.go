package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"
)

const defaultDimensions = 256

// vector makes the unit vector of a text: every word, and every character beyond
// ASCII, adds or takes 1 at a place that its hash names. Texts with the same words
// are near each other; nothing else is meant by it.
func vector(text string, dims int) []float32 {
	v := make([]float32, dims)
	add := func(word string) {
		h := xxh3.HashString(word)
		v[h>>1%uint64(dims)] += float32(int(h&1)*2 - 1)
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		add(word)
		for _, r := range word {
			if r >= 0x2E80 { // scripts without spaces between words
				add(string(r))
			}
		}
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// vectors writes the vectors of the inputs.
func (a *Answer) vectors(p *Page, q *Question) {
	p.Add(`{"object":"list","data":[`)
	for i, text := range q.Inputs {
		if a.Empty {
			break
		}
		p.Add(open(i, ""), `{"object":"embedding","index":`, strconv.Itoa(i), `,"embedding":`)
		appendVector(p, vector(text, q.Dims), q.Base64)
		p.Add("}")
	}
	p.Add(`],"model":`)
	if p.text(a.Model); !a.Uncounted {
		p.Add(`,"usage":{"prompt_tokens":`)
		p.number(a.Usage.Input)
		p.Add(`,"total_tokens":`)
		p.number(a.Usage.Input)
		p.Add("}")
	}
	p.Add("}")
}

func appendVector(p *Page, v []float32, packed bool) {
	if packed {
		raw := make([]byte, 0, 4*len(v))
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		p.Add(`"`, base64.StdEncoding.EncodeToString(raw), `"`)
		return
	}
	p.Add("[")
	for i, x := range v {
		p.Add(open(i, ""))
		p.Body = strconv.AppendFloat(p.Body, float64(x), 'g', -1, 32)
	}
	p.Add("]")
}
