package block

import (
	"slices"
	"time"

	"tavernsim/protocol"
)

// Spent is what calls took that executors carried out.
type Spent struct {
	Calls int64
	Time  time.Duration
	Bytes int64
	Cost  int64 // in nano-dollars
}

// Plus is the sum.
func (s Spent) Plus(o Spent) Spent {
	return Spent{s.Calls + o.Calls, s.Time + o.Time, s.Bytes + o.Bytes, s.Cost + o.Cost}
}

// Batch are the calls of a block of which some run beside others. Their results are kept
// in the order of the block. What runs, and under which number it asks the outside, does
// not depend on the order in which answers come, so that a turn that a kill cut off asks
// the same again. Members are named by their place in the queue of the turn.
type Batch struct {
	From   int // of the queue
	Number int // of the request of its first call

	waits    [][]int
	members  []Member
	kept     int // of the members
	starting int
	before   Spent // by the turn, when it began
}

// Member is a call of a batch.
type Member struct {
	Call     *protocol.Call // nil = it has no result
	Result   protocol.CallResult
	Facts    []protocol.Fact // of the answer
	Problems []string

	wrong            error // with what it says that it waits for
	started, settled bool
	stops            bool // those that wait for it are not run
	held             bool // those that wait for it are held, too
	spent            Spent
	ends             time.Duration // of the turn's elapsed time
}

// NewBatch makes a batch of steps when the turn has taken so long and has spent so much.
func NewBatch(from, number int, steps []Step, base time.Duration, before Spent) *Batch {
	b := &Batch{From: from, Number: number, members: make([]Member, len(steps)), before: before}
	var wrong []error
	b.waits, wrong = Order(steps)
	for k := range wrong {
		b.members[k].wrong, b.members[k].ends = wrong[k], base
	}
	return b
}

// Next is the next member whose result is to be kept; nil = it has none yet, or all were kept.
// all = those without a result, too.
func (b *Batch) Next(all bool) *Member {
	if b.kept == len(b.members) || !all && !b.members[b.kept].settled {
		return nil
	}
	b.kept++
	return &b.members[b.kept-1]
}

// Done reports whether all results were kept, and how long the turn has taken then.
func (b *Batch) Done() (elapsed time.Duration, done bool) {
	for i := range b.members {
		elapsed = max(elapsed, b.members[i].ends)
	}
	return elapsed, b.kept == len(b.members)
}

// End is the place behind the last member.
func (b *Batch) End() int { return b.From + len(b.members) }

// Ready is the place of the first call that waits for nothing any more; -1 = there is none.
func (b *Batch) Ready() int {
	for i := range b.members {
		open := slices.ContainsFunc(b.waits[i], func(k int) bool { return !b.members[k].settled })
		if !b.members[i].started && !open {
			return b.From + i
		}
	}
	return -1
}

// Start says that a call starts. stopped = it is not run, because one for which it waits failed;
// held = one of these is held; wrong = it says wrongly for what it waits.
func (b *Batch) Start(at int) (stopped, held bool, wrong error) {
	b.Starts(at)
	m := &b.members[b.starting]
	m.started = true
	for _, k := range b.waits[b.starting] {
		m.ends = max(m.ends, b.members[k].ends)
		stopped, held = stopped || b.members[k].stops, held || b.members[k].held
	}
	return stopped, held, m.wrong
}

// Starts says that the next problems and limits are of this call.
func (b *Batch) Starts(at int) { b.starting = at - b.From }

// At is how long the turn has taken when a call starts.
func (b *Batch) At(at int) time.Duration { return b.members[at-b.From].ends }

// Settle takes the result of a call, which is kept when all before it are.
func (b *Batch) Settle(at int, c *protocol.Call, r protocol.CallResult, took time.Duration) {
	m := &b.members[at-b.From]
	m.settled, m.Call, m.Result = true, c, r
	m.ends += took
	m.stops = Stops(c, &r)
}

// Stops reports whether a result ends its block.
func Stops(c *protocol.Call, r *protocol.CallResult) bool {
	return r.Status != protocol.CallOK && r.Status != protocol.CallRequested && c.OnError != protocol.OnErrorContinue
}

// Note adds facts of a call, which are kept with it.
func (b *Batch) Note(at int, facts ...protocol.Fact) {
	m := &b.members[at-b.From]
	m.Facts = append(m.Facts, facts...)
}

// Problem adds a problem of the call that starts.
func (b *Batch) Problem(text string) {
	m := &b.members[b.starting]
	m.Problems = append(m.Problems, text)
}

// Hold says that a call is held, and those that wait for it.
func (b *Batch) Hold(at int) { b.members[at-b.From].held = true }

// Spend notes what a call took.
func (b *Batch) Spend(at int, s Spent) { b.members[at-b.From].spent = s }

// Spent is what was spent before the batch, and on the calls for which the one that
// starts waits.
func (b *Batch) Spent() Spent {
	seen := make([]bool, len(b.members))
	sum := b.before
	var add func(i int)
	add = func(i int) {
		for _, k := range b.waits[i] {
			if !seen[k] {
				seen[k] = true
				sum = sum.Plus(b.members[k].spent)
				add(k)
			}
		}
	}
	add(b.starting)
	return sum
}
