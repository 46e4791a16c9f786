package main

import (
	"runtime"
	"slices"

	"tavernsim/scenes/run/rundir"
)

// giveWay has a command that reads what another process runs at the moment use one core,
// and that with the lowest priority: the run goes first.
func giveWay(args []string) {
	if slices.ContainsFunc(args, rundir.RunsBeside) {
		runtime.GOMAXPROCS(1)
		lowerPriority()
	}
}
