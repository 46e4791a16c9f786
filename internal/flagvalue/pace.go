package flagvalue

import (
	"fmt"
	"strconv"
	"strings"

	"tavernsim/engine/control"
)

// Pace is a flag: the most seconds of scene time in a second; 0 = no bound.
type Pace float64

// Set implements pflag.Value.
func (p *Pace) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "×"), 64)
	if err == nil {
		err = (&control.Command{Do: control.Pace, Pace: n}).Check()
	}
	if err != nil {
		return fmt.Errorf("want a number of seconds of scene time in a second, from 0 to %v", control.MaxPace)
	}
	*p = Pace(n)
	return nil
}

// String implements pflag.Value.
func (p *Pace) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) }

// Type implements pflag.Value.
func (p *Pace) Type() string { return "pace" }
