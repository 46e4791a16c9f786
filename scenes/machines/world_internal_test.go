package machines

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/packed"
)

// The parts in which the world decides are the same in however many messages its requests come, and none ends
// within a transaction.
func TestPartsOfTheWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "a", "b"}), 0, 40).Draw(t, "transactions")
		n := rapid.IntRange(1, 8).Draw(t, "requests of a part")
		cuts := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 6).Draw(t, "cuts")
		bodies := func(cut func(i int) bool) (list []*packed.Reader) {
			var all packed.Requests
			take := func(open bool) {
				in, err := packed.Read(all.Take())
				if err != nil {
					t.Fatal(err)
				}
				in.Open = open
				list = append(list, in)
			}
			for i, g := range groups {
				if cut(i) {
					take(true)
				}
				q := worldstate.Request{Change: world.Request{ID: fmt.Sprint(i), Op: world.OpSet, Path: world.P("x"), Value: protocol.Encode(1), Group: g}}
				all.Add(q.AppendMsg(nil))
			}
			take(false)
			return list
		}
		parts := func(list []*packed.Reader) (parts [][]string) {
			r := worldReader{paths: &world.Paths{}}
			for _, in := range list {
				r.in = in
				for {
					part, more, err := r.next(n)
					if err != nil {
						t.Fatal(err)
					}
					if in.Open && !more {
						break
					}
					var ids []string
					for _, q := range part {
						ids = append(ids, q.Change.ID+q.Change.Group)
					}
					if parts = append(parts, ids); !more {
						break
					}
				}
			}
			return parts
		}
		whole := parts(bodies(func(int) bool { return false }))
		cut := parts(bodies(func(i int) bool { return slices.Contains(cuts, i) }))
		if fmt.Sprint(whole) != fmt.Sprint(cut) {
			t.Fatalf("in one message %v\nin several    %v", whole, cut)
		}
		at := 0
		for i, p := range whole {
			if at += len(p); i < len(whole)-1 && at > 0 && groups[at-1] != "" && groups[at-1] == groups[at] {
				t.Fatalf("part %d ends within a transaction: %v", i, whole)
			}
		}
		if at != len(groups) {
			t.Fatalf("%d requests in %v", len(groups), whole)
		}
	})
}
