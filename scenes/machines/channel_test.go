package machines_test

import (
	"maps"
	"testing"

	"tavernsim/engine/bus/team"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/scenestest"
)

// The channel knows what waits for the members of groups for one decision: the next one has a count of its own, or none.
func TestALoadIsOfOneDecision(t *testing.T) {
	s := begin(t, scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{}))
	channel := s.Services[len(s.Services)-1].(*machines.Events)
	for _, load := range []team.Load{{0: 3}, nil} {
		var requests packed.Requests
		if load != nil {
			requests.Add(load.AppendMsg(nil))
		}
		in, err := packed.Read(requests.Take())
		if err == nil {
			err = channel.Decide(in, 1, func([]protocol.Fact, bool) error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(channel.State.Load, load) {
			t.Errorf("%v, want %v", channel.State.Load, load)
		}
	}
}
