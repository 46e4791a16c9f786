package protocol

// Intern returns a string for names that occur in every message, without an
// allocation for the ones known here.
func Intern(b []byte) string {
	switch string(b) { // the compiler compares without converting
	case ToWorld:
		return ToWorld
	case ToKnowledge:
		return ToKnowledge
	case ToEvents:
		return ToEvents
	case "agent.turn_ended":
		return "agent.turn_ended"
	case "agent.private_state_updated":
		return "agent.private_state_updated"
	case "agent.call_made":
		return "agent.call_made"
	case "agent.model_answered":
		return "agent.model_answered"
	case "agent.said":
		return "agent.said"
	case "agent.goals_updated":
		return "agent.goals_updated"
	case "world.committed":
		return "world.committed"
	case "world.refused":
		return "world.refused"
	case "event.routed":
		return "event.routed"
	case "event.refused":
		return "event.refused"
	}
	return string(b)
}
