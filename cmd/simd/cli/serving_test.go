package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key may end with a line break and begin with the mark of the byte order. What no client can show is refused, without
// being shown.
func TestReadKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		"hush": "", "hush\r\n": "", "\ufeffhush\n": "", "\ufeff \n": "is empty", "hush\nhush": "want the key alone", "\xff\xfeh\x00u\x00s\x00h\x00": "in ASCII",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := ReadKey(file)
		switch {
		case want == "" && (key != "hush" || err != nil):
			t.Errorf("%q: %q, %v", text, key, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%q: %q, %v; want %q", text, key, err, want)
		}
	}
}
