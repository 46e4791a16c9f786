package main

import (
	"fmt"
	"time"

	"tavernsim/scenes/run/runner"
)

// diskWait is a flag: a time, or forever.
type diskWait time.Duration

// Set implements pflag.Value.
func (w *diskWait) Set(text string) error {
	if text == "forever" {
		*w = diskWait(runner.Forever)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a time, for example 10m, 0 to end at once, or forever")
	}
	*w = diskWait(d)
	return nil
}

// String implements pflag.Value.
func (w *diskWait) String() string {
	if *w == diskWait(runner.Forever) {
		return "forever"
	}
	return time.Duration(*w).String()
}

// Type implements pflag.Value.
func (w *diskWait) Type() string { return "time" }

// Duration is the longest wait.
func (w *diskWait) Duration() time.Duration { return time.Duration(*w) }
