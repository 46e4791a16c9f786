package played

import (
	"testing"

	"tree/scenes/scenestest"
)

func TestPlayed(t *testing.T) { scenestest.Play(t) }
