package links_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/links"
	"tavernsim/scenes/machines"
)

const start = protocol.Time(1000)

// place is a scene that does nothing but send somebody on at some of its times. In its last wave it
// tells others something.
type place struct {
	id      string
	member  *links.Member
	state   travel.State
	links   []travel.Link
	events  []protocol.Time // of waves without letters
	mailbox []*machines.Order
	letters []*machines.Order // seen
	now     protocol.Time
	end     protocol.Time // its last wave has this time in the place of a later one; 0 = when nothing can come
	stops   uint64        // its last wave comes behind so many, at their time; 0 = end says when
	again   bool          // a wave of the same time follows
	quiet   *bool         // a place has ended that had nothing to do any more: letters may come late
	asked   bool          // it may ask May
	wave    uint64
	durable uint64
	ends    bool // it waits for the disk
	over    bool
	history string
}

func (p *place) join() {
	p.member.Join(&p.state, links.Port{
		Start: start, Now: p.now, End: p.end, Ask: func() { p.asked = true },
		Tell: func(o *machines.Order) (bool, error) { p.mailbox = append(p.mailbox, o); return true, nil },
		Who:  func(o uint32) cast.Member { return cast.Member{Instance: fmt.Sprint(o), Profile: "p"} },
	})
	p.asked = true
}

func (p *place) keep(t *rapid.T, f travel.Fact) {
	if err := p.state.Apply(f); err != nil {
		t.Fatal(err)
	}
	p.member.Kept(p.wave, f)
}

// next is the time of the next wave, and whether it is the last; 0 = there is nothing to do.
func (p *place) next() (at protocol.Time, last bool) {
	switch {
	case p.stops != 0 && p.wave >= p.stops:
		return p.now, true
	case p.again:
		return p.now, false
	case len(p.events) > 0:
		at = p.events[0]
	}
	for _, o := range p.letters {
		if x := start.Add(o.After); at == 0 || x < at {
			at = x
		}
	}
	if p.end != 0 && at >= p.end {
		return max(p.end, p.now), true
	}
	return at, at == 0
}

// step asks for a wave and carries it out. One for a letter that is due it does not ask for, as the stage.
func (p *place) step(t *rapid.T) {
	p.asked = true
	if p.due(t, p.now) {
		return
	}
	at, last := p.next()
	if p.asked = p.member.May(at); !p.asked {
		return
	}
	if at != 0 && at < p.now {
		t.Fatalf("%s wants a wave for %d at %d", p.id, at, p.now)
	}
	p.now = max(p.now, at)
	if !last && p.due(t, at) {
		return
	}
	p.wave++
	p.history += fmt.Sprintf("%d %v\n", p.now, last)
	switch {
	case last:
		*p.quiet = *p.quiet || at == 0
		p.ends = true
		p.send(t, true)
		p.stop()
		return
	case p.again:
		p.again = false
	default:
		p.events = p.events[1:]
		p.again = at%4 == 0
	}
	if at%3 != 0 {
		p.send(t, at%3 == 2)
	}
}

// due carries out the first letter for a time or an earlier one; false = there is none.
func (p *place) due(t *rapid.T, at protocol.Time) bool {
	i := -1
	for k, o := range p.letters {
		if start.Add(o.After) <= at && (i < 0 || machines.CompareLetters(o.After, o.ID, p.letters[i].After, p.letters[i].ID) < 0) {
			i = k
		}
	}
	if i < 0 {
		return false
	}
	if x := start.Add(p.letters[i].After); x < p.now && !*p.quiet {
		t.Fatalf("promise 1: %s has a letter for %d at %d", p.id, x, p.now)
	}
	p.wave++
	p.read(t, p.letters[i])
	p.letters = slices.Delete(p.letters, i, i+1)
	return true
}

