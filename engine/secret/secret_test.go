package secret

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What follows the name of a secret as its value is hidden, however it is
// written; nothing else is.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`{"password":"hunter2","n":1}`:        `{"password":"[redacted]","n":1}`,
		`{\"api_key\": \"hunter2\"}`:          `{\"api_key\": \"[redacted]\"}`,
		`api_key=hunter2&x=1; rest`:           `api_key=[redacted]; rest`,
		`password: hunter2, and more`:         `password: [redacted], and more`,
		`<password>hunter2</password>`:        `<password>[redacted]</password>`,
		`<password>a "long" one</password> x`: `<password>[redacted]</password> x`,
		`password:「始」hunter2「末」,n:「始」1「末」`:    `password:「始」[redacted]「末」,n:「始」1「末」`,
		`my password`:                           `my password`,
		`vault.password is not a number`:        `vault.password is not a number`,
		`password:`:                             `password:`,
		`password: a password: b`:               `password: [redacted] password: [redacted]`,
		`'access_token' : 'never closed hunter`: `'access_token' : '[redacted]`,
		`{"password":"a\"hunter2","n":1}`:       `{"password":"[redacted]","n":1}`,
		`"{\"password\":\"a\\\"hunter2\"}"`:     `"{\"password\":\"[redacted]\"}"`,
		`{"password":{"of":"hunter2"},"n":1}`:   `{"password":[redacted],"n":1}`,
		`{"password":["]","hunter2"],"n":1}`:    `{"password":[redacted],"n":1}`,
		`{"password":{"of":"hunter2`:            `{"password":[redacted]`,
		`password: [redacted], and more`:        `password: [redacted], and more`,
		`password: [redacted]hunter2`:           `password: [redacted]`,
		`password:'{"api_key":"it's hunter2"}`:  `password:'[redacted]`,
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

// FuzzText: hiding does not panic, hides nothing twice, and leaves nothing of what
// stands under the name of a secret in JSON, whatever is around it.
func FuzzText(f *testing.F) {
	f.Add("", "hunter2", "", uint8(0))
	f.Add("password:'", `it's "quoted" \ and {nested]`, "'}", uint8(3))
	f.Add(`api_key: {"x": "`, "\\", "", uint8(14))
	f.Fuzz(func(t *testing.T, before, value, after string, form uint8) {
		const mark = "hunter\u00b2"
		if strings.Contains(before+after, mark) {
			t.Skip()
		}
		name := Names()[int(form)%len(Names())]
		var v any = value + mark + value
		switch form / 5 % 4 {
		case 1:
			v = []any{value, v}
		case 2:
			v = map[string]any{value: v}
		case 3:
			v = map[string]any{name: []any{map[string]any{"x": v}}, value: v}
		}
		raw, err := json.Marshal(map[string]any{name: v})
		if err != nil {
			t.Skip()
		}
		if form >= 128 { // JSON in a text of JSON
			quoted, _ := json.Marshal(string(raw))
			raw = quoted
		}
		got := Text(before + string(raw) + after)
		if strings.Contains(got, mark) {
			t.Errorf("%q\nleaves %q", before+string(raw)+after, got)
		}
		if again := Text(got); again != got {
			t.Errorf("%q\nagain %q", got, again)
		}
	})
}

// FuzzHide: what stands under the name of a secret, or in a text in JSON, is hidden
// in a value; hiding again changes nothing, and what was given stays as it was.
func FuzzHide(f *testing.F) {
	f.Add([]byte(`{"a":[{"password":{"of":"x"}},"api_key=x"],"path":"self.password","value":[1]}`))
	f.Add([]byte(`["{\"access_token\":\"x\"}"]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v, same any
		if json.Unmarshal(raw, &v) != nil || json.Unmarshal(raw, &same) != nil {
			t.Skip()
		}
		out, changed := Hide(v)
		if !reflect.DeepEqual(v, same) {
			t.Error("what was given was changed")
		}
		if !changed && !reflect.DeepEqual(out, v) {
			t.Error("it was changed, and says that it was not")
		}
		if again, more := Hide(out); more && !reflect.DeepEqual(again, out) {
			t.Errorf("%v\nagain %v", out, again)
		}
		shown(t, out)
	})
}

// shown looks for values under the names of secrets.
func shown(t *testing.T, v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			shown(t, e)
		}
	case map[string]any:
		for name, e := range x {
			if shown(t, e); Is(name) && e != Redacted {
				t.Errorf("%s is %v", name, e)
			}
		}
	}
}
