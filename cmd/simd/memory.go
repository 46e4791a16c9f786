package main

import (
	"os"
	"runtime/debug"
)

// gcPercent trades memory for time: with many agents the collector is the wall.
// GOGC in the environment overrides it.
const gcPercent = 300

func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