// send sends somebody on, or a parcel.
func (p *place) send(t *rapid.T, parcel bool) {
	if len(p.links) == 0 {
		return
	}
	l := p.links[int(p.now)%len(p.links)]
	f := &travel.Departed{To: l.To, Agent: uint32(p.now), State: protocol.Encode(nil)}
	f.Arrives, f.Answer = l.Times(p.now)
	f.Number, f.Closed = p.state.Next(l.To)
	if parcel {
		p.keep(t, &travel.Posted{To: f.To, Number: f.Number, Arrives: f.Arrives, Answer: f.Answer, Closed: f.Closed, Parcel: []travel.Item{{Kind: "told"}}})
		return
	}
	p.keep(t, f)
}

// stop ends the scene once everything is durable.
func (p *place) stop() {
	if p.ends && !p.over && p.durable == p.wave {
		p.over = true
		p.member.Stopped(true, &p.state)
	}
}

func (p *place) read(t *rapid.T, o *machines.Order) {
	p.member.Kept(p.wave, &agenda.Intervened{ID: o.ID})
	plan, err := order.Read(o.ID, "", o.Do)
	if err != nil || plan.Letter == nil {
		t.Fatal(err)
	}
	l := plan.Letter
	p.history += fmt.Sprintf("%d %s %s\n", p.now, o.ID, l.Error)
	switch mail := p.state.Posted(l.Scene, l.Number); {
	case l.Kind == travel.Arrive && l.Parcel != nil:
		p.keep(t, &travel.Received{From: l.Scene, Number: l.Number, Closed: l.Closed})
	case l.Kind != travel.Arrive && mail != nil:
		p.keep(t, &travel.Delivered{To: l.Scene, Number: l.Number, Error: l.Error})
	case l.Kind == travel.Arrive:
		if l.Number%4 == 0 {
			p.keep(t, &travel.TurnedAway{From: l.Scene, Number: l.Number, Closed: l.Closed, Error: "full"})
		} else {
			p.keep(t, &travel.Arrived{From: l.Scene, Number: l.Number, Closed: l.Closed})
		}
	case l.Kind == travel.Reach:
		p.keep(t, &travel.Reached{To: l.Scene, Number: l.Number})
		p.send(t, true) // what an answer makes a scene do is told others, too
	case l.Kind == travel.Return:
		p.keep(t, &travel.Returned{To: l.Scene, Number: l.Number})
		p.send(t, true)
	}
}

// Promises 1 to 4: whatever the order in which scenes go on and waves become durable, letters
// come in time and once, the scenes come to their ends, some before others, and each has the same
// waves, and tells the same at its end.
func TestInStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "scenes")
		all := map[string][]travel.Link{}
		for i := range n {
			for k := range n {
				if i != k && (k == (i+1)%n || rapid.Bool().Draw(t, "link")) {
					id := fmt.Sprint("s", i)
					all[id] = append(all[id], travel.Link{To: fmt.Sprint("s", k), Travel: protocol.Duration(time.Duration(rapid.IntRange(1, 20).Draw(t, "travel")))})
				}
			}
		}
		var events [][]protocol.Time
		ends, stops := make([]protocol.Time, n), make([]uint64, n)
		for i := range n {
			switch rapid.IntRange(0, 3).Draw(t, "ends") {
			case 0:
				ends[i] = start + protocol.Time(rapid.IntRange(1, 90).Draw(t, "end"))
			case 1:
				stops[i] = uint64(rapid.IntRange(1, 8).Draw(t, "stops"))
			}
			at, list := start, []protocol.Time(nil)
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				at += protocol.Time(rapid.IntRange(1, 15).Draw(t, "after"))
				list = append(list, at)
			}
			events = append(events, list)
		}
		want := ""
		for range 2 {
			got := played(t, all, events, ends, stops)
			if want == "" {
				want = got
			} else if got != want {
				t.Fatalf("%s\nwant\n%s", got, want)
			}
		}
	})
}

