package worldstate

import (
	"cmp"
	"fmt"
	"slices"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/protocol"
)

// Prefixes of the world's keys. The second is the specification's; the rest of its keys
// is a path of the world.
const (
	Prefix         = "world."
	PrefixSaveData = statecmd.DefaultPrefix
)

// Machine holds the rules of one world.
type Machine struct {
	plain  world.Machine
	engine *statecmd.Engine
	most   int // bytes of a fact, encoded: what a journal takes
}

// New makes a machine. permissions may be nil.
func New(maxBytes int, permissions *world.Permissions) (*Machine, error) {
	engine, err := statecmd.New(statecmd.Settings{
		Mounts: []statecmd.Mount{
			{Prefix: Prefix, Document: document},
			{Prefix: PrefixSaveData, Document: document, Root: world.P("character", "saveData")},
		},
		MaxDocument: maxBytes, Permissions: permissions,
	})
	return &Machine{world.Machine{Limits: world.Limits{MaxBytes: maxBytes}, Permissions: permissions}, engine, protocol.MaxBytes}, err
}

// Decision is the result of requests.
type Decision struct {
	Facts []protocol.Fact
	Next  State
}

// Decide carries out requests in their order. Without requests it only removes what has
// expired. It changes no state of the caller.
func (m *Machine) Decide(s State, now protocol.Time, requests []Request) Decision {
	d := decider{m: m, now: now, Decision: Decision{Next: s}}
	d.expire()
	for len(requests) > 0 {
		n := 0
		for n < len(requests) && requests[n].Kind == Change {
			n++
		}
		if n > 0 {
			d.changes(requests[:n])
		} else {
			n = 1
			d.special(&requests[0])
		}
		requests = requests[n:]
	}
	return d.Decision
}

type decider struct {
	m   *Machine
	now protocol.Time
	Decision
}

func (d *decider) keep(facts ...protocol.Fact) { d.Facts = append(d.Facts, facts...) }

// expire removes what has expired: promise 2.
func (d *decider) expire() {
	for _, f := range d.Next.leases.Expire(d.now) {
		d.lease(f)
	}
	if at := d.Next.commands.NextExpiry(); at != 0 && at <= d.now {
		dec := d.m.engine.Advance(d.Next.commands, d.now)
		d.keep(dec.Facts...)
		d.Next.commands = dec.Next
	}
}

func (d *decider) lease(f protocol.Fact) {
	d.keep(f)
	d.Next.leases = d.Next.leases.Apply(f)
}

// changes carries out neighbouring plain changes as one commit, or as several where one fact
// would be larger than a journal takes.
func (d *decider) changes(list []Request) {
	for len(list) > 0 {
		n := len(list)
		dec := d.commit(list)
		if d.m.tooLarge(dec.Facts) {
			n = d.m.fitting(list)
			dec = d.commit(list[:n])
		}
		if d.m.tooLarge(dec.Facts) { // a transaction by itself
			for i := range list[:n] {
				d.refuse(&list[i], d.m.errTooLarge("the changes of the transaction"))
			}
		} else {
			d.committed(list[:n], dec)
		}
		list = list[n:]
	}
}

func (d *decider) commit(list []Request) world.Decision {
	c := world.Commit{Now: d.now, Requests: make([]*world.Request, len(list)), Locks: d.Next.locks()}
	for i := range list {
		c.Requests[i] = &list[i].Change
	}
	return d.m.plain.Decide(d.Next.World(), c)
}

func (d *decider) committed(list []Request, dec world.Decision) {
	d.keep(dec.Facts...)
	if n := len(dec.Facts); n > 0 && dec.Next != d.Next.World() {
		committed := dec.Facts[n-1].(*world.Committed)
		d.Next.commands = d.m.engine.Adopt(d.Next.commands, document, committed.Changes, dec.Next)
	}
	d.grant(list, dec.Facts)
}

// tooLarge reports whether no journal takes the commit, which is the last of some facts. What it has beside
// its changes is less than half of the bound.
func (m *Machine) tooLarge(facts []protocol.Fact) bool {
	if len(facts) == 0 {
		return false
	}
	last := facts[len(facts)-1]
	c, _ := CommitOf(last)
	size := 0
	for i := range c.Changes {
		size += sizeOf(&c.Changes[i])
	}
	return size > m.most/2 && len(last.(protocol.Appender).AppendMsg(nil)) > m.most
}

// sizeOf is how many bytes a change takes at most, encoded.
func sizeOf(c *world.Change) int {
	const head = 9 // of a text, a number or a list
	n := 16*head + len(c.Op) + len(c.Value) + len(c.By) + len(c.Request) + len(c.Reason) + len(c.Cause.Trace) + len(c.Cause.Event)
	for i := range c.Path {
		n += head + len(c.Path[i].Key)
	}
	for i := range c.Cause.Chain {
		n += 3*head + len(c.Cause.Chain[i].Agent) + len(c.Cause.Chain[i].Type)
	}
	return n
}

func (m *Machine) errTooLarge(what string) error {
	return &world.Fault{Code: world.CodeLimit, Message: fmt.Sprintf("%s take more than %d bytes, the limit of one fact; make fewer at once", what, m.most)}
}

