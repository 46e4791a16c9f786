package machines

import (
	"strings"
	"testing"

	"tavernsim/engine/bus"
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
	for want, spoil := range map[string]func(rows []ServiceKind){
		"row 2 (no name) lacks Name":                    func(rows []ServiceKind) { rows[1].Name = "" },
		"row 2 (knowledge) lacks Actor, which is $ and": func(rows []ServiceKind) { rows[1].Actor = "knowledge" },
		"row 3 (tools) lacks New":                       func(rows []ServiceKind) { rows[2].New = nil },
		"row 5 (events) lacks Facts":                    func(rows []ServiceKind) { rows[4].Facts = nil },
		"row 4: there is another row with the name":     func(rows []ServiceKind) { rows[3].Name, rows[3].Actor = rows[0].Name, rows[0].Actor },
	} {
		rows := Services()
		spoil(rows)
		if err := checkServices(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
