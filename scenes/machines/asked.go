package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/packed"
)

// asking is what the services are asked in the open wave, and how they answer. They decide one after the other, in the
// order of [Services].
type asking struct {
	services []ServiceKind
	requests []packed.Requests   // by service: those that it was not sent
	early    []Effect            // requests that a service has before the others
	last     Effect              // the requests to the service that decides now
	parts    []protocol.KindData // of its answer
	broke    *ActorFailed        // of a service, while agents deliberate; nil = none did
	failures map[string]int64    // of services, in a row
	retry    bool                // the service that decides failed, and decides again after it is restored
}

func newAsking() asking {
	kinds := Services()
	return asking{services: kinds, requests: make([]packed.Requests, len(kinds)), failures: map[string]int64{}}
}

// of is the place of a service; -1 = there is none of that name.
func (a *asking) of(name string) int {
	return slices.IndexFunc(a.services, func(k ServiceKind) bool { return k.Name == name })
}

// first puts a request before those that turns made.
func (a *asking) first(service string, request protocol.Raw) {
	a.requests[a.of(service)].AddFirst(request)
}

// minEarly is how many requests are worth a message of their own.
const minEarly = 1024

// sendEarly sends a service that decides while agents deliberate what it is asked so far; false = that is nothing yet.
// The requests are kept until it has answered: if it fails, it is asked again.
func (a *asking) sendEarly(i int, e Effect) (Effect, bool) {
	r := &a.requests[i]
	if !a.services[i].Early || r.Count < minEarly || a.broke != nil {
		return e, false
	}
	e.Act, e.Service, e.Data, e.Place, e.More = ActAsk, i, r.Take(), len(a.early), true
	a.early = append(a.early, e)
	return e, true
}

// next is the first service with something to decide; -1 = all have decided.
func (a *asking) next(due func(name string) bool) int {
	for i := range a.services {
		if k := &a.services[i]; due(k.Name) || a.requests[i].Count > 0 || a.broke != nil && a.broke.Actor == k.Actor() || len(a.early) > 0 && a.early[0].Service == i {
			return i
		}
	}
	return -1
}

// send asks a service for its decision. failure is why it cannot decide; nil = it can.
func (a *asking) send(i int, e Effect) (sent Effect, failure *ActorFailed) {
	e.Act, e.Service, e.Data, e.Place = ActAsk, i, a.requests[i].Take(), len(a.early)
	if a.last = e; a.broke != nil && a.broke.Actor == a.actor() {
		failure, a.broke = a.broke, nil
	}
	return e, failure
}

// actor is that of the service that decides.
func (a *asking) actor() string { return a.services[a.last.Service].Actor() }

// answered takes a part of an answer; false = it was not the last one. No fact is kept before, because a
// service that fails in between decides anew.
func (a *asking) answered(in *ServiceAnswered) (facts []protocol.KindData, all bool) {
	if a.parts = append(a.parts, in.Facts...); in.More {
		return nil, false
	}
	facts, a.parts = a.parts, nil
	delete(a.failures, a.actor())
	a.last.Data, a.early = nil, nil
	return facts, true
}

// failed counts a failure of a service, in a row.
func (a *asking) failed(actor string) int64 {
	a.retry, a.parts = true, nil
	a.failures[actor]++
	return a.failures[actor]
}

// serviceFailed restores a service for another decision, or gives the scene up. While agents deliberate it
// waits: verify hears of a failure when the service is asked.
func (s *Stage) serviceFailed(in *ActorFailed) error {
	if s.wave == nil {
		return s.errorf("%s failed between two waves: %s", in.Actor, in.Error)
	}
	if s.phase != phaseService {
		s.asking.broke = in
		return nil
	}
	n, limit := s.asking.failed(in.Actor), int64(s.scene.Simulation().Limits.MaxRestarts)
	fact := &agenda.ActorFailed{Actor: in.Actor, Error: in.Error, Stack: in.Stack, Failures: n, GivenUp: n > limit}
	s.effect(Effect{Act: ActServiceFailed, Actor: in.Actor, GivenUp: fact.GivenUp})
	s.wave.keep(fact)
	if fact.GivenUp {
		// The open wave has no end in the journal, so the run resumes before it.
		return s.fail(agenda.StoppedByFailure, s.errorf("%s was given up after %d failures in a row: %s", in.Actor, n, in.Error))
	}
	return s.retryService()
}

// retryService restores a failed service from the journal and sends it the requests
// again. It waits until all earlier waves are durable, because the service is
// restored from durable facts only.
func (s *Stage) retryService() error {
	a := &s.asking
	if s.behind() {
		return nil
	}
	a.retry = false
	s.effect(Effect{Act: ActRestartService, Service: a.last.Service, Actor: a.actor()})
	s.effects = append(append(s.effects, a.early...), a.last)
	return nil
}
