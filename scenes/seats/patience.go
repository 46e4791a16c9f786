package seats

import "time"

const (
	// crowd is a number of agents from which on the collector costs more, with an actor and a decoded
	// state for each, than new actors for each turn do.
	crowd = 200_000
	// village is a number of agents that act by the hour: all of them seated are little memory.
	village = 1000
)

// Patience is the default of [Options.After], in a scene of so many agents.
func Patience(agents int, virtual bool) time.Duration {
	switch {
	case agents >= crowd && virtual:
		return 0
	case agents <= village:
		return 24 * time.Hour
	}
	return 5 * time.Minute
}
