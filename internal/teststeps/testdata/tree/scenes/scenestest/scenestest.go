package scenestest

import "testing"

func Play(t *testing.T) { go func() {}() }
