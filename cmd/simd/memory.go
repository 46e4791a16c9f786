package main

import (
	"os"
	"runtime/debug"
)

// With few agents memory is cheap and the collector is the wall; with many it
// is the other way round. GOGC in the environment overrides both.
const (
	fewAgents = 20_000
	gcFew     = 300
	gcMany    = 50
)

// tuneMemory sets the garbage collector for a number of agents.
func tuneMemory(agents int) {
	switch {
	case os.Getenv("GOGC") != "":
	case agents < fewAgents:
		debug.SetGCPercent(gcFew)
	default:
		debug.SetGCPercent(gcMany)
	}
}
