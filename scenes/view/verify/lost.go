package verify

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// handLost gives the stage a turn that cannot be decided again, as it was recorded.
// What it asked for is known only where it was held back: else the facts of the
// services in this wave are taken as well, and those of the stage that came of it (see trace).
func (v *verifier) handLost(t *turn) error {
	if len(t.records) == 0 {
		r, _ := v.peek(0)
		return v.differs(v.made.Name(t.agent)+" left no facts", &r, nil)
	}
	var facts []protocol.KindData
	for _, r := range t.records {
		facts = append(facts, protocol.KindData{Kind: r.Kind, Data: r.Data})
	}
	requests := t.held
	if t.blind {
		requests = v.askedFor()
		v.lost = true
	}
	v.taken = TakenLost
	err := v.ended(t, t.records[0].Time, facts, requests)
	v.taken = ""
	return err
}

// askedFor is a request, with nothing in it, to every service that has facts in the
// rest of the wave: so the stage asks it.
func (v *verifier) askedFor() (requests []protocol.Sequenced) {
	seen := map[string]bool{}
	for i := 0; ; i++ {
		r, ok := v.peek(i)
		if seen[r.Actor] = true; !ok || r.Kind == agenda.FactWaveClosed {
			break
		}
	}
	for _, k := range machines.Services() {
		if seen[k.Actor()] {
			requests = append(requests, protocol.Sequenced{To: k.Name})
		}
	}
	return requests
}

// refused: the stage had no room for what the turn asked for.
func (t *turn) refused() bool {
	return slices.ContainsFunc(t.came, func(f protocol.Fact) bool { return f.FactKind() == agenda.FactNoRoom })
}

// told is a fact of the stage in the rest of the wave.
type told struct {
	fact protocol.Fact
	seq  uint64
}

// tracing finds out what came of the requests of lost turns.
type tracing struct {
	*verifier
	list   []turn
	told   []told
	last   bool            // it is the last wave, in which nothing is held back for its latency
	denied map[string]bool // ids of requests that were refused

	known   []cast.Request // to the stage, of turns that are decided again, in this wave
	skip    map[string]int // facts that come of such requests, by who asked and kind, where a fact names no request
	crowded map[string]int // refusals that the stage decides, of requests that were held back until now, by agent
}

// trace gives each lost turn the facts of the stage that came of its requests: of a director's, what they
// changed; of anybody's, that there was no room for them. How much a lost turn asked for is not known either, so
// a turn behind it may be refused that would have had room.
func (v *verifier) trace(list []turn) error {
	if len(list) == 0 || !v.lost && !slices.ContainsFunc(list, func(t turn) bool { return t.lost }) {
		return nil
	}
	x := &tracing{verifier: v, list: list, denied: map[string]bool{}, skip: map[string]int{}, crowded: map[string]int{}}
	if err := x.read(); err != nil {
		return err
	}
	if err := x.joined(); err != nil {
		return err
	}
	lossy := v.lost
	for i := range list {
		t := &list[i]
		if len(t.records) == 0 {
			continue
		}
		end, err := endOf(t.records[len(t.records)-1], v.codec)
		if err != nil {
			return err
		}
		x.roomOf(t, lossy)
		if end != nil {
			t.number = end.Turn
		}
		now := end == nil || x.atOnce(end) && end.Outcome != agentfact.OutcomeInterrupted // else it is held back, or nothing
		t.blind = t.lost && now && !t.refused()
		lossy = lossy || t.blind
	}
	for i := range list {
		if list[i].blind {
			x.directed(&list[i])
		}
	}
	return nil
}

// read reads the facts of the stage ahead, up to the end of the wave.
func (x *tracing) read() error {
	for i := 0; ; i++ {
		r, ok := x.peek(i)
		if !ok || r.Kind == agenda.FactWaveClosed {
			return nil
		}
		if r.Actor != setup.ActorScene {
			continue
		}
		f, err := x.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		if q, is := f.(*agenda.ChangeRefused); is {
			x.denied[q.ID] = true
		}
		x.last = x.last || r.Kind == agenda.FactEnded
		x.told = append(x.told, told{f, r.Seq})
	}
}

