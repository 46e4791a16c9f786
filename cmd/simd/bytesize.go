package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag: bytes, with a unit or without.
type byteSize int64

type byteUnit struct {
	name  string
	bytes float64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}
}

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	unit := 1.0
	digits := text
	for _, u := range byteUnits() {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n*unit >= 1 && n*unit < math.MaxInt64/2) {
		return fmt.Errorf("want a size, for example 500MB, 64MiB or 1000000")
	}
	*b = byteSize(n * unit)
	return nil
}

// String implements pflag.Value.
func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type implements pflag.Value.
func (b *byteSize) Type() string { return "size" }
