package cast

import "tavernsim/protocol"

// MaxSpawned bounds how many agents come by one change.
const MaxSpawned = 1000

// Coming is who comes into a scene: the agent that is named, or so many of a profile, those
// with the lowest ordinals that are away.
type Coming struct {
	Agent   string // instance id; "" = by profile
	Profile string
	Count   int64
	State   map[string]any // fields in the place of those of the initial private state
}

// Check says what is wrong whatever the scene is like.
func (c *Coming) Check() error {
	switch {
	case (c.Agent == "") == (c.Profile == ""):
		return protocol.Errorf(protocol.KindInvalid, "want one of agent and profile: who comes")
	case c.Count < 1 || c.Count > MaxSpawned:
		return protocol.Errorf(protocol.KindInvalid, "count %d: want 1 to %d", c.Count, MaxSpawned)
	case c.Agent != "" && c.Count != 1:
		return protocol.Errorf(protocol.KindInvalid, "count %d: agent names one; want profile in its place", c.Count)
	}
	return nil
}
