package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// playSeries count what leads a scene beside its agents: orders, people, the script, the order
// of turns, and who comes and goes.
type playSeries struct {
	orders      cache[string, closed]
	questions   closed
	script      closed
	answers     closed
	collections closed
	turns       closed
	rounds      prometheus.Counter
	presence    closed
}

// What became of orders.
const (
	OrderDone     = "done"
	OrderRefused  = "refused"  // by the scene, as a whole
	OrderInvalid  = "invalid"  // nobody could carry it out
	OrderConflict = "conflict" // another one has its id, its wave has passed, or the scene has stopped
	OrderBusy     = "busy"
)

func (s *Set) makePlays() {
	s.area = "plays"
	p := &s.plays
	orders := s.counter("orders_total", "Orders from outside, by their kind of change (several: of more than one) and what became of them. An order that comes again is not counted.", "kind", "outcome")
	p.orders = closedBy(s, "kind", orders, []string{OrderDone, OrderRefused, OrderInvalid, OrderConflict, OrderBusy, "failed"})
	for _, kind := range order.Kinds() {
		p.orders.get(kind)
	}
	p.questions = newClosed(s.counter("questions_total", "Questions to people that ended, by how; those that a turn waits for are calls of PanelAskTool. headless: nobody can be asked in this run; error: more are open than an agent may have.", "outcome"),
		[]string{tooltask.Answered, tooltask.TimedOut, tooltask.Dismissed, tooltask.ByHeadless, "error"})
	p.script = newClosed(s.counter("script_steps_total", "What scripts of scenes did: states entered, schedules fired, actions that failed.", "step"),
		lastWords(script.FactEntered, script.FactFired, script.FactFailed))
	p.collections = newClosed(s.counter("collections_closed_total", "Collections of scripts that were closed, by why.", "why"), script.Closings())
	p.answers = newClosed(s.counter("collection_answers_total", "Answers to collections of scripts.", "outcome"), lastWords(script.FactAnswered, script.FactRefused))
	p.rounds = s.one("rounds_total", "Rounds of an order of turns that began.")
	p.turns = newClosed(s.counter("turns_total", "Turns of an order of turns: given to an agent, taken away from one before it used them all, not given in time by a director.", "outcome"),
		lastWords(turns.FactGranted, turns.FactForfeited, turns.FactStalled))
	p.presence = newClosed(s.counter("agent_presence_total", "Agents that came and left, and what became of trips between scenes.", "change"),
		lastWords(agenda.FactSpawned, agenda.FactRemoved, travel.FactDeparted, travel.FactReached, travel.FactReturned, travel.FactArrived, travel.FactTurnedAway))
}

// Ordered counts an order from outside; kind is as of order.Kind.
func (s *Set) Ordered(kind, outcome string) { s.plays.orders.get(kind).inc(outcome) }

// OrderFailed counts an order that its scene did not take.
func (s *Set) OrderFailed(o *agenda.Intervened, err error) {
	outcome := "failed"
	switch protocol.KindOf(err) {
	case protocol.KindInvalid, protocol.KindNotFound, protocol.KindDenied:
		outcome = OrderInvalid
	case protocol.KindConflict:
		outcome = OrderConflict
	case protocol.KindTransient, protocol.KindLimit:
		outcome = OrderBusy
	}
	s.Ordered(order.Kind(o.Do), outcome)
}

// lastWords are label values: the kinds of facts without what stands before the dot.
func lastWords(kinds ...string) (words []string) {
	for _, k := range kinds {
		words = append(words, lastWord(k))
	}
	return words
}

func lastWord(kind string) string { return kind[strings.LastIndexByte(kind, '.')+1:] }

func (s *Set) scripted(f script.Fact) {
	p := &s.plays
	switch x := f.(type) {
	case *script.Entered, *script.Fired, *script.Failed:
		p.script.inc(lastWord(f.FactKind()))
	case *script.Answered, *script.Refused:
		p.answers.inc(lastWord(f.FactKind()))
	case *script.Closed:
		p.collections.inc(x.Why)
	case *script.Set, *script.Opened, *script.Outcome: // simd_scene_facts_total counts them
	}
}

func (s *Set) inTurn(f turns.Fact) {
	p := &s.plays
	switch x := f.(type) {
	case *turns.Began:
		p.rounds.Inc()
	case *turns.Granted:
		p.turns.of(lastWord(x.FactKind())).Add(float64(int64(len(x.Agents)) * x.Turns))
	case *turns.Forfeited:
		p.turns.of(lastWord(x.FactKind())).Add(float64(len(x.Agents)))
	case *turns.Stalled:
		p.turns.inc(lastWord(x.FactKind()))
	case *turns.Ended: // its beginning is counted
	}
}

// settled counts the end of a task that was a question to a person.
func (s *Set) settled(f tooltask.Fact) {
	switch x := f.(type) {
	case *tooltask.Ended:
		v, is := x.Result()
		if !is {
			return
		}
		how, _ := v["status"].(string)
		if v["by"] == tooltask.ByHeadless {
			how = tooltask.ByHeadless
		}
		s.plays.questions.inc(how)
	case *tooltask.Cancelled:
		if tooltask.AsksPeople(x.Tool) {
			s.plays.questions.inc(tooltask.Dismissed)
		}
	case *tooltask.Opened, *tooltask.Sent, *tooltask.Uncharged, *tooltask.Refused, *tooltask.Reported, *tooltask.TakenOver, *tooltask.Released:
	}
}
