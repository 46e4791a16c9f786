package machines

// UrgentUnderWay reports whether a critical event is being handled: from the end of
// the turn that publishes it to the end of the turns that perceive it. Then ordinary
// agents pause, and their ended turns wait to be merged. It is false while the scene
// waits for turns of ordinary agents.
func (s *Stage) UrgentUnderWay(now Moment) bool {
	if !s.realtime() || s.phase == phaseDone || s.phase == phaseTurns || s.phase == phaseSnapshot || s.flight.OthersTurn() {
		return false
	}
	return now.Alarms > 0 || s.wave != nil && s.wave.urgent || len(s.flight.urgent) > 0 || s.flight.UrgentUnderWay(now.Wall)
}
