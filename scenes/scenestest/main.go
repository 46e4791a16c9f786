package scenestest

import (
	"flag"
	"os"

	cmap "github.com/orcaman/concurrent-map"
)

// Main prepares a process of tests that play thousands of small scenes. A TestMain calls it before anything starts.
//
// Each of the 1,024 parts of Proto.Actor's registry gets one map in place of 32: a system of few actors spent more time on
// these maps than on its actors.
//
// A property that plays scenes gets thirty checks in place of a hundred, other ones in every run. SIMD_TEST_LONG=1 gives it
// a hundred; RAPID_CHECKS and -rapid.checks give it as many as they say.
func Main() {
	cmap.SHARD_COUNT = 1
	if !Long() && os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			panic(err) // random.go imports rapid, which has the flag
		}
	}
}

// Long reports whether SIMD_TEST_LONG asks for the long form of a test. Only the long form of a random test demands that its
// draws reached what it tests: the few draws of the short one sometimes do not.
func Long() bool { return os.Getenv("SIMD_TEST_LONG") != "" }