func played(t *rapid.T, all map[string][]travel.Link, events [][]protocol.Time, ends []protocol.Time, stops []uint64) (history string) {
	hub, quiet := links.New(all), false
	var places []*place
	for i, list := range events {
		p := &place{id: fmt.Sprint("s", i), events: list, now: start, end: ends[i], stops: stops[i], quiet: &quiet, links: all[fmt.Sprint("s", i)]}
		p.member = hub.Of(p.id)
		places = append(places, p)
	}
	for _, p := range places {
		p.join()
	}
	for idle := 0; idle < 1000; {
		if !slices.ContainsFunc(places, func(p *place) bool { return !p.over }) {
			break
		}
		p := places[rapid.IntRange(0, len(places)-1).Draw(t, "who")]
		idle++
		switch act := rapid.IntRange(0, 2).Draw(t, "act"); {
		case act == 0 && p.durable < p.wave:
			p.durable++
			p.member.WaveKept(p.durable)
			p.stop()
			idle = 0
		case act == 1 && len(p.mailbox) > 0 && !p.ends:
			o := p.mailbox[0]
			p.mailbox = p.mailbox[1:]
			p.member.Seen(o.ID)
			p.letters, p.asked, idle = append(p.letters, o), true, 0
		case act == 2 && p.asked && !p.ends:
			p.step(t)
			idle = 0
		}
	}
	for _, p := range places {
		if !p.over {
			t.Fatalf("promise 3: %s stands at %d", p.id, p.now)
		}
		for _, x := range p.state.Open {
			p.mayLeave(t, "a ticket", x.Answer)
		}
		for _, x := range p.state.Mail {
			p.mayLeave(t, "a parcel", x.Answer)
		}
		for _, o := range slices.Concat(p.mailbox, p.letters) {
			p.mayLeave(t, o.ID, start.Add(o.After))
		}
		history += p.id + "\n" + p.history
	}
	return history
}

// mayLeave holds that nothing is left but what was for a time behind the end, or for the time limit.
func (p *place) mayLeave(t *rapid.T, what string, at protocol.Time) {
	if at < p.now || at == p.now && p.now != p.end {
		t.Fatalf("promise 2: %s has left %s for %d and ended at %d", p.id, what, at, p.now)
	}
}

// A scene that is linked to none has no place, and a run without links no hub.
func TestNoLinks(t *testing.T) {
	none := links.New(nil)
	if none.Of("s") != nil {
		t.Error("a scene of a run without links is linked")
	}
	none.Ended("s", &travel.State{}, nil)
	if links.New(map[string][]travel.Link{"a": {{To: "b", Travel: 1}}}).Of("c") != nil {
		t.Error("a scene without links is linked")
	}
}

// Letters of one moment that are told again come in their order, whoever answered: a scene that
// was stopped between them carries out the first one as soon as it has it.
func TestToldAgainInOrder(t *testing.T) {
	second := protocol.Duration(time.Second)
	h := links.New(map[string][]travel.Link{"town": {{To: "inn", Travel: second}}, "inn": {{To: "mill", Travel: second}}})
	at := start.Add(5 * time.Second)
	var told []string
	join := func(id string, state travel.State) {
		h.Of(id).Join(&state, links.Port{Start: start, Now: start, Ask: func() {}, Who: func(uint32) cast.Member { return cast.Member{Instance: "ada", Profile: "p"} },
			Tell: func(o *machines.Order) (bool, error) { told = append(told, id+" "+o.ID); return true, nil }})
	}
	join("inn", travel.State{Sent: []travel.Sent{{To: "mill", Last: 2}}, Open: []travel.Trip{{To: "mill", Number: 2, Arrives: at.Add(-time.Second), Answer: at}, {To: "mill", Number: 1, Arrives: at.Add(-time.Second), Answer: at}}})
	join("mill", travel.State{Taken: []travel.Taken{{From: "inn", Last: 2, Refused: []travel.Refused{{Number: 1, Error: "full"}}}}})
	join("town", travel.State{Sent: []travel.Sent{{To: "inn", Last: 1}}, Open: []travel.Trip{{To: "inn", Number: 1, Arrives: at, Answer: at.Add(time.Second)}}})
	if want := []string{"inn $travel/reach/mill/2", "inn $travel/arrive/town/1", "inn $travel/return/mill/1"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
