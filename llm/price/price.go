package price

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Price of a model. The zero Price is free.
type Price struct {
	Rates
	// Above is the most tokens of a question of the ordinary length; beyond it every token of
	// question and answer is charged by Long. 0 = every length is ordinary.
	Above int64 `json:"above,omitzero"`
	Long  Rates `json:"long,omitzero"`
}

// Rates are nano-dollars for a million tokens.
type Rates struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
}

// at are the rates for a question of so many tokens.
func (p *Price) at(input int64) *Rates {
	if p.Above > 0 && input > p.Above {
		return &p.Long
	}
	return &p.Rates
}

// Free reports whether nothing is charged.
func (p Price) Free() bool { return p == Price{} }

// Negative names the first field that is below 0, which no price has, and its value; 0 = none is.
func (p *Price) Negative() (field string, n int64) {
	if p == nil {
		return "", 0
	}
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"input", p.Input}, {"cache_read", p.CacheRead}, {"cache_write", p.CacheWrite}, {"output", p.Output}, {"above", p.Above},
		{"long.input", p.Long.Input}, {"long.cache_read", p.Long.CacheRead}, {"long.cache_write", p.Long.CacheWrite}, {"long.output", p.Long.Output},
	} {
		if f.n < 0 {
			return f.name, f.n
		}
	}
	return "", 0
}

// Cost is what an answer costs.
func (p Price) Cost(u *protocol.Usage) int64 {
	r, read, write := p.at(u.Input), tokens(u.CacheRead), tokens(u.CacheWrite)
	return total([4][2]int64{{tokens(u.Input) - read - write, r.Input}, {read, r.CacheRead}, {write, r.CacheWrite}, {u.Output, r.Output}})
}

// Bound is the most that a request with at most so many tokens costs: every token of the
// question may be the dearest of plain, read from a cache and written to one.
func (p Price) Bound(input, output int64) int64 {
	r := p.at(input)
	return total([4][2]int64{{input, max(r.Input, r.CacheRead, r.CacheWrite)}, {output, r.Output}})
}

// tokens brings a count into the range in which sums do not overflow.
func tokens(n int64) int64 { return min(max(n, 0), 1<<60) }

// total adds products of tokens and prices per million, rounded up. Two words hold the
// sum of four products.
func total(parts [4][2]int64) int64 {
	var high, low, carry uint64
	for _, p := range parts {
		h, l := bits.Mul64(uint64(tokens(p[0])), uint64(max(p[1], 0)))
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	low, carry = bits.Add64(low, million-1, 0)
	if high += carry; high >= million {
		return math.MaxInt64
	}
	n, _ := bits.Div64(high, low, million)
	return int64(min(n, math.MaxInt64))
}

const (
	million = 1_000_000
	dollar  = 1_000_000_000 // nano-dollars
)

// Sum adds two costs; what is too much is the largest int64.
func Sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// String says the price: "$0.25 in / $2 out per million", "free",
// "$5 in / $30 out per million, $10 / $45 above 272000 tokens".
func (p Price) String() string {
	if p.Free() {
		return "free"
	}
	s := fmt.Sprintf("%s in / %s out per million", exact(p.Input), exact(p.Output))
	if p.Above > 0 {
		s += fmt.Sprintf(", %s / %s above %d tokens", exact(p.Long.Input), exact(p.Long.Output), p.Above)
	}
	return s
}

// exact writes an amount with all its digits.
func exact(nano int64) string {
	return "$" + strconv.FormatFloat(float64(nano)/dollar, 'f', -1, 64)
}

// Dollars writes a cost for people: two digits after the point, below 10 cents two digits
// that are not 0. "$1,204.50", "$0.42", "$0.0042", "$0".
func Dollars(nano int64) string {
	if nano <= 0 {
		return "$0"
	}
	digits := 2
	for below := int64(dollar / 10); nano < below && digits < 9; below /= 10 {
		digits++
	}
	s := strconv.FormatFloat(float64(nano)/dollar, 'f', digits, 64)
	if digits > 2 {
		return "$" + strings.TrimRight(s, "0")
	}
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return "$" + whole + "." + rest
}

// nano turns dollars per million of a file into a price. Rules bound them.
func nano(dollars float64) int64 { return int64(math.Round(dollars * dollar)) }

// Rate is a price as files have it, in dollars for a million tokens.
type Rate struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty"`  // default: input
	CacheWrite *float64 `json:"cache_write,omitempty"` // default: input
	Long       *Long    `json:"long,omitempty"`        // nil = every length costs the same
}

// Long says how many times dearer long questions and their answers are. No factor is below 1,
// so that more tokens never cost less.
type Long struct {
	Above  int64   `json:"above"` // tokens of the question
	Input  float64 `json:"input"` // with what caches read and write
	Output float64 `json:"output"`
}

// Price is the price at these rates.
func (d *Rate) Price() (p Price) {
	rates := func(input, output float64) Rates {
		return Rates{Input: nano(d.Input * input), CacheRead: nano(*cmp.Or(d.CacheRead, &d.Input) * input), CacheWrite: nano(*cmp.Or(d.CacheWrite, &d.Input) * input), Output: nano(d.Output * output)}
	}
	p.Rates = rates(1, 1)
	if d.Long != nil {
		p.Above, p.Long = d.Long.Above, rates(d.Long.Input, d.Long.Output)
	}
	return p
}
