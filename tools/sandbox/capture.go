package sandbox

// capture keeps the first bytes of an output, or the last ones, and counts the rest.
type capture struct {
	kept    []byte
	max     int
	last    bool
	dropped int64
}

func (c *capture) Write(p []byte) (int, error) {
	all := append(c.kept, p...)
	over := max(0, len(all)-c.max)
	if c.last {
		all = append(all[:0], all[over:]...)
	}
	c.kept = all[:min(len(all), c.max)]
	c.dropped += int64(over)
	return len(p), nil
}

func (c *capture) output() Output { return Output{Bytes: c.kept, Dropped: c.dropped} }
