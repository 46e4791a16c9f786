package machines

import (
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
)

// As many agents of a scene may be on their way as travel.MaxTrips, with those that leave in the open wave.
func TestHowManyMayTravel(t *testing.T) {
	for _, c := range []struct {
		open, leaving, more int
		may                 bool
	}{{0, 0, travel.MaxTrips, true}, {0, 0, travel.MaxTrips + 1, false}, {travel.MaxTrips - 2, 1, 1, true}, {travel.MaxTrips - 1, 1, 1, false}, {travel.MaxTrips, 0, 1, false}} {
		s := &StageState{Travel: travel.State{Open: make([]travel.Trip, c.open)}}
		of := &changes{record: &record{shared: &shared{StageState: s}}, leaving: leaving{list: make([]*travel.Departed, c.leaving)}}
		if err := (now{State: &agenda.State{}, changes: of}).MayGo(c.more); (err == nil) != c.may {
			t.Errorf("%d on their way, %d leave, and %d more: %v", c.open, c.leaving, c.more, err)
		}
	}
	ended := now{State: &agenda.State{Ended: agenda.StoppedByTicks}, changes: &changes{record: &record{shared: &shared{StageState: &StageState{}}}}}
	if ended.MayGo(1) == nil {
		t.Error("somebody leaves a scene that ends")
	}
}
