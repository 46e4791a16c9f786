package stub

import "tavernsim/protocol"

// Choice is one of several answers, by weight.
type Choice struct {
	weights []float64
	total   float64
}

// Add adds an answer; nil is the weight 1.
func (c *Choice) Add(weight *float64) {
	w := 1.0
	if weight != nil {
		w = *weight
	}
	c.weights, c.total = append(c.weights, w), c.total+w
}

// Never reports whether there are answers, and each has the weight 0.
func (c *Choice) Never() bool { return len(c.weights) > 0 && c.total <= 0 }

// Of draws the place of an answer.
func (c *Choice) Of(d protocol.Draw) int {
	x, last := d.Float64()*c.total, 0
	for i, w := range c.weights {
		if w > 0 {
			if last = i; x < w {
				break
			}
			x -= w
		}
	}
	return last
}

// Chance is a probability of something, such as a failure.
type Chance struct {
	P    float64
	Name string
}

// Drawn is the name of what a draw hits; "" = nothing.
func Drawn(d protocol.Draw, list []Chance) string {
	x := d.Float64()
	for _, c := range list {
		if x < c.P {
			return c.Name
		}
		x -= c.P
	}
	return ""
}
