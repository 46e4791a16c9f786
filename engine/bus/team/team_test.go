package team_test

import (
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/bus/ordinals"
	"tavernsim/engine/bus/team"
	"tavernsim/protocol"
)

// Exactly one member of each group hears, the one with the least waiting, then the lowest; a
// Load travels as it is.
func TestOneHears(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := team.Load{}
		for range rapid.IntRange(0, 6).Draw(t, "busy") {
			load[rapid.Uint32Range(0, 9).Draw(t, "who")] = rapid.Int64Range(0, 3).Draw(t, "waits")
		}
		b := protocol.Raw(load.AppendMsg(nil))
		r := protocol.NewReader(b, "request", 2)
		if r.Int() != team.Number || !reflect.DeepEqual(team.Read(r), load) || r.End() != nil {
			t.Fatalf("%v does not travel", load)
		}
		var teams team.Teams
		groups := map[string]map[uint32]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "subscriptions") {
			name := rapid.SampledFrom([]string{"smiths", "cooks"}).Draw(t, "group")
			var members ordinals.Ranges
			for o := range uint32(10) {
				if rapid.Bool().Draw(t, "member") {
					members.Push(o)
					if groups[name] == nil {
						groups[name] = map[uint32]bool{}
					}
					groups[name][o] = true
				}
			}
			teams.Add(name, members)
		}
		picked := teams.Pick(load, nil)
		if len(picked) != len(groups) {
			t.Fatalf("%d hear of %d groups", len(picked), len(groups))
		}
		want := map[uint32]int{}
		for _, members := range groups {
			best := uint32(99)
			for o := range members {
				if best == 99 || load[o] < load[best] || load[o] == load[best] && o < best {
					best = o
				}
			}
			want[best]++
		}
		got := map[uint32]int{}
		for _, set := range picked {
			for o := range set.All() {
				got[o]++
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%v hear, want %v; load %v", got, want, load)
		}
	})
}

// Deliveries of a wave count.
func TestAdd(t *testing.T) {
	load := team.Load{1: 2}
	load.Add(ordinals.Ranges{{From: 0, Count: 2}})
	if !maps.Equal(load, team.Load{0: 1, 1: 3}) {
		t.Error(load)
	}
}
