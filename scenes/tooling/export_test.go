package tooling

// Retire does what follows a Go, and waits for it: it ends the programs of an edition that was followed by
// another one, if it ends them before the scene does.
func (s *Set) Retire() { s.retire() }
