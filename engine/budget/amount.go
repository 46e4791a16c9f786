package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Amount is what one or several requests take.
type Amount struct {
	Tokens int64
	Calls  int64
	Nano   int64 // dollars, in nano-dollars
	Micro  int64 // time of tools, in microseconds
	Bytes  int64 // of outputs of tools
}

// Dollar in nano-dollars.
const Dollar = 1_000_000_000

// most bounds each unit of one request, so that sums over a million turns do not overflow.
const most = 1 << 42

func (a Amount) bounded() Amount {
	c := func(n int64) int64 { return min(max(n, 0), most) }
	return Amount{c(a.Tokens), c(a.Calls), c(a.Nano), c(a.Micro), c(a.Bytes)}
}

// Plus adds two amounts; what is too much is the largest int64.
func (a Amount) Plus(b Amount) Amount {
	return Amount{plus(a.Tokens, b.Tokens), plus(a.Calls, b.Calls), plus(a.Nano, b.Nano), plus(a.Micro, b.Micro), plus(a.Bytes, b.Bytes)}
}

func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Max is the greater of two amounts in each unit.
func (a Amount) Max(b Amount) Amount {
	return Amount{max(a.Tokens, b.Tokens), max(a.Calls, b.Calls), max(a.Nano, b.Nano), max(a.Micro, b.Micro), max(a.Bytes, b.Bytes)}
}

// Minus subtracts an amount that was added before.
func (a Amount) Minus(b Amount) Amount {
	return Amount{a.Tokens - b.Tokens, a.Calls - b.Calls, a.Nano - b.Nano, a.Micro - b.Micro, a.Bytes - b.Bytes}
}

// Times multiplies an amount; what is too much is the largest int64.
func (a Amount) Times(n int64) Amount {
	t := func(x int64) int64 {
		if x > 0 && n > math.MaxInt64/x {
			return math.MaxInt64
		}
		return x * n
	}
	return Amount{t(a.Tokens), t(a.Calls), t(a.Nano), t(a.Micro), t(a.Bytes)}
}

// Within reports whether an amount is above no limit; a limit of 0 is none.
func (a Amount) Within(limit Amount) bool {
	for i, u := range a.units() {
		if l := limit.units()[i]; l > 0 && u > l {
			return false
		}
	}
	return true
}

// share is how much of a limit an amount is, by the unit of which most is used: 0 to 1.
func (a Amount) share(limit Amount) (share float64) {
	for i, u := range a.units() {
		if l := limit.units()[i]; l > 0 {
			share = max(share, float64(u)/float64(l))
		}
	}
	return min(share, 1)
}

func (a Amount) units() [5]int64 { return [5]int64{a.Tokens, a.Nano, a.Calls, a.Micro, a.Bytes} }

// texts says each unit: "1200 tokens", "$0.5", "3 calls".
func (a Amount) texts() [5]string {
	count := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	return [5]string{count(a.Tokens, "token"), "$" + strconv.FormatFloat(float64(a.Nano)/Dollar, 'f', -1, 64), count(a.Calls, "call"), (time.Duration(a.Micro) * time.Microsecond).String(), count(a.Bytes, "byte")}
}

// String says the units that are not 0: "1200 tokens, $0.5, 3 calls".
func (a Amount) String() string {
	var parts []string
	for i, u := range a.units() {
		if u != 0 {
			parts = append(parts, a.texts()[i])
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
