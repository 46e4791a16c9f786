//go:build linux || darwin

package main

import (
	"os"
	"strconv"
	"syscall"
)

const lowest = 19

// lowerPriority is best effort: a system that refuses it loses nothing else. On Linux
// every thread has a priority of its own, which the threads that it starts inherit.
func lowerPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest)
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowest)
		}
	}
}
