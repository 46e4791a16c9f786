package ordered_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/ordered"
)

func asks(id string) *agenda.Intervened {
	return &agenda.Intervened{ID: id, Do: protocol.Encode([]any{})}
}

// counted is a list of so many orders, a wave and a second each; each third one is refused.
func counted(n int, id, why string) (l ordered.List) {
	d := agenda.New(agenda.Config{Clock: agenda.Virtual})
	d.Start(0)
	for i := range n {
		d.Wave = uint64(i)
		at := protocol.Time(i) * protocol.Time(time.Second)
		name := fmt.Sprint(id, i)
		l.Count(d, at, asks(name))
		l.Count(d, at, &agenda.Intervened{ID: "letter", By: travel.By})
		if i%3 == 0 {
			l.Count(d, at, &agenda.OrderRefused{ID: name, Error: why})
		}
	}
	return l
}

// Promise 1, also behind a snapshot.
func TestList(t *testing.T) {
	l := counted(4, "o", "no")
	if l.Wave != 0 || len(l.Orders) != 4 {
		t.Fatalf("%+v", l)
	}
	for i, o := range l.Orders {
		want := ordered.Order{ID: fmt.Sprint("o", i), Said: ordered.Sum(asks(fmt.Sprint("o", i))), Wave: uint64(i) + 1, After: time.Duration(i) * time.Second}
		if i%3 == 0 {
			want.Refused = "no"
		}
		if o != want {
			t.Errorf("%+v, want %+v", o, want)
		}
	}
	if got := again(t, &l); !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, want %+v", got, l)
	}
}

// again is a list out of a snapshot.
func again(t *testing.T, l *ordered.List) ordered.List {
	t.Helper()
	codec, got := protocol.NewCodec(), &ordered.List{}
	raw, err := codec.Marshal(l)
	if err == nil {
		err = codec.Unmarshal(raw, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ordered.Kept(got, 1000, time.Hour)
}

// Promises 1 and 2: of too many the oldest go, and the list says how far. A letter of 10,000 of the largest is no problem.
func TestBounds(t *testing.T) {
	const n = 40_000
	l := counted(n, strings.Repeat("i", 250), strings.Repeat("é", 500))
	kept := len(l.Orders)
	first := l.Orders[0]
	if kept < 10_000 || kept >= n || l.Wave != uint64(n-kept) || l.After != time.Duration(n-kept-1)*time.Second || first.Wave != l.Wave+1 {
		t.Errorf("%d are kept, up to wave %d and %s some are not; the first is %+v", kept, l.Wave, l.After, first)
	}
	for _, o := range l.Orders {
		if len(o.Refused) > 256 || strings.Trim(o.Refused, "é") != "" {
			t.Fatalf("%q", o.Refused)
		}
	}
	if got := again(t, &l); !reflect.DeepEqual(got, l) {
		t.Error("a snapshot leads to another list")
	}
}

// Promise 2.
func TestLacks(t *testing.T) {
	old := ordered.Kept(nil, 30, time.Minute)
	for _, c := range []struct {
		l     ordered.List
		wave  uint64
		after time.Duration
		begin uint64
		want  bool
	}{
		{old, 0, 0, 20, true}, {old, 20, time.Minute, 20, true}, {old, 21, 0, 20, false}, {old, 0, time.Minute + 1, 20, false},
		{old, 0, 0, 0, false}, {ordered.List{}, 0, 0, 20, false}, {ordered.Kept(nil, 0, 0), 0, 0, 20, false},
	} {
		if got := c.l.Lacks(c.wave, c.after, c.begin); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Promise 3.
func TestSum(t *testing.T) {
	of := func(by, reason string, v any) ordered.Said {
		return ordered.Sum(&agenda.Intervened{ID: "a", By: by, Reason: reason, Do: protocol.Encode([]any{v})})
	}
	if of("", "", 1.0) != of("", "", int64(1)) {
		t.Error("1.0 and 1 are others")
	}
	seen := map[ordered.Said]bool{of("", "", int64(1)): true, of("a", "", int64(1)): true, of("", "a", int64(1)): true, of("", "", 1.5): true}
	if len(seen) != 4 {
		t.Error("two sums are one")
	}
}
