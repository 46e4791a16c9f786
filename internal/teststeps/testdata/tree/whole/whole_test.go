package whole

import "testing"

// TestSend has variables with the names of a method and of what that belongs to.
func TestSend(t *testing.T) {
	fewer := t.Name()
	t.Log(fewer)
}

type checks int

func (t checks) fewer() bool { return testing.Short() }

func ExampleWhole() {}

func Testless() {}
