// Command teststeps prints the arguments of go test for the steps of the gate:
//
//	teststeps race [LONGEST...]    the run under the race detector, in the short form
//	teststeps plain [LONGEST...]   the run without it, in the long form
//
// No test runs twice for nothing:
//
//   - The race step runs all tests of the packages whose own code starts goroutines, actors or databases. In other
//     packages it runs the tests that use these, or start goroutines themselves.
//   - The plain step runs the rest, and the tests of which the race step leaves out a part: tests that do less in the short
//     form, and all tests of cmd and tools. The race step is built with cgo, which changes the threads and system calls of a
//     program, and those packages start programs, confine them, or are the program.
//
// teststeps reads from the source what a test does: its own function, every declaration of its package's tests that it names,
// and the packages of the project that it names and that import testing. A name counts wherever it occurs, so a test runs
// too often rather than too rarely. Branches by an environment variable or by the race detector are ignored.
//
// LONGEST are the packages of the module to start first, because they take longest.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "teststeps:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "race" && args[0] != "plain" {
		return fmt.Errorf("expected race or plain, then the packages that take longest; got %q", args)
	}
	packages, err := read(".")
	if err != nil {
		return err
	}
	for _, p := range args[1:] {
		if packages[p] == nil {
			return fmt.Errorf("package %s takes longest, and there is none", p)
		}
	}
	order := slices.Concat(args[1:], slices.DeleteFunc(slices.Sorted(maps.Keys(packages)), func(p string) bool { return slices.Contains(args[1:], p) }))
	if args[0] == "plain" {
		fmt.Println(plainStep(packages, order))
	} else {
		fmt.Println(raceStep(packages, order))
	}
	return nil
}

// raceStep leaves out, of packages that start nothing, the tests that start nothing either. It is one run: a second one would begin
// when the last test of the first has ended, alone on its processor.
func raceStep(packages map[string]*tests, order []string) string {
	return step(packages, order, func(_ string, t *tests, d does) bool { return t.starts || d.starts }, false)
}

// plainStep leaves out the tests that the race step runs whole.
func plainStep(packages map[string]*tests, order []string) string {
	return step(packages, order, func(p string, t *tests, d does) bool { return !t.starts || d.short || ships(p) }, true)
}

// step runs some of the tests, and compiles a package without tests only if that is asked for.
func step(packages map[string]*tests, order []string, runs func(p string, t *tests, d does) bool, compiled bool) string {
	var run []string
	skip, keep := map[string]bool{}, map[string]bool{}
	for _, p := range order {
		t, some := packages[p], map[string]bool{}
		for name, d := range t.what {
			if runs(p, t, d) {
				some[name] = true
			}
		}
		if len(some) == 0 && (len(t.what) > 0 || !compiled) {
			continue
		}
		run = append(run, "./"+p)
		for name := range t.what {
			skip[name] = true
		}
		maps.Copy(keep, some) // go test skips by name, in all packages
	}
	maps.DeleteFunc(skip, func(name string, _ bool) bool { return keep[name] })
	return "-skip " + pattern(slices.Collect(maps.Keys(skip))) + " " + strings.Join(run, " ")
}

// ships reports whether the tests of a package want the program as it ships, which is without cgo.
func ships(p string) bool { return strings.HasPrefix(p, "cmd/") || strings.HasPrefix(p, "tools/") }

// pattern matches these names alone.
func pattern(names []string) string {
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
