package world

import (
	"math"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func TestLimits(t *testing.T) {
	m := Machine{Limits: Limits{MaxBytes: 100, MaxValue: 200, MaxRequests: 2}}
	long := strings.Repeat("x", 90)
	d, refused := decide(t, m, mustDoc(t, `{}`), req(t, OpSet, "a", long), req(t, OpSet, "b", "0123456789"))
	if d.Len(nil) != 1 || len(refused) != 1 || refused[0].Code != CodeLimit || !strings.Contains(refused[0].Message, "the limit is 100") {
		t.Errorf("%v", refused)
	}
	if d, refused = decide(t, m, d, req(t, OpDelete, "a", nil), req(t, OpSet, "b", "0123456789")); len(refused) > 0 {
		t.Errorf("%v", refused[0])
	}
	if _, refused = decide(t, m, d, req(t, OpSet, "a", strings.Repeat("x", 300))); len(refused) != 1 || refused[0].Code != CodeLimit {
		t.Errorf("%v", refused)
	}
	if _, refused = decide(t, m, d, req(t, OpSet, "a", 1), req(t, OpSet, "a", 1), req(t, OpSet, "a", 1)); len(refused) != 1 || refused[0].Code != CodeLimit {
		t.Errorf("%v", refused)
	}
	var deep any = 1
	for range 80 {
		deep = []any{deep}
	}
	if _, err := FromValue(map[string]any{"a": deep}, 0); err == nil {
		t.Error("a value of depth 80 was taken")
	}
}

func TestPermissions(t *testing.T) {
	pattern := func(s string) Pattern {
		p, err := ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	m := Machine{Permissions: &Permissions{
		Default: Rules{Deny: []Pattern{pattern("**.secret")}},
		Profiles: map[string]Rules{
			"trader": {Allow: []Pattern{pattern("market.*.price"), pattern("log")}, Deny: []Pattern{pattern("market.gold")}},
			"clerk":  {Allow: []Pattern{pattern("orders")}, Deny: []Pattern{pattern("orders.*.approved"), pattern("seals.*")}},
			"farmer": {Allow: []Pattern{pattern("fields.{self}"), pattern("mail.to_{self}.*")}, Deny: []Pattern{pattern("fields.{self}.fence")}},
		}}}
	for _, c := range []struct {
		profile, path string
		op            Op
		value         any
		ok            bool
	}{
		{"trader", "market.salt.price", OpSet, 1, true},
		{"trader", "market.salt.price.low", OpSet, 1, true},
		{"trader", "market.salt", OpSet, 1, false},
		{"trader", "market.salt", OpMerge, map[string]any{"price": 1}, true},
		{"trader", "market.salt", OpMerge, map[string]any{"price": 1, "x": 1}, false},
		{"trader", "market.gold.price", OpSet, 1, false},
		{"trader", "market", OpDelete, nil, false},
		{"trader", "log", OpPush, 1, true},
		{"farmer", "fields.ann.crop", OpSet, 1, true},
		{"farmer", "fields.bob.crop", OpSet, 1, false},
		{"farmer", "fields.{self}", OpSet, 1, false},
		{"farmer", "fields.ann.fence", OpSet, 1, false},
		{"farmer", "fields", OpMerge, map[string]any{"ann": map[string]any{"crop": 1}}, true},
		{"farmer", "mail.to_ann.3", OpSet, 1, true},
		{"clerk", "orders", OpPush, map[string]any{"what": "oats"}, true},
		{"clerk", "orders", OpPush, map[string]any{"what": "oats", "approved": true}, false},
		{"clerk", "orders.1", OpSet, map[string]any{"what": "oats", "approved": true}, false},
		{"clerk", "seals", OpPush, 1, false},
		{"guest", "log", OpPush, map[string]any{"x": map[string]any{"secret": 1}}, false},
		{"guest", "anything", OpSet, 1, true},
		{"guest", "a.secret", OpSet, 1, false},
		{"guest", "a.b", OpSet, map[string]any{"c": map[string]any{"secret": 1}}, false},
		{"guest", "old", OpDelete, nil, false}, // a secret lies below
		{"guest", "old.open", OpDelete, nil, true},
	} {
		r := req(t, c.op, c.path, c.value)
		r.Profile, r.By = c.profile, "ann"
		_, refused := decide(t, m, mustDoc(t, `{"old":{"secret":1,"open":2},"orders":[{"what":"rye","approved":true}]}`), r)
		if ok := len(refused) == 0; ok != c.ok {
			t.Errorf("%s %s %s: refused %v", c.profile, c.op, c.path, refused)
		} else if !ok && refused[0].Code != CodeDenied {
			t.Errorf("code %s", refused[0].Code)
		}
	}
}

func TestCounters_C8(t *testing.T) {
	d := mustDoc(t, `{"__version":3,"o":{"__version":1,"in":{"x":1},"l":[]},"p":{}}`)
	d, refused := decide(t, Machine{}, d, req(t, OpSet, "o.in.x", 2), req(t, OpSet, "o", map[string]any{"in": 1}), req(t, OpDelete, "o.in", nil), req(t, OpSet, "p.x", 1))
	if got := string(d.AppendJSON(nil)); got != `{"__version":7,"o":{"__version":4},"p":{"x":1}}` || len(refused) > 0 {
		t.Errorf("%s %v", got, refused)
	}
}

// Promise 6: keys stand in the order of their bytes, floats keep a point or an exponent.
func TestNumbersStayExact_C28(t *testing.T) {
	text := `{"big":9007199254740993,"f":1.0,"max":9223372036854775807,"neg":-0.1,"small":5e-324,"tiny":1e-07,"wide":1.7976931348623157e+308}`
	d := mustDoc(t, text)
	if got := string(d.AppendJSON(nil)); got != text {
		t.Errorf("%s, want %s", got, text)
	}
	again := mustDoc(t, string(d.AppendJSON(nil)))
	if diff := Diff(d, again); len(diff) > 0 {
		t.Errorf("%v", diff)
	}
	v, err := protocol.Raw(d.AppendMsg(nil)).Value()
	if err != nil {
		t.Fatal(err)
	}
	if back, _ := FromValue(v, 0); len(Diff(d, back)) > 0 {
		t.Error("msgpack changed something")
	}
	if _, err := FromValue(map[string]any{"x": math.NaN()}, 0); err == nil {
		t.Error("NaN was taken")
	}
}

// lock keeps one writer from everything.
type lock string

func (l lock) Check(_ protocol.Time, by string, p Path) error {
	if by == string(l) {
		return faultf(CodeConflict, "path %q is locked", p.String())
	}
	return nil
}

func TestLocks(t *testing.T) {
	kept, other := req(t, OpSet, "x", 1), req(t, OpSet, "y", 1)
	kept.By, other.By = "a", "b"
	dec := Machine{}.Decide(mustDoc(t, `{}`), Commit{Requests: each(kept, other), Locks: lock("a")})
	if r, ok := dec.Facts[0].(*Refused); !ok || r.Request != "x" || r.Code != CodeConflict || string(dec.Next.AppendJSON(nil)) != `{"y":1}` {
		t.Errorf("%+v, %s", dec.Facts[0], dec.Next.AppendJSON(nil))
	}
}
