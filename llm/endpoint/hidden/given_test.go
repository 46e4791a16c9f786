package hidden

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What the user puts into headers and parameters is hidden like the key, whatever its name has in it, but for exact
// names of what is harmless and those in public. Names decided by their parts: X-Beta-Token was shown.
func TestSecrets(t *testing.T) {
	got, warnings := (&Given{Key: "sk-00001",
		Headers: map[string]string{"Authorization": "Bearer abcdefgh-1", "X-Title": "my application", "Anthropic-Beta": "tools-2024-04-04", "X-Beta-Token": "token-of-beta-1", "X-Pass": "hunter2", "X-Env": "production", "x-region": "northern-1", "X-Pair": "abc12 def34"},
		Query:   map[string]string{"code": "function-key-1", "api-version": "2024-10-21-preview"}, Public: []string{"X-Region"},
	}).Words()
	if want := []string{"abc12 def34", "abcdefgh-1", "function-key-1", "production", "sk-00001", "token-of-beta-1"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "X-Env is hidden") || !strings.Contains(warnings[1], "X-Pass has fewer") || strings.Contains(strings.Join(warnings, ""), "hunter") {
		t.Errorf("%q", warnings)
	}
	for _, key := range []string{"sk-1", "LM-Studio"} {
		if list, warnings := (&Given{Key: key}).Words(); len(list) > 0 || len(warnings) != 1 {
			t.Errorf("%q: %q, %q", key, list, warnings)
		}
	}
	if none, warnings := (&Given{}).Words(); len(none)+len(warnings) > 0 {
		t.Errorf("%q, %q", none, warnings)
	}
}

// The page lists what is no secret.
func TestPageOfSecrets(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Secrets")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, word := range slices.Concat(harmless(), standIns()) {
		if !strings.Contains(section, "`"+word+"`") {
			t.Errorf("the page does not say %s", word)
		}
	}
}
