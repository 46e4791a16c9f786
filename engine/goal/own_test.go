package goal

import (
	"strings"
	"testing"
)

// A new condition reads of self what self has.
func TestOwn(t *testing.T) {
	for expr, want := range map[string]struct {
		private bool
		refused string
	}{
		"self.private_state.alarm": {true, ""}, "self.private_state": {true, ""}, "self['private_state'].x": {true, ""},
		"self.drives.hunger > 0.5": {}, "world.self == self.name": {}, "self.alarm === true": {false, "self has no alarm"},
		"self.name == 'a' || self.mood == 'b'": {false, "self has no mood"},
	} {
		err := Condition{Expr: expr}.Check()
		if (err == nil) != (want.refused == "") || err != nil && !strings.Contains(err.Error(), want.refused) {
			t.Errorf("%s: %v, want %q", expr, err, want.refused)
			continue
		}
		if err == nil {
			c, _ := Condition{Expr: expr}.Compiled()
			if private, _ := c.Own(); private != want.private {
				t.Errorf("%s reads the private state: %v", expr, private)
			}
		}
	}
	if err := (Condition{Text: "a text"}).Check(); err != nil {
		t.Error(err)
	}
}
