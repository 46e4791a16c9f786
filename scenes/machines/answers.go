package machines

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Concerns names the agent that a service answers with a fact, and whether it
// wakes, as an event of normal priority would: who waits for an answer must hear
// a no. A refused event wakes nobody, or the loop that was refused would go on
// by way of its refusal.
func Concerns(f protocol.Fact) (instance string, wakes, ok bool) {
	switch x := f.(type) {
	case knowledge.Refused:
		return x.By, true, true
	case *bus.Refused:
		return x.Source, false, true
	case *bus.NotDone:
		return x.By, true, true
	}
	a, ok := worldstate.AnswerOf(f)
	return a.To, a.Wakes, ok
}

// ObservationOf is what the agent is told about it.
func ObservationOf(f protocol.Fact, at protocol.Time) agent.Observation {
	switch x := f.(type) {
	case knowledge.Refused:
		return agent.Observation{Time: at, Kind: "knowledge_refused", Value: map[string]any{
			"request_id": x.Request, "kb": x.KB, "code": string(x.Reason), "message": x.Message,
		}}
	case *bus.Refused:
		return agent.Observation{Time: at, Kind: "event_refused", Value: map[string]any{
			"type": x.Type, "code": string(x.Reason), "message": x.Detail,
		}}
	case *bus.NotDone:
		return agent.Observation{Time: at, Kind: "channel_refused", Value: map[string]any{
			"request": x.What, "type": x.Subject, "code": string(x.Code), "message": x.Message,
		}}
	}
	a, _ := worldstate.AnswerOf(f)
	return agent.Observation{Time: at, Kind: a.Kind, Value: worldstate.AnswerValue(f)}
}
