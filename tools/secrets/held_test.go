package secrets_test

import (
	"strings"
	"testing"

	"tavernsim/tools/secrets"
)

func storeOf(t *testing.T, values map[string]string) *secrets.Store {
	t.Helper()
	f := &secrets.File{Secrets: map[string]*secrets.Grant{}}
	for name, v := range values {
		f.Secrets[name] = &secrets.Grant{Value: v, Tools: []string{"*"}}
	}
	s, err := secrets.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// masks fails if a text with one of the values is not changed.
func masks(t *testing.T, h *secrets.Held, values ...string) {
	t.Helper()
	for _, v := range values {
		if text, err := h.Store().Text("is " + v); err != nil || strings.Contains(text, v) {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// Values that were added to a store are masked as those of the file are, also after a person
// has given another one.
func TestAddedValuesStayMasked(t *testing.T) {
	s, err := storeOf(t, map[string]string{"file": "filesecret-1234"}).With(map[string]string{"extensions.p.token": "optionsecret-56"})
	if err != nil {
		t.Fatal(err)
	}
	h := secrets.Hold(s)
	masks(t, h, "filesecret-1234", "optionsecret-56")
	if err := h.Give("a", "own", "givensecret-789"); err != nil {
		t.Fatal(err)
	}
	masks(t, h, "filesecret-1234", "optionsecret-56", "givensecret-789")
}

// A store in the place of another one gives its own values alone; the values of before stay
// out of texts.
func TestRenewedStores(t *testing.T) {
	was, is := storeOf(t, map[string]string{"a": "firstsecret-1234", "b": "samesecret-55555"}), storeOf(t, map[string]string{"a": "secondsecret-9876", "b": "samesecret-55555", "c": "newsecret-7654321"})
	h := secrets.Hold(was)
	if err := h.Give("agent", "own", "givensecret-789"); err != nil {
		t.Fatal(err)
	}
	for range 3 { // again changes nothing
		if err := h.Renew(is); err != nil {
			t.Fatal(err)
		}
	}
	masks(t, h, "firstsecret-1234", "secondsecret-9876", "samesecret-55555", "newsecret-7654321", "givensecret-789")
	if got, err := h.For("agent", "tool", []string{"a", "c", "own"}); err != nil || got["a"] != "secondsecret-9876" || got["c"] != "newsecret-7654321" || got["own"] != "givensecret-789" {
		t.Error(got, err)
	}
	if err := h.Renew(nil); err != nil {
		t.Fatal(err)
	}
	masks(t, h, "firstsecret-1234", "secondsecret-9876", "newsecret-7654321", "givensecret-789")
	if _, err := h.Granted("tool", []string{"a"}); err == nil {
		t.Error("a secret that is gone is given")
	}
	for want, list := range map[string][]string{
		"the secret a has another value, the secret c is new": secrets.Changes(was, is),
		"the secret a is gone, the secret b is gone":          secrets.Changes(was, nil),
		"": secrets.Changes(is, is),
	} {
		if got := strings.Join(list, ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
