package main

import (
	"fmt"
	"io"
	"strings"
	"tavernsim/bench"

	"github.com/spf13/pflag"
)

// benchForm is how a benchmark prints.
type benchForm struct{ json, gobench bool }

func (f *benchForm) register(flags *pflag.FlagSet, asJSON string) {
	flags.BoolVar(&f.json, "json", false, asJSON)
	flags.BoolVar(&f.gobench, "gobench", false, "the form of go test -bench, for benchstat")
}

// check refuses two forms at once.
func (f *benchForm) check() error {
	if f.json && f.gobench {
		return usageError{fmt.Errorf("bench prints one of --json and --gobench")}
	}
	return nil
}

// print shows a result in the form that was asked for.
func (f *benchForm) print(w io.Writer, result any, gobench func(io.Writer) error, show func(*benchTable)) error {
	switch {
	case f.json:
		return writeJSON(w, result)
	case f.gobench:
		return gobench(w)
	}
	var t benchTable
	show(&t)
	return t.print(w)
}

// benchTable is what a person reads.
type benchTable struct{ strings.Builder }

func (t *benchTable) head(format string, args ...any) {
	fmt.Fprintf(t, format+"\n", args...)
}

func (t *benchTable) row(name, format string, args ...any) {
	fmt.Fprintf(t, "  %-24s %s\n", name, fmt.Sprintf(format, args...))
}

func (t *benchTable) spread(name string, s bench.Spread, note string) {
	t.row(name, "%7.0f ns CPU  %7.0f ns wall (%.0f to %.0f)  %.2f allocations  %s", s.CPU, s.Median, s.Min, s.Max, s.Allocs, note)
}

func (t *benchTable) print(w io.Writer) error {
	lines := strings.Split(t.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// gobenchLine is one line that benchstat reads.
func gobenchLine(w io.Writer, name string, s bench.Spread, more string) {
	fmt.Fprintf(w, "Benchmark%s 1 %.1f ns/op %.1f cpu-ns/op %.3f allocs/op%s\n", name, s.Median, s.CPU, s.Allocs, more)
}
