package world

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// Requests with remembered paths are those that are read without; damaged ones are refused either way.
func TestRequestsShareTheirPaths(t *testing.T) {
	var paths Paths
	for _, path := range []Path{P("stock", "wood"), P("a").At(-1).Key("b"), {{Kind: Append}}, {{Kind: AnyDeep}}, nil, {}, P(strings.Repeat("n", maxKnownPath))} {
		raw := (&Request{ID: "a/1.1", By: "a", Path: path, Op: OpAdd, Value: protocol.Encode(int64(1))}).AppendMsg(nil)
		for range 2 {
			for n := range len(raw) + 1 {
				cut := protocol.Raw(raw[:n])
				want, fault := readRequest(cut)
				var got Request
				if err := got.Read(cut, &paths); (err == nil) != (fault == nil) || err == nil && !reflect.DeepEqual(got, want) {
					t.Fatalf("%x: %+v, %v; want %+v, %v", cut, got, err, want, fault)
				}
			}
		}
	}
	if len(paths.encoded) < 3 {
		t.Errorf("%d paths are remembered", len(paths.encoded))
	}
}

// Remembered paths are those that ParsePath reads; a fault is found again, and what is remembered is bounded.
func TestPathsAreParsedOnce(t *testing.T) {
	var paths Paths
	texts := []string{"a.b", " a[2].c ", `["x.y"][-]`, "a..b", "", "*", strings.Repeat("n", maxKnownPath+1)}
	for i := range 2 * maxPaths {
		texts = append(texts, fmt.Sprintf("stock.n%d", i))
	}
	for range 3 {
		for _, text := range texts {
			want, fault := ParsePath(text)
			got, err := paths.Parse(text)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(fault) {
				t.Fatalf("%q: %v, %v; want %v, %v", text, got, err, want, fault)
			}
			if len(paths.known) > maxPaths {
				t.Fatalf("%d paths are remembered", len(paths.known))
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = paths.Parse("stock.n1") }); n > 0 {
		t.Errorf("a known path takes %v allocations", n)
	}
}

// A request costs two objects to read, once its path is known: the copy of its bytes that its texts share, and what it may expect. The reader is none.
func TestReadingARequestAllocatesLittle(t *testing.T) {
	expected := int64(3)
	q := Request{ID: "r", By: "a", Path: P("stock", "wood"), Op: OpAdd, Value: protocol.Encode(int64(1)), Expected: &expected, Group: "g"}
	raw := q.AppendMsg(nil)
	var paths Paths
	if n := testing.AllocsPerRun(100, func() {
		var got Request
		if err := got.Read(raw, &paths); err != nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("%g objects", n)
	}
}