// joined notes the requests of the wave that are known: those that were held back until now, and had room, and those
// of turns that are decided again.
func (x *tracing) joined() error {
	used := 0
	if x.made.Clock != agenda.Realtime {
		for _, d := range x.state.Agenda.DeferredBy(x.list[0].wake.At) {
			name := x.made.Name(d.Agent)
			size, fits := machines.Fits(x.made, used, d.Agent, d.Effects)
			if !fits {
				x.crowded[name]++
				continue
			}
			used += size
			if err := x.knows(d.Effects, true); err != nil {
				return err
			}
		}
	}
	for i := range x.list {
		if t := &x.list[i]; !t.lost && t.end != nil && x.atOnce(t.end) {
			if err := x.knows(t.requests, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// atOnce: what the turn asked for was not held back.
func (x *tracing) atOnce(end *agentfact.TurnEnded) bool { return end.Elapsed <= 0 || x.last }

func (x *tracing) knows(requests []protocol.Sequenced, held bool) error {
	for _, r := range requests {
		if r.To != cast.Stage {
			continue
		}
		q, err := cast.ReadRequest(r.Data)
		if err != nil {
			return err
		}
		if x.denied[q.ID] {
			continue
		}
		x.known = append(x.known, *q)
		switch kind := order.Kind(q.Do); {
		case !held: // the turn of its agent is none of those that are lost
		case kind == cast.Turn:
			x.skip[q.By+turns.FactGranted]++
		case kind == "set":
			x.skip[q.By+script.FactSet]++
		}
	}
	return nil
}

// roomOf finds the refusal of a turn whose requests had no room.
func (x *tracing) roomOf(t *turn, lossy bool) {
	name, passed := x.made.Name(t.agent), 0
	for _, f := range x.told {
		no, is := f.fact.(*agenda.EffectsRefused)
		if !is || no.By != name {
			continue
		}
		if int(t.agent) == x.made.OwnOrdinal() {
			return // it always has room
		}
		if passed++; passed <= x.crowded[name] || no.Limit != int64(x.made.Simulation().Limits.MaxWaveBytes) {
			continue
		}
		size, _ := machines.Fits(x.made, 0, t.agent, t.requests)
		if t.lost || lossy && no.Requests == int64(len(t.requests)) && no.Bytes == int64(size) {
			t.requests = nil
			x.take(t, f, no)
		}
		return
	}
}

// directed finds what came of the requests of a director's lost turn to the stage.
func (x *tracing) directed(t *turn) {
	name := x.made.Name(t.agent)
	if !x.made.May(name, cast.Direct) {
		return
	}
	id := name + "/" + strconv.FormatUint(t.number, 10) + "."
	for i, f := range x.told {
		if o, is := f.fact.(*script.Outcome); is && x.ends(t, i, o) {
			x.take(t, f, o)
			continue
		}
		by, request, named := asker(f.fact)
		switch {
		case by != name || named && !strings.HasPrefix(request, id):
		case !named && x.skip[by+f.fact.FactKind()] > 0:
			x.skip[by+f.fact.FactKind()]--
		case f.fact.FactKind() == turns.FactBegan && x.skip[by+turns.FactGranted] > 0:
		default:
			x.take(t, f, x.stays(f.fact))
		}
	}
}

func (x *tracing) take(t *turn, f told, came protocol.Fact) {
	t.came = append(t.came, came)
	if x.takes == nil {
		x.takes = map[uint64]bool{}
	}
	x.takes[f.seq] = true
}

// asker is the director of whose request a fact came, and the request, if the fact names it. TestScripts of package
// scenes, which walks through each script once more with lost turns, finds a kind that is missing here.
func asker(f protocol.Fact) (by, id string, named bool) {
	switch x := f.(type) {
	case *agenda.Rested:
		return x.By, x.ID, true
	case *agenda.RestEnded:
		return x.By, x.ID, true
	case *agenda.Spawned:
		return x.By, x.ID, true
	case *agenda.Removed:
		return x.By, x.ID, true
	case *agenda.ChangeRefused:
		return x.By, x.ID, true
	case *travel.Departed:
		return x.By, x.ID, true
	case *turns.Began:
		return x.By, "", false
	case *turns.Granted:
		return x.By, "", false
	case *script.Set:
		return machines.ByDirector(x.Why), "", false
	case *script.Entered:
		return machines.ByDirector(x.Why), "", false
	}
	return "", "", false
}

// stays is the trip of an agent that was sent away and could not leave, as its refusal tells: the stage decides that
// when it knows the agent's state. Other facts are themselves.
func (x *tracing) stays(f protocol.Fact) protocol.Fact {
	no, is := f.(*agenda.ChangeRefused)
	if !is {
		return f
	}
	id, _, goes := strings.Cut(no.Error, machines.CannotLeave)
	o, known := x.made.Ordinal(id)
	v, err := no.Do.Value()
	if list, ok := v.([]any); goes && known && err == nil && ok && len(list) == 1 {
		m, _ := list[0].(map[string]any)
		if trip, ok := m[cast.Travel].(map[string]any); ok && trip["agents"] == id {
			to, _ := trip["to"].(string)
			return &travel.Departed{To: to, Agent: o, ID: no.ID, By: no.By}
		}
	}
	return f
}

// ends: the outcome that the scene has is what a lost turn gave. It names nobody. The script gives none without
// another fact of it in the wave, and after a director's it decides nothing.
func (x *tracing) ends(t *turn, at int, o *script.Outcome) bool {
	if !o.Ends || x.isGiven(agenda.FactEnded) || slices.ContainsFunc(x.known, func(q cast.Request) bool { return order.Kind(q.Do) == "end" }) {
		return false
	}
	for i, f := range x.told {
		if _, of := f.fact.(script.Fact); of && i != at {
			return false
		}
	}
	return x.after(at) == t
}

// after is the first lost turn of a director that is not before the turns that the facts before one came of.
func (x *tracing) after(at int) *turn {
	from := 0
	for _, f := range x.told[:at] {
		by, _, _ := asker(f.fact)
		if i := slices.IndexFunc(x.list, func(t turn) bool { return x.made.Name(t.agent) == by }); i > from {
			from = i
		}
	}
	for i := from; i < len(x.list); i++ {
		if t := &x.list[i]; t.blind && x.made.May(x.made.Name(t.agent), cast.Direct) {
			return t
		}
	}
	return nil
}
