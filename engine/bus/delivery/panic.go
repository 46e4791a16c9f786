package delivery

import "fmt"

// Panic is what a chain panics with if one of its middlewares does: an error that says which, for
// whoever may go on without the chain.
type Panic struct {
	Middleware string // its place in the chain, and its type
	Value      any    // of the panic
}

func (p *Panic) Error() string { return fmt.Sprintf("%s panics: %v", p.Middleware, p.Value) }

// panicked names the middleware that did.
func (c Chain) panicked(at int, value any) *Panic {
	where := fmt.Sprintf("middleware %d of %d", at+1, len(c))
	if inner, ok := value.(*Panic); ok { // of a chain in the chain
		return &Panic{"in " + where + ": " + inner.Middleware, inner.Value}
	}
	return &Panic{fmt.Sprintf("%s (%T)", where, c[at]), value}
}
