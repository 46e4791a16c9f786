package expr

import "regexp"

// node is one of the types below. The machine walks them with a type switch:
// unlike closures this keeps its counter and locals on the caller's stack.
type node any

type (
	literal struct{ value any }

	root struct{ name string }

	local struct{ slot int }

	// member is left.key with a key known from the text.
	member struct {
		left  node
		key   string
		null  *Error // made beforehand: missing fields are common in filters
		undef *Error
		place place
		src   string
	}

	index struct {
		left, key node
		place     place
		src       string
	}

	// optional ends its chain with undefined when its operand is null or
	// undefined.
	optional struct{ operand node }
	chain    struct{ operand node }

	logical struct {
		op          operator
		left, right node
	}

	equality struct {
		left, right node
		strict      bool
		negate      bool
	}

	relation struct {
		op          operator
		left, right node
	}

	arithmetic struct {
		op          operator
		left, right node
	}

	membership struct { // key in object
		key, object node
		place       place
		src         string
	}

	not      struct{ operand node }
	negate   struct{ operand node }
	positive struct{ operand node }
	typeOf   struct{ operand node }
	void     struct{ operand node }

	conditional struct{ test, then, other node }

	template struct {
		texts []string // one more than values
		nodes []node
	}

	list   struct{ items []node }
	object struct{ fields []field }

	// call is receiver.method(args).
	call struct {
		method   method
		name     string
		receiver node
		args     []node
		optional bool // receiver.method?.(…)
		place    place
		src      string
	}

	// iterate is receiver.some(arrow) and its like.
	iterate struct {
		method   method
		name     string
		receiver node
		body     node
		slot     int // of the first parameter
		params   int
		optional bool
		place    place
		src      string
	}

	match struct {
		re   *regexp.Regexp
		text node
	}
	mathCall struct {
		fn   func(args []float64) float64
		args []node
	}
	isArray    struct{ operand node }
	objectKeys struct {
		operand node
		place   place
		src     string
	}
)

type field struct {
	key   node
	value node
}

type operator uint8

const (
	opAnd operator = iota
	opOr
	opCoalesce
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opAdd
	opSubtract
	opMultiply
	opDivide
	opRemainder
)

// undefined is JavaScript's; it never leaves the package.
type undefined struct{}
