package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leastNote is the annotation of a flag that says from which number on it goes.
const leastNote = "least"

// Least notes from which number on flags go; of times, 1 is the smallest above 0.
func Least(f *pflag.FlagSet, n int64, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, leastNote, []string{strconv.FormatInt(n, 10)}); err != nil {
			panic(err) // a flag that was not registered
		}
	}
}

// leastOf is from where on a flag goes.
func leastOf(f *pflag.Flag) (n int64, bounded bool) {
	if f.Value.Type() == "uint64" {
		return 0, true
	}
	note, bounded := f.Annotations[leastNote]
	if bounded {
		n, _ = strconv.ParseInt(note[0], 10, 64)
	}
	return n, bounded
}

// CheckLeast refuses numbers and times below what their flags go from.
func CheckLeast(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if n, bounded := leastOf(f); bounded && err == nil {
			err = below(f, n)
		}
	})
	return err
}

func below(f *pflag.Flag, least int64) error {
	values := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	for _, text := range values {
		n, err := numberOf(text)
		if err == nil && n < least || errors.Is(err, strconv.ErrRange) {
			return Usagef("--%s %s: %s", f.Name, text, wanted(f, err))
		}
	}
	return nil
}

// numberOf reads what a flag prints of its value; a time is its nanoseconds.
func numberOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return n, err
	}
	d, err := time.ParseDuration(text)
	return int64(d), err
}

// FlagError says of a flag's bad value what was expected instead of how it was
// read.
func FlagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usagef("--%s %q: %s", bad.GetFlag().Name, bad.GetValue(), wanted(bad.GetFlag(), bad.Unwrap()))
	}
	if none, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return Usagef("--%s has no value: %s", none.GetFlag().Name, wanted(none.GetFlag(), nil))
	}
	return Usage(err)
}

// wanted is what a flag takes. The flags of this program say it themselves, in
// the cause.
func wanted(f *pflag.Flag, cause error) string {
	switch f.Value.Type() {
	case "int", "int64", "uint64":
		return "want a whole number" + reach(f, cause)
	case "intSlice":
		return "want whole numbers" + reach(f, cause) + ", with commas between them, for example 10,1000"
	case "duration":
		return "want a time" + reachOfTime(f) + ", for example 90s or 90m"
	case "bool":
		return "want true or false"
	}
	if cause == nil {
		_, usage := pflag.UnquoteUsage(f)
		return usage
	}
	return cause.Error()
}

func reachOfTime(f *pflag.Flag) string {
	switch n, bounded := leastOf(f); {
	case !bounded:
		return ""
	case n > 0:
		return " above 0"
	}
	return " from 0 on"
}

// reach is from where on a number goes, and how far if that is what is wrong.
func reach(f *pflag.Flag, cause error) string {
	n, bounded := leastOf(f)
	if !errors.Is(cause, strconv.ErrRange) {
		if !bounded {
			return ""
		}
		return fmt.Sprintf(" from %d on", n)
	}
	if !bounded {
		n = math.MinInt64
	}
	return fmt.Sprintf(" from %d to %d", n, math.MaxInt64)
}
