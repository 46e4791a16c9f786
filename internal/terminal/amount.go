package terminal

import (
	"fmt"
	"time"
)

// Span is a time in seconds, to the millisecond.
func Span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
}

// Brief is a short time in seconds, with three digits or so.
func Brief(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// Size is a number of bytes.
func Size(bytes float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if bytes < 1024 {
			return fmt.Sprintf("%.1f %s", bytes, unit)
		}
		bytes /= 1024
	}
	return fmt.Sprintf("%.1f TiB", bytes)
}

// Thousands is a number with commas.
func Thousands[T int | int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is a number of things: 1 turn, 2,000 turns.
func Plural[T int | int64 | uint64](n T, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(n) + " " + what
}

// Short is a number with three digits or so: 41.2k, 1.3M.
func Short(f float64) string {
	switch {
	case f >= 1e9:
		return fmt.Sprintf("%.1fG", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.1fM", f/1e6)
	case f >= 1e4:
		return fmt.Sprintf("%.1fk", f/1e3)
	case f >= 100 || f == float64(int64(f)):
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}
