package lease

import (
	"testing"
	"time"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

const now = protocol.Time(time.Hour)

func acquired(tb testing.TB) (l Leases, f *Leased) {
	tb.Helper()
	f, err := l.Acquire(now, Lease{ID: "1", Holder: "a", Paths: []world.Path{world.P("market", "salt"), world.P("bank").At(-1)}}, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	return l.Apply(f), f
}

// Promise 1.
func TestCheck(t *testing.T) {
	l, _ := acquired(t)
	doc, err := world.FromValue(map[string]any{"bank": []any{int64(0)}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by, path string
		at       protocol.Time
		ok       bool
	}{
		{"b", "market.salt.price", now, false}, {"b", "market", now, false}, {"b", "market.iron", now, true},
		{"a", "market.salt", now, true}, {"b", "bank", now, false}, {"b", "bank", now.Add(time.Minute), true},
	} {
		path, err := world.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		r := world.Request{ID: "r", By: c.by, Op: world.OpSet, Path: path, Value: protocol.Encode(int64(1))}
		dec := world.Machine{}.Decide(doc, world.Commit{Now: c.at, Requests: []*world.Request{&r}, Locks: l})
		f, refused := dec.Facts[0].(*world.Refused)
		if refused == c.ok || refused && f.Code != world.CodeConflict {
			t.Errorf("%+v: %v", c, dec.Facts[0])
		}
	}
}

// Promise 2: nobody waits and nobody holds two, so a cycle of waiting has no first step.
func TestAcquire(t *testing.T) {
	l, _ := acquired(t)
	for _, c := range []struct {
		holder string
		paths  []world.Path
		d      time.Duration
		code   world.Code // "" = granted
	}{
		{"a", []world.Path{world.P("x")}, time.Minute, world.CodeConflict},
		{"b", []world.Path{world.P("x"), world.P("bank")}, time.Minute, world.CodeConflict},
		{"b", []world.Path{world.P("x")}, MaxTime + 1, world.CodeInvalid},
		{"b", nil, time.Minute, world.CodeInvalid},
		{"b", make([]world.Path, MaxPaths+1), time.Minute, world.CodeInvalid},
		{"b", []world.Path{world.P("x")}, MaxTime, ""},
	} {
		f, err := l.Acquire(now, Lease{ID: "2", Holder: c.holder, Paths: c.paths}, c.d)
		if c.code == "" {
			if err != nil || f.Lease.Until != now.Add(c.d) {
				t.Errorf("%+v: %v, %v", c, f, err)
			}
		} else if err == nil || world.CodeOf(err) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Promise 1, at its end.
func TestEnd(t *testing.T) {
	l, _ := acquired(t)
	if _, err := l.Release(now, "1", "b"); err == nil {
		t.Error("released a foreign lease")
	}
	f, err := l.Release(now, "1", "a")
	if err != nil || !l.Apply(f).Empty() {
		t.Error("a released lease stayed", err)
	}
	if l.Next() != now.Add(time.Minute) || len(l.Expire(now)) != 0 {
		t.Error("expiry before its time")
	}
	for _, f := range l.Expire(now.Add(time.Minute)) {
		l = l.Apply(f)
	}
	if !l.Empty() || l.Next() != 0 {
		t.Error("an expired lease stayed")
	}
}

// The bytes of facts and of what is kept stand in journals and snapshots of old runs.
func TestBytes(t *testing.T) {
	const kept = "\x94\xa11\xa1a\x92\x92\xa6market\xa4salt\x92\xa4bank\xff\xcf\x00\x00\x03T(\xff\xf8\x00"
	const hour = "\xcf\x00\x00\x03F0\xb8\xa0\x00"
	l, leased := acquired(t)
	if got := l.AppendMsg(nil); string(got) != "\x91"+kept {
		t.Errorf("%q", got)
	}
	codec := protocol.NewCodec(Facts())
	for want, f := range map[string]protocol.Fact{
		"\x92" + hour + kept:             leased,
		"\x94" + hour + "\xa11\xa1a\xc3": &Released{Time: now, ID: "1", Holder: "a", Expired: true},
	} {
		raw, err := codec.Marshal(f)
		if err != nil || string(raw) != want {
			t.Errorf("%q, %v", raw, err)
		}
		back, err := codec.ReadFact(f.FactKind(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := codec.Marshal(back); err != nil || string(again) != want {
			t.Errorf("read again: %q, %v", again, err)
		}
	}
}

// Promise 3.
func TestRead(t *testing.T) {
	l, _ := acquired(t)
	f, err := l.Acquire(now, Lease{ID: "2", Holder: "b", Paths: []world.Path{world.P("x")}}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []Leases{{}, l, l.Apply(f)} {
		raw := l.AppendMsg(nil)
		back, err := Read(raw)
		if err != nil || string(back.AppendMsg(nil)) != string(raw) {
			t.Errorf("%v: %q, want %q", err, back.AppendMsg(nil), raw)
		}
		for cut := range raw {
			if _, err := Read(raw[:cut]); protocol.KindOf(err) != protocol.KindCorrupt {
				t.Errorf("the first %d bytes of %q: %v", cut, raw, err)
			}
		}
		if _, err := Read(append(raw, 0)); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("a byte more: %v", err)
		}
	}
	if _, err := Read(protocol.Raw("\xdd\xff\xff\xff\xff\x90")); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("a false length: %v", err)
	}
}
