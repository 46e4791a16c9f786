package machines

import (
	"testing"
	"time"

	"tavernsim/protocol"
)

func TestDue(t *testing.T) {
	sec := protocol.Time(time.Second)
	last := SnapshotMark{Facts: 100, Time: 10 * sec, Bytes: 1000}
	for name, c := range map[string]struct {
		policy SnapshotPolicy
		now    SnapshotMark
		want   bool
	}{
		"facts":                {SnapshotPolicy{Facts: 10}, SnapshotMark{110, 10 * sec, 1000}, true},
		"too few facts":        {SnapshotPolicy{Facts: 10}, SnapshotMark{109, 99 * sec, 9000}, false},
		"never by facts":       {SnapshotPolicy{Facts: -1}, SnapshotMark{1 << 40, 99 * sec, 9000}, false},
		"time":                 {SnapshotPolicy{Facts: -1, Every: 5 * time.Second}, SnapshotMark{101, 15 * sec, 1000}, true},
		"too early":            {SnapshotPolicy{Facts: -1, Every: 5 * time.Second}, SnapshotMark{101, 15*sec - 1, 1000}, false},
		"bytes":                {SnapshotPolicy{Facts: -1, Bytes: 50}, SnapshotMark{101, 10 * sec, 1050}, true},
		"too few bytes":        {SnapshotPolicy{Facts: -1, Bytes: 50}, SnapshotMark{101, 10 * sec, 1049}, false},
		"bytes not known yet":  {SnapshotPolicy{Facts: -1, Bytes: 50}, SnapshotMark{101, 10 * sec, 0}, false},
		"the first that holds": {SnapshotPolicy{Facts: 1000, Every: time.Hour, Bytes: 50}, SnapshotMark{101, 10 * sec, 1050}, true},
		"nothing happened":     {SnapshotPolicy{Facts: 1, Every: 1, Bytes: 1}, SnapshotMark{100, 99 * sec, 9000}, false},
		"the default":          {SnapshotPolicy{}.WithDefaults(), SnapshotMark{100 + DefaultSnapshotFacts, 10 * sec, 1000}, true},
	} {
		if got := c.policy.Due(last, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOrAndValidate(t *testing.T) {
	p := SnapshotPolicy{Facts: 5, Every: time.Second}.Or(SnapshotPolicy{Every: time.Minute, Bytes: 7})
	if want := (SnapshotPolicy{Facts: 5, Every: time.Minute, Bytes: 7}); p != want || p.Validate() != nil {
		t.Errorf("%+v, %v; want %+v", p, p.Validate(), want)
	}
	for _, p := range []SnapshotPolicy{{Every: -1}, {Bytes: -1}} {
		if p.Validate() == nil {
			t.Errorf("%+v is let pass", p)
		}
	}
}
