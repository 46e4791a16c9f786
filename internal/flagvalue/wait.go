package flagvalue

import (
	"fmt"
	"time"

	"tavernsim/scenes/run/restarts"
)

// Wait is a flag: a time, or forever.
type Wait time.Duration

// Set implements pflag.Value.
func (w *Wait) Set(text string) error {
	if text == "forever" {
		*w = Wait(restarts.Forever)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a time, for example 10m, 0 to end at once, or forever")
	}
	*w = Wait(d)
	return nil
}

// String implements pflag.Value.
func (w *Wait) String() string {
	if *w == Wait(restarts.Forever) {
		return "forever"
	}
	return time.Duration(*w).String()
}

// Type implements pflag.Value.
func (w *Wait) Type() string { return "time" }
