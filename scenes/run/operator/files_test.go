package operator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/scenes/run/operator"
)

// A project chooses no value of a secret, neither by the file of secrets nor by the one that a
// variable names.
func TestMountedSecretsLieOutside(t *testing.T) {
	project, own := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := write(own, "secrets.yaml", "secrets: {key: {tools: [a]}}")
	for mounted, want := range map[string]string{
		write(own, "key", "sk-Demo_7pW4yH8cR2nM\n"):   "",
		write(project, "key", "sk-Demo_7pW4yH8cR2nM"): "the project would choose it",
	} {
		t.Setenv("SIMD_SECRET_key_FILE", mounted)
		s, err := operator.Of(project).Secrets(file)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", mounted, err, want)
		}
		if want == "" && (err != nil || !s.Has("key")) {
			t.Errorf("%s: %v", mounted, err)
		}
	}
}
