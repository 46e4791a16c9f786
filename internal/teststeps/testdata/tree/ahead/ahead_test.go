package ahead

import "testing"

var n = 1000

func init() {
	if testing.Short() {
		n = 1
	}
}

func TestAhead(t *testing.T) {}
