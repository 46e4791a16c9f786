// Package flagvalue has types of flag values that the flag library lacks.
package flagvalue

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a flag: bytes, with a unit or without.
type Size int64

type unit struct {
	name  string
	bytes float64
}

func units() []unit {
	return []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}
}

// Set implements pflag.Value.
func (b *Size) Set(text string) error {
	scale := 1.0
	digits := text
	for _, u := range units() {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			digits, scale = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n*scale >= 1 && n*scale < math.MaxInt64/2) {
		return fmt.Errorf("want a size, for example 500MB, 64MiB or 1000000")
	}
	*b = Size(n * scale)
	return nil
}

// String implements pflag.Value.
func (b *Size) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type implements pflag.Value.
func (b *Size) Type() string { return "size" }
