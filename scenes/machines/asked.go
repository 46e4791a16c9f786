package machines

import "tavernsim/engine/agenda"

// askEarly sends a service that decides while agents deliberate what it is asked so far. The wave keeps it
// until the service has answered: if it fails, it is asked again.
func (s *Stage) askEarly(service int) {
	if r := &s.requests[service]; s.services[service].Early && r.Count >= minEarly && s.phase == phaseTurns && s.broke == nil && !s.config.Stepwise {
		e := Effect{Act: ActAsk, Service: service, Wave: s.wave.number, At: s.wave.time, Data: r.Take(), Place: len(s.early), More: true}
		s.early = append(s.early, e)
		s.effect(e)
	}
}

// minEarly is how many requests are worth a message of their own.
const minEarly = 1024

// serviceFailed restores a service for another decision, or gives the scene up. While agents deliberate it
// waits: verify hears of a failure when the service is asked.
func (s *Stage) serviceFailed(in *ActorFailed) error {
	if s.wave == nil {
		return s.errorf("%s failed between two waves: %s", in.Actor, in.Error)
	}
	if s.phase != phaseService {
		s.broke = in
		return nil
	}
	s.failures[in.Actor]++
	n, limit := s.failures[in.Actor], int64(s.scene.Simulation().Limits.MaxRestarts)
	fact := &agenda.ActorFailed{Actor: in.Actor, Error: in.Error, Stack: in.Stack, Failures: n, GivenUp: n > limit}
	s.effect(Effect{Act: ActServiceFailed, Actor: in.Actor, GivenUp: fact.GivenUp})
	s.wave.keep(fact)
	if fact.GivenUp {
		// The open wave has no end in the journal, so the run resumes before it.
		s.stopping = stopping{kept: true, Outcome: Outcome{Reason: agenda.StoppedByFailure,
			Err: s.errorf("%s was given up after %d failures in a row: %s", in.Actor, n, in.Error)}}
		return s.finish()
	}
	s.retry, s.parts = true, nil
	return s.retryService()
}

// retryService restores a failed service from the journal and sends it the requests
// again. It waits until all earlier waves are durable, because the service is
// restored from durable facts only.
func (s *Stage) retryService() error {
	if s.behind() {
		return nil
	}
	s.retry = false
	s.effect(Effect{Act: ActRestartService, Service: s.asked.Service, Actor: s.services[s.asked.Service].Actor})
	s.effects = append(append(s.effects, s.early...), s.asked)
	return nil
}
