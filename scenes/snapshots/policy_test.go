package snapshots

import (
	"testing"
	"time"

	"tavernsim/protocol"
)

func TestDue(t *testing.T) {
	sec := protocol.Time(time.Second)
	last := Mark{Facts: 100, Time: 10 * sec, Bytes: 1000}
	for name, c := range map[string]struct {
		policy Policy
		now    Mark
		want   bool
	}{
		"facts":                {Policy{Facts: 10}, Mark{110, 10 * sec, 1000}, true},
		"too few facts":        {Policy{Facts: 10}, Mark{109, 99 * sec, 9000}, false},
		"never by facts":       {Policy{Facts: -1}, Mark{1 << 40, 99 * sec, 9000}, false},
		"time":                 {Policy{Facts: -1, Every: 5 * time.Second}, Mark{101, 15 * sec, 1000}, true},
		"too early":            {Policy{Facts: -1, Every: 5 * time.Second}, Mark{101, 15*sec - 1, 1000}, false},
		"bytes":                {Policy{Facts: -1, Bytes: 50}, Mark{101, 10 * sec, 1050}, true},
		"too few bytes":        {Policy{Facts: -1, Bytes: 50}, Mark{101, 10 * sec, 1049}, false},
		"bytes not known yet":  {Policy{Facts: -1, Bytes: 50}, Mark{101, 10 * sec, 0}, false},
		"the first that holds": {Policy{Facts: 1000, Every: time.Hour, Bytes: 50}, Mark{101, 10 * sec, 1050}, true},
		"nothing happened":     {Policy{Facts: 1, Every: 1, Bytes: 1}, Mark{100, 99 * sec, 9000}, false},
		"the default":          {Policy{}.WithDefaults(), Mark{100 + DefaultFacts, 10 * sec, 1000}, true},
	} {
		if got := c.policy.Due(last, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOrAndValidate(t *testing.T) {
	p := Policy{Facts: 5, Every: time.Second}.Or(Policy{Every: time.Minute, Bytes: 7})
	if want := (Policy{Facts: 5, Every: time.Minute, Bytes: 7}); p != want || p.Validate() != nil {
		t.Errorf("%+v, %v; want %+v", p, p.Validate(), want)
	}
	for _, p := range []Policy{{Every: -1}, {Bytes: -1}} {
		if p.Validate() == nil {
			t.Errorf("%+v is let pass", p)
		}
	}
}
