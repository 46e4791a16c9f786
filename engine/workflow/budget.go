package workflow

import "tavernsim/protocol"

// DefaultBytes is the budget of a run that is given none.
const DefaultBytes = 64 << 20

// Budget bounds the bytes of the values that runs make, as [protocol.SizeOf]
// counts them. It holds for each value, in which a part counts as often as it
// stands there, and for all that is made together, where a list or object of
// values that are there already counts without them. Calls of an answer that no
// node has opened count nothing: whoever asked the model bounds them. Several runs
// with one owner may share one. The zero Budget allows [DefaultBytes].
type Budget struct {
	Max     int    // bytes
	Setting string // stands in the error: where Max is set
	made    int
}

func (b *Budget) max() int {
	if b.Max <= 0 {
		return DefaultBytes
	}
	return b.Max
}

// Left is how many bytes may still be made.
func (b *Budget) Left() int { return b.max() - b.made }

// Take counts bytes that are made, or refuses them.
func (b *Budget) Take(made int) error { return b.take(made, made) }

// take counts what is made of a value of a size.
func (b *Budget) take(made, size int) error {
	if made > b.Left() || size > b.max() {
		return b.exceeded("a part counts as often as it stands in a value")
	}
	b.made += made
	return nil
}

func (b *Budget) exceeded(why string) error {
	where := ""
	if b.Setting != "" {
		where = " (" + b.Setting + ")"
	}
	return protocol.Errorf(protocol.KindLimit, "more than %d bytes of values%s: %s", b.max(), where, why)
}

// size is the size of the value in a slot, counted once.
func (b *Budget) size(s *slot) int {
	if s.size == 0 {
		s.size = uint32(protocol.SizeOf(s.v, b.max()))
	}
	return int(s.size)
}

// converted counts a value that a conversion has made: text out of a structure,
// or a structure out of text.
func (b *Budget) converted(from, to any, c conversion) error {
	if c != loose {
		return nil
	}
	_, was := from.(string)
	_, is := to.(string)
	if was == is {
		return nil
	}
	return b.Take(protocol.SizeOf(to, b.Left()))
}
