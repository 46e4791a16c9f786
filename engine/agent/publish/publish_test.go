package publish_test

import (
	"strings"
	"testing"

	"tavernsim/engine/agent/publish"
	"tavernsim/protocol"
)

func TestRules(t *testing.T) {
	all, none := publish.Rules{}, publish.Rules{Types: []string{}, To: []string{}}
	some := publish.Rules{Types: []string{"shop.*", "bell"}, To: []string{"clerk", "worker_*"}}
	for _, c := range []struct {
		name    string
		rules   publish.Rules
		kind    string
		targets []string
		want    string // in the refusal; "" = allowed
	}{
		{"no rules", all, "any.thing", []string{"anybody"}, ""},
		{"nothing", none, "shop.sale", nil, `the event type "shop.sale": the profile publishes none (publishes)`},
		{"a type", some, "bell", nil, ""},
		{"below a type", some, "shop.sale.end", nil, ""},
		{"the stem is no type below itself", some, "shop", nil, "publishes shop.*, bell"},
		{"a type that begins alike", some, "bells", nil, `"bells"`},
		{"named", some, "bell", []string{"clerk", "worker_7"}, ""},
		{"one of several is not", some, "bell", []string{"clerk", "mayor"}, `the receiver "mayor": events of the profile may name clerk, worker_* (publishes_to)`},
		{"types alone", publish.Rules{Types: []string{"*"}}, "x", []string{"anybody"}, ""},
		{"receivers alone", publish.Rules{To: []string{}}, "x", []string{"a"}, "may name none"},
		{"many", publish.Rules{Types: strings.Fields("a b c d e f g h i")}, "x", nil, "a, b, c, d, e, f, g, h, … (publishes)"},
	} {
		err := c.rules.Check(c.kind, c.targets)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || protocol.KindOf(err) != protocol.KindDenied):
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
