package protocol

// ValueBytes is what [SizeOf] counts for a value or a name beside its text.
const ValueBytes = 16

// SizeOf is about how many bytes a copy of a value takes: the bytes of its texts
// and names, and [ValueBytes] for each value and each name. What stands in it
// several times counts each time. Beyond limit it stops counting and returns
// more than limit, so that a value of any size costs no more than limit.
func SizeOf(v any, limit int) int {
	switch x := v.(type) {
	case string:
		return ValueBytes + len(x)
	case []any:
		n := ValueBytes
		for _, e := range x {
			if n > limit {
				break
			}
			n += SizeOf(e, limit-n)
		}
		return n
	case map[string]any:
		n := ValueBytes
		for k, e := range x {
			if n > limit { // which part was counted last does not show: all of it is too much
				return limit + 1
			}
			n += ValueBytes + len(k) + SizeOf(e, limit-n)
		}
		if n > limit {
			return limit + 1
		}
		return n
	case interface{ Size(limit int) int }: // a value that is not made yet; last, because looking for a method is slow
		return x.Size(limit)
	}
	return ValueBytes
}
