package packed

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

// Requests come in the order in which they were added, those that were put first before them, and a taken list leaves nothing.
func TestRequests(t *testing.T) {
	var r Requests
	for _, c := range []struct{ list, want string }{
		{"", ""}, {"a", "a"}, {"A", "A"}, {"abc", "abc"}, {"ABC", "ABC"}, {"aABbC", "ABCab"}, {"AaBb", "ABab"}, {"ab", "ab"},
	} {
		for _, x := range c.list {
			add := r.Add
			if x < 'a' {
				add = r.AddFirst
			}
			add(protocol.Raw(string(x)))
		}
		got := ""
		all, err := All(r.Take())
		for _, x := range all {
			got += string(x)
		}
		if err != nil || got != c.want || r.Count != 0 {
			t.Errorf("%q gives %q, want %q: %v", c.list, got, c.want, err)
		}
	}
}

// A body that is cut off, or in which a length goes beyond the rest, is damaged: nothing panics.
func TestDamagedRequests(t *testing.T) {
	var r Requests
	r.Add(protocol.Raw("first"))
	r.Add(protocol.Raw("second"))
	whole := r.Take()
	for n := range whole {
		if _, err := All(whole[:n:n]); err == nil || n > countBytes && protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%d bytes of %d: %v", n, len(whole), err)
		}
	}
	for _, length := range []byte{6 + 1, 255} {
		long := append(protocol.Raw{}, whole...)
		long[countBytes+lengthBytes+5+3] = length
		x, err := Read(long)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := x.Next(1); err != nil || fmt.Sprintf("%s", first) != "[first]" {
			t.Errorf("%s, %v", first, err)
		}
		if _, err := x.Next(1); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("a length of %d: %v", length, err)
		}
	}
}
