package chain

// Calls is how many calls were played again.
func Calls(p *Paths) int { return p.again.again }
