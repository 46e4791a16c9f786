package expr

import (
	"math"

	"tavernsim/protocol"
)

// Numbers are computed without a box as long as they stay numbers: an integer in
// an interface costs an allocation.

// relationOfNumbers compares without a box when a side cannot be text.
func (m *machine) relationOfNumbers(n *relation) (bool, error) {
	left, err := m.numeric(n.left)
	if err != nil {
		return false, err
	}
	right, err := m.numeric(n.right)
	if err != nil {
		return false, err
	}
	return compareNumbers(n.op, left, right), nil
}

func compareNumbers(op operator, a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return false
	}
	return holds(op, a < b, a == b)
}

func holds(op operator, less, equal bool) bool {
	switch op {
	case opLess:
		return less
	case opLessEqual:
		return less || equal
	case opGreater:
		return !less && !equal
	default:
		return !less
	}
}

// isNumeric reports whether a node's value is always a number.
func isNumeric(n node) bool {
	switch n := n.(type) {
	case *literal:
		_, ok := protocol.Number(n.value)
		return ok
	case *arithmetic:
		return n.op != opAdd
	case *negate, *positive, *mathCall:
		return true
	}
	return false
}

// numeric evaluates a node as a number, without a box where it can.
func (m *machine) numeric(n node) (float64, error) {
	switch n := n.(type) {
	case *arithmetic:
		if n.op != opAdd {
			return m.compute(n)
		}
	case *negate:
		f, err := m.numeric(n.operand)
		return -f, err
	case *positive:
		return m.numeric(n.operand)
	case *mathCall:
		return m.mathCall(n)
	}
	v, err := m.primitive(n)
	if err != nil {
		return 0, err
	}
	return toNumber(v), nil
}

func (m *machine) compute(n *arithmetic) (float64, error) {
	if err := m.spend(1); err != nil {
		return 0, err
	}
	a, err := m.numeric(n.left)
	if err != nil {
		return 0, err
	}
	b, err := m.numeric(n.right)
	if err != nil {
		return 0, err
	}
	switch n.op {
	case opSubtract:
		return a - b, nil
	case opMultiply:
		return a * b, nil
	case opDivide:
		return a / b, nil
	default:
		return math.Mod(a, b), nil
	}
}

func (m *machine) arithmetic(n *arithmetic) (any, error) {
	if n.op != opAdd {
		f, err := m.compute(n)
		return canonical(f), err
	}
	left, err := m.primitive(n.left)
	if err != nil {
		return nil, err
	}
	right, err := m.primitive(n.right)
	if err != nil {
		return nil, err
	}
	_, leftText := left.(string)
	_, rightText := right.(string)
	if !leftText && !rightText {
		return canonical(toNumber(left) + toNumber(right)), nil
	}
	a, b := scalarText(left), scalarText(right)
	if err := m.spendText(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}

func (m *machine) mathCall(n *mathCall) (float64, error) {
	if err := m.spend(1); err != nil {
		return 0, err
	}
	var few [4]float64
	args := few[:0]
	for _, a := range n.args {
		f, err := m.numeric(a)
		if err != nil {
			return 0, err
		}
		args = append(args, f)
	}
	return n.fn(args), nil
}
