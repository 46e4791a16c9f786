// Command teststeps prints the arguments of go test for the steps of the gate, one run of it a line:
//
//	teststeps race [LONGEST...]    the runs under the race detector, in the short form
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
	steps := raceStep
	if args[0] == "plain" {
		steps = plainStep
	}
	for _, line := range steps(packages, order) {
		fmt.Println(line)
	}
	return nil
}

func raceStep(packages map[string]*tests, order []string) []string {
	var whole, parts, names []string
	for _, p := range order {
		switch t := packages[p]; {
		case len(t.what) == 0:
		case t.starts:
			whole = append(whole, "./"+p)
		default:
			var some []string
			for name, does := range t.what {
				if does.starts {
					some = append(some, name)
				}
			}
			if len(some) > 0 {
				parts, names = append(parts, "./"+p), append(names, some...)
			}
		}
	}
	return []string{strings.Join(whole, " "), "-run " + pattern(names) + " " + strings.Join(parts, " ")}
}

func plainStep(packages map[string]*tests, order []string) []string {
	var run []string
	skip, keep := map[string]bool{}, map[string]bool{}
	for _, p := range order {
		t := packages[p]
		left := len(t.what)
		for name, does := range t.what {
			if t.starts && !does.short && !ships(p) {
				skip[name] = true
				left--
			} else {
				keep[name] = true // go test skips by name, in all packages
			}
		}
		if left > 0 || len(t.what) == 0 {
			run = append(run, "./"+p)
		}
	}
	maps.DeleteFunc(skip, func(name string, _ bool) bool { return keep[name] })
	return []string{"-skip " + pattern(slices.Collect(maps.Keys(skip))) + " " + strings.Join(run, " ")}
}

// ships reports whether the tests of a package want the program as it ships, which is without cgo.
func ships(p string) bool { return strings.HasPrefix(p, "cmd/") || strings.HasPrefix(p, "tools/") }

// pattern matches these names alone.
func pattern(names []string) string {
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
