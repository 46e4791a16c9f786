package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"tavernsim/scenes/run/rundir/parts"
)

// null in the place of an object is nothing, and nobody panics.
func TestNulls(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		parts.Manifest: `{"version": 1, "run": "r", "endpoint_budgets": {"e": null}}`,
		parts.Summary:  `{"scenes": [null, {"scene": "s"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := ReadManifest(dir); err != nil || len(m.AtEndpoints) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if s, err := readSummary(dir); err != nil || len(s.All()) != 1 || s.Digests() != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
