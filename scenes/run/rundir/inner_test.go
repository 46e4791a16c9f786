package rundir

import (
	"slices"
	"testing"

	"tavernsim/scenes/outside"
)

// Without a manifest the log of effects is no scene either.
func TestEffectsWithoutManifest(t *testing.T) {
	scenes, logs := withoutEffects([]string{"day", outside.JournalID("day"), "night"})
	if !slices.Equal(scenes, []string{"day", "night"}) || !slices.Equal(logs, []string{"day"}) {
		t.Error(scenes, logs)
	}
}

// Unseal is unseal for the tests that run scenes.
func Unseal(data []byte, m *Manifest) error { return unseal(data, m) }
