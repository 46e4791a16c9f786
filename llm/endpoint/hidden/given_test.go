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

// A value that stands among others is hidden where it stands alone, and without what ends it.
func TestSecretsAmongOthers(t *testing.T) {
	for value, shown := range map[string][2]string{
		"sid=abcdef1234567890; other=zz":             {"abcdef1234567890 sid=abcdef1234567890; zz", "[key] [key]; zz"},
		"a=sk-tok-77778888,b=9":                      {"sk-tok-77778888 a=sk-tok-77778888,b=9", "[key] [key]"},
		"Basic dXNlcjpwYXNzd29yZA==":                 {"dXNlcjpwYXNzd29yZA dXNlcjpwYXNzd29yZA== Basic", "[key] [key] Basic"},
		`Digest username="u", response="66298fae49"`: {`66298fae49 "66298fae49" response`, `[key] "[key]" response`},
		"token=abcdefgh=ijklmn==&next=1":             {"abcdefgh=ijklmn abcdefgh=ijklmn==", "[key] [key]=="},
		"x=hunter22":                                 {"hunter22 x=hunter22", "[key] [key]"},
		"abcdefgh;,;":                                {"abcdefgh", "[key]"},
		";;;;;;;;;":                                  {";;;;;;;;;", "[key]"},
		"pass=short":                                 {"pass=short short pass", "[key] short pass"},
		"user:supersecretpass":                       {"user supersecretpass user:supersecretpass", "user [key] [key]"},
		"Key 0aa1-bb2c-id:0123456789abcdef":          {"Key 0aa1-bb2c-id 0123456789abcdef", "Key [key] [key]"},
		"a:b:sk-12345678":                            {"a:b sk-12345678", "a:b [key]"},
		"v1,simulation,production":                   {"the simulation of production", "the simulation of production"},
		"env=production;token=QbLmXwZpKv":            {"production QbLmXwZpKv", "production [key]"},
		"application/json":                           {"application/json", "application/json"},
		"application/json;q=0.9, text/event-stream":  {"application/json text/event-stream json", "application/json text/event-stream json"},
		"text/abcdefgh1 sk-12345678":                 {"text/abcdefgh1 sk-12345678", "text/abcdefgh1 [key]"},
		"https://house.example:8443/v1":              {"https //house.example and https://house.example:8443/v1", "https //house.example and [key]"},
	} {
		list, _ := (&Given{Headers: map[string]string{"X-A": value}}).Words()
		if got := Of(list).Hide(shown[0]); got != shown[1] {
			t.Errorf("%q: %q is shown as %q", value, shown[0], got)
		}
	}
	if list, warnings := (&Given{Headers: map[string]string{"X-A": "application/json"}}).Words(); len(list)+len(warnings) > 0 {
		t.Errorf("a media type: %q, %q", list, warnings)
	}
	list, _ := (&Given{Headers: map[string]string{"X-A": `Digest response="66298fae49", credential=abcdefghij`}}).Words()
	if got := Of(list).Hide("the response is a credential"); got != "the response is a credential" {
		t.Errorf("names of values are hidden: %s", got)
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
