package machines

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
)

// The services before the channel cause events, which it routes in the same wave. If one decided behind it, the channel
// would decide twice in a wave, and number the places of its events twice.
func TestTheChannelDecidesLast(t *testing.T) {
	if rows := Services(); rows[len(rows)-1].Name != bus.Service {
		t.Errorf("%s decides behind the event channel; put its row before eventsKind in Services (service.go)", rows[len(rows)-1].Name)
	}
}

// A row of the table of services that lacks something is named, with what it lacks.
func TestServicesLackNothing(t *testing.T) {
	if err := checkServices(Services()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		service, want string
		spoil         func(*ServiceKind)
	}{
		{knowledge.Service, "row %d (no name) lacks Name", func(k *ServiceKind) { k.Name = "" }},
		{tooltask.Service, "row %d (tools) lacks New", func(k *ServiceKind) { k.New = nil }},
		{bus.Service, "row %d (events) lacks Facts", func(k *ServiceKind) { k.Facts = nil }},
		{knowledge.Service, "row %d (knowledge): only the first one may decide early", func(k *ServiceKind) { k.Early = true }},
		{space.Service, "row %d: there is another row with the name world", func(k *ServiceKind) { k.Name = worldKind().Name }},
	} {
		rows := Services()
		i := slices.IndexFunc(rows, func(k ServiceKind) bool { return k.Name == c.service })
		c.spoil(&rows[i])
		want := fmt.Sprintf(c.want, i+1)
		if err := checkServices(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
