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
	h := secrets.Hold(s, "")
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
	h := secrets.Hold(was, "")
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

// What is withheld once is withheld to the end, and changes of it are told without a value.
func TestWithheldSecrets(t *testing.T) {
	of := func(g secrets.Grant) *secrets.Store {
		g.Value = "firstsecret-1234"
		s, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"a": &g}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	shown, quiet := of(secrets.Grant{Tools: []string{"x"}}), of(secrets.Grant{Tools: []string{"x"}, Show: secrets.Withheld})
	h := secrets.Hold(shown, "town")
	if h.Withheld("a", "b") {
		t.Error("nothing is withheld by itself")
	}
	for _, s := range []*secrets.Store{quiet, shown, nil} {
		if err := h.Renew(s); err != nil {
			t.Fatal(err)
		}
		if !h.Withheld("b", "a") || h.Withheld("b") || h.Withheld() {
			t.Error("a secret that was withheld is not any more, or another one is")
		}
	}
	for want, list := range map[string][]string{
		"outputs of calls with the secret a are withheld":  secrets.Changes(shown, quiet),
		"the secret a is granted to x in no scene":         secrets.Changes(shown, of(secrets.Grant{Tools: []string{"x"}, Scenes: []string{}})),
		"outputs of calls with the secret a are masked":    secrets.Changes(quiet, shown),
		"the secret a is granted to x in the scenes p, q*": secrets.Changes(shown, of(secrets.Grant{Tools: []string{"x"}, Scenes: []string{"p", "q*"}})),
	} {
		if got := strings.Join(list, ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
