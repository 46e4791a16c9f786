package order

import (
	"slices"
	"strconv"

	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/script"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// maxTargets is how many receivers the channel takes for one event.
const maxTargets = 10_000

// maxFailed bounds the text of a change that cannot be, in bytes.
const maxFailed = 2 << 10

// Aim puts instance ids in the place of the selectors of a plan, and the publisher. An
// event to more agents than an event may have is several.
func (p *Plan) Aim(sc script.Cast, source string) error {
	var events []protocol.Draft
	for i := range p.Events {
		d := p.Events[i]
		d.Source = source
		to, err := targets(sc, d.Targets)
		if err != nil {
			return err
		}
		for first := true; first || len(to) > 0; first = false {
			n := min(len(to), maxTargets)
			d.Targets, to = to[:n:n], to[n:]
			events = append(events, d)
		}
	}
	p.Events = events
	return nil
}

// Empty says which place nobody is in whose agents an event is for; "" = none.
func (p *Plan) Empty(sc script.Cast) string {
	for i := range p.Events {
		for _, text := range p.Events[i].Targets {
			one, err := cast.Parse(text)
			if place, by := one.Place(); err == nil && by && len(sc.Members(cast.Selectors{one})) == 0 {
				return "nobody is in the place " + place
			}
		}
	}
	return ""
}

// targets are the instance ids of selectors, in their order, each once.
func targets(sc script.Cast, selectors []string) (ids []string, err error) {
	seen := map[uint32]bool{}
	for _, text := range selectors {
		one, err := cast.Parse(text)
		if err != nil {
			return nil, err
		}
		found, err := meant(sc, one)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if !seen[o] {
				seen[o], ids = true, append(ids, sc.Name(o))
			}
		}
	}
	return ids, nil
}

// meant are the agents of a selector: the channel decides about one that is named and is away.
func meant(sc script.Cast, one cast.Selector) (found []uint32, err error) {
	if id, named := one.Instance(); !named {
		found = sc.Members(cast.Selectors{one})
	} else if o, ok := sc.Ordinal(id); ok && int(o) < sc.Size() {
		found = []uint32{o}
	}
	if len(found) == 0 {
		return nil, protocol.Errorf(protocol.KindNotFound, "the scene has no agent %s", one)
	}
	return found, nil
}

// Setting is a scene that is not asked how it stands.
type Setting interface {
	script.Cast
	Cast
}

// Asker is who asks for changes that are no order.
type Asker struct {
	By     string // as the world says it
	Source string // of events
}

// Requests are those to the world, to space and to the channel that changes come to, and the changes of
// the stage. A change that cannot be is among the failed, and the others go on. All changes
// of the world are one transaction, but for those behind the first [MaxChanges]. Changes of
// the script are not among them.
func Requests(sc Setting, who Asker, id string, list []script.Request) (effects []protocol.Sequenced, stage []Change, failed []*script.Failed) {
	for n := 0; len(list) > 0; n++ {
		part := list[:min(len(list), MaxChanges)]
		list = list[len(part):]
		p := plan(sc, who, id+"."+strconv.Itoa(n), part, &failed)
		for i := range p.later {
			effects = append(effects, protocol.Sequenced{To: cast.Stage, Data: p.later[i].AppendMsg(nil)})
		}
		for i, c := range p.Stage {
			q := &cast.Request{ID: numbered(id+"."+strconv.Itoa(n), i), By: who.By, Reason: "script"}
			switch x := c.(type) {
			case *Move:
				effects = append(effects, sequenced(x.requests(sc, q))...)
			case asking:
				list, err := x.requests(sc, q)
				if err != nil { // it was checked
					return nil, nil, []*script.Failed{{Where: q.ID, Error: protocol.Short(err.Error(), maxFailed)}}
				}
				effects = append(effects, list...)
			default:
				stage = append(stage, c)
			}
		}
		for i := range p.World {
			effects = append(effects, protocol.Sequenced{To: worldstate.Service, Data: p.World[i].AppendMsg(nil)})
		}
		for i := range p.Events {
			effects = append(effects, protocol.Sequenced{To: bus.Service, Data: p.Events[i].AppendMsg(nil)})
		}
	}
	return effects, stage, failed
}

func plan(sc Setting, who Asker, id string, list []script.Request, failed *[]*script.Failed) *Plan {
	r := reader{by: who.By, id: id, reason: "script", schemas: map[string]*bind.Schema{}}
	for _, q := range list {
		before := r.plan
		err := r.change(0, q.Change)
		one := Plan{Events: r.plan.Events[len(before.Events):]}
		if err == nil {
			err = one.Aim(sc, who.Source)
		}
		later := before.later
		for _, c := range r.plan.Stage[len(before.Stage):] {
			switch {
			case err != nil:
			case ComesOrGoes(c): // whether it can be is decided then
				later = append(slices.Clip(later), cast.Request{ID: numbered(id, len(later)), By: who.By, Do: protocol.Encode([]any{q.Change})})
				r.plan.Stage = before.Stage
			default:
				err = c.Check(sc)
			}
		}
		if err != nil {
			r.plan = before
			if q := refused(q.Change, numbered(id, len(r.plan.later)), who.By, err); q != nil {
				r.plan.later = append(slices.Clip(r.plan.later), *q)
			}
			*failed = append(*failed, &script.Failed{Where: q.Where, Error: protocol.Short(err.Error(), maxFailed)})
			continue
		}
		r.plan.Events, r.plan.later = append(slices.Clip(before.Events), one.Events...), later
	}
	return &r.plan
}