// fitting is how many of the first requests fit a fact, at least the first with its transaction. It
// divides no transaction.
func (m *Machine) fitting(list []Request) (n int) {
	const head = 64 // of the fact
	for size := head; n < len(list); {
		end := n + 1
		for list[n].Change.Group != "" && end < len(list) && list[end].Change.Group == list[n].Change.Group {
			end++
		}
		for i := range list[n:end] {
			q := &list[n+i].Change
			size += sizeOf(&world.Change{Op: q.Op, Path: q.Path, Value: q.Value, By: q.By, Request: q.ID, Reason: q.Reason, Cause: q.Cause})
		}
		if n > 0 && size > m.most {
			break
		}
		n = end
	}
	return n
}

// grant answers the requests that want an answer also on success.
func (d *decider) grant(list []Request, facts []protocol.Fact) {
	var refused map[string]bool
	for i := range list {
		if !list[i].Always {
			continue
		}
		if refused == nil {
			refused = refusedIn(facts)
		}
		if c := &list[i].Change; !refused[c.ID] {
			d.keep(d.granted(c, string(c.Op), c.Path))
		}
	}
}

func refusedIn(facts []protocol.Fact) map[string]bool {
	ids := map[string]bool{}
	for _, f := range facts {
		if r, ok := f.(*world.Refused); ok {
			ids[r.Request] = true
		}
	}
	return ids
}

func (d *decider) granted(c *world.Request, op string, path world.Path) *Granted {
	return &Granted{Time: d.now, Version: d.Next.World().Version(), Op: op, Path: path, By: c.By, Request: c.ID}
}

// special carries out a request other than a plain change.
func (d *decider) special(q *Request) {
	switch q.Kind {
	case Commands:
		if q.Batch != nil { // always, in requests of tools
			d.batch(q)
		}
	case Lock:
		d.lock(q)
	case Unlock:
		d.unlock(q)
	case Leave:
		if h, ok := d.Next.leases.Of(q.Change.By, d.now); ok {
			d.lease(&lease.Released{Time: d.now, ID: h.ID, Holder: h.Holder})
		}
	}
}

func (d *decider) batch(q *Request) {
	c := &q.Change
	dec := d.m.engine.Decide(d.Next.commands, statecmd.Input{
		Now: d.now, Batch: *q.Batch, BatchID: cmp.Or(q.Batch.Options.BatchID, c.ID), TurnID: cmp.Or(q.Batch.Options.TurnID, q.Turn), By: c.By, Profile: c.Profile, Cause: c.Cause,
		Request: c.ID, Answer: q.Always, Reads: c.Reads, Locks: d.Next.locks(),
	})
	if d.m.tooLarge(dec.Facts) {
		d.refuse(q, d.m.errTooLarge("the changes of the commands"))
		return
	}
	d.keep(dec.Facts...)
	d.Next.commands = dec.Next
}

func (d *decider) lock(q *Request) {
	want := lease.Lease{ID: q.Lease, Holder: q.Change.By, Paths: q.Paths}
	err := d.mayLock(q)
	var f *lease.Leased
	if err == nil {
		f, err = d.Next.leases.Acquire(d.now, want, q.For)
	}
	if err != nil {
		d.refuse(q, err)
		return
	}
	d.lease(f)
}

// mayLock refuses a lease of what its holder may not write, or somebody without rights could keep all others from it.
func (d *decider) mayLock(q *Request) error {
	for _, p := range q.Paths {
		if err := d.m.plain.Permissions.CheckAll(q.Change.Profile, q.Change.By, p); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) unlock(q *Request) {
	f, err := d.Next.leases.Release(d.now, q.Lease, q.Change.By)
	if err != nil {
		d.refuse(q, err)
		return
	}
	d.lease(f)
	if q.Always {
		d.keep(d.granted(&q.Change, string(Unlock), nil))
	}
}

func (d *decider) refuse(q *Request, err error) {
	c := &q.Change
	f := &world.Refused{Time: d.now, Version: d.Next.World().Version(), Op: world.Op(q.Kind), By: c.By, Request: c.ID,
		Code: world.CodeOf(err), Message: err.Error(), Cause: c.Cause}
	if len(q.Paths) > 0 {
		f.Path = q.Paths[0]
	}
	d.keep(f)
}

// ours reports whether commands are on the world and not on an agent's own state: they
// have a request, or they changed the world.
func ours(c *statecmd.Committed) bool {
	return c.Request != "" || slices.ContainsFunc(c.Parts, func(p statecmd.Part) bool { return p.Document == document })
}

// Apply folds a fact of the service; facts of other machines change nothing. An error
// means that the fact does not belong to this state.
func (m *Machine) Apply(s State, f protocol.Fact) (State, error) {
	var err error
	switch x := f.(type) {
	case *world.Committed:
		s.commands, err = m.engine.ApplyWorld(s.commands, document, x)
	case *statecmd.Committed:
		if !ours(x) {
			return s, nil
		}
		s.commands, err = m.engine.Apply(s.commands, x)
	case *lease.Leased, *lease.Released:
		s.leases = s.leases.Apply(x)
	}
	return s, err
}
