package chain

// Calls is how many calls were played again.
func Calls(p *Paths) int { return p.again.again }

// Turns is at how many turns of waves that were played again the paths looked.
func Turns(p *Paths) int { return p.again.looked }
