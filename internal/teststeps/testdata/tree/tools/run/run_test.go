package run

import "testing"

func TestStart(t *testing.T) {}
