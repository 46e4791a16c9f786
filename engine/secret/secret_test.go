package secret

import (
	"reflect"
	"testing"
)

// What follows the name of a secret as its value is hidden, however it is
// written; nothing else is.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`{"password":"hunter2","n":1}`:          `{"password":"[redacted]","n":1}`,
		`{\"api_key\": \"hunter2\"}`:            `{\"api_key\": \"[redacted]\"}`,
		`api_key=hunter2&x=1; rest`:             `api_key=[redacted]; rest`,
		`password: hunter2, and more`:           `password: [redacted], and more`,
		`<password>hunter2</password>`:          `<password>[redacted]</password>`,
		`password:「始」hunter2「末」,n:「始」1「末」`:      `password:「始」[redacted]「末」,n:「始」1「末」`,
		`my password`:                           `my password`,
		`vault.password is not a number`:        `vault.password is not a number`,
		`password:`:                             `password:`,
		`password: a password: b`:               `password: [redacted] password: [redacted]`,
		`'access_token' : 'never closed hunter`: `'access_token' : '[redacted]`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Values under the names of secrets, and beside paths that lead through one, are
// hidden at any depth; what nothing is hidden in is not copied.
func TestHide(t *testing.T) {
	vault := map[string]any{"password": "hunter2", "gold": int64(3)}
	list := []any{int64(1), map[string]any{"path": "self.vault.api_key", "value": "hunter2"}, "api_key=hunter2"}
	clean := map[string]any{"vault": map[string]any{"gold": int64(3)}, "path": "gold", "value": "hunter2"}
	for _, c := range []struct {
		give, want any
		changed    bool
	}{
		{vault, map[string]any{"password": Redacted, "gold": int64(3)}, true},
		{list, []any{int64(1), map[string]any{"path": "self.vault.api_key", "value": Redacted}, "api_key=" + Redacted}, true},
		{clean, clean, false},
		{map[string]any{"password": map[string]any{"of": "hunter2"}}, map[string]any{"password": Redacted}, true},
		{nil, nil, false},
	} {
		got, changed := Hide(c.give)
		if changed != c.changed || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, %v, want %v, %v", c.give, got, changed, c.want, c.changed)
		}
	}
	if vault["password"] != "hunter2" {
		t.Error("what was given was changed")
	}
}
