package suited

import (
	"testing"

	all "tree/suite"
)

func TestTogetherBySuite(t *testing.T) { all.Together(t, func() {}) }

func TestAloneBySuite(t *testing.T) { all.Alone(t, func() {}) }
