package persistence

import (
	"sync"
	"time"

	"tavernsim/persistence/pebbledb"
)

// A sync that nobody waits for is made when so many facts share it, or so long
// after the first wave that it makes durable.
const (
	syncFacts = 1024
	syncDelay = 20 * time.Millisecond
)

// ack is a closed wave on its way to its answer.
type ack struct {
	task
	wave    Wave
	batch   *pebbledb.Batch // nil for a wave without facts, one whose sync comes later, and after a failure
	started time.Time
}

// answers is the journal's second goroutine: it waits until waves are durable
// and answers them, in order.
type answers struct {
	j     *Journal
	held  []*ack // of waves for which no sync was asked, oldest first
	timer *time.Timer
}

func (j *Journal) answer() {
	q := &answers{j: j, timer: time.NewTimer(syncDelay)}
	defer q.timer.Stop()
	for q.next() {
	}
}

// next takes one wave, or makes those durable that have waited long enough. It
// returns false when there will be no more.
func (q *answers) next() (more bool) {
	var a *ack
	select {
	case a, more = <-q.j.acks: // first: it may bring the sync that the others wait for
	default:
		if len(q.held) > 0 {
			return q.wait()
		}
		a, more = <-q.j.acks
	}
	return q.took(a, more)
}

// wait is next while waves are held back.
func (q *answers) wait() bool {
	select {
	case a, more := <-q.j.acks:
		return q.took(a, more)
	case <-q.timer.C:
	case <-q.j.ahead.full:
	}
	q.sync()
	return true
}

func (q *answers) took(a *ack, more bool) bool {
	if more {
		q.take(a)
	} else {
		q.sync()
	}
	return more
}

// take holds a wave back, or waits for its sync, which makes those before it
// durable as well.
func (q *answers) take(a *ack) {
	if a.later && a.batch == nil {
		if len(q.held) == 0 {
			q.timer.Reset(syncDelay)
		}
		q.held = append(q.held, a)
		return
	}
	if a.batch == nil {
		q.sync()
	} else if err := a.batch.Wait(); err != nil {
		q.j.fail(err)
	}
	q.release()
	q.j.settle(a)
}

// sync makes durable what is held back, and answers it.
func (q *answers) sync() {
	if len(q.held) == 0 {
		return
	}
	if err := q.j.store.db.Sync(); err != nil {
		q.j.fail(err)
	}
	q.release()
}

func (q *answers) release() {
	for i, a := range q.held {
		q.j.settle(a)
		q.held[i] = nil
	}
	q.held = q.held[:0]
}

// settle answers a wave whose sync has ended.
func (j *Journal) settle(a *ack) {
	err := j.Err()
	if err == nil && a.block != nil {
		j.kept(a)
	}
	j.ahead.leave(a.facts)
	switch {
	case a.done == nil:
	case err != nil:
		a.done(Wave{}, err)
	default:
		a.done(a.wave, nil)
	}
}

func (j *Journal) kept(a *ack) {
	j.mu.Lock()
	j.durable = a.wave
	j.followers.grew()
	j.mu.Unlock()
	now := time.Now()
	j.store.opts.Observer.WaveKept(j.scene, a.wave, now.Sub(a.started), now.Sub(a.closedAt))
}

// ahead counts the waves that are closed and not answered, and makes the next
// one wait when they are too many.
type ahead struct {
	few  int           // so many waves may always be open
	most int           // and so many at most,
	room uint64        // while they have fewer facts than this
	full chan struct{} // gets one element when somebody waits

	mu    *sync.Mutex // guards what follows
	less  *sync.Cond  // there are fewer than before
	waves int
	facts uint64
}

func newAhead(o Options) ahead {
	mu := &sync.Mutex{}
	return ahead{few: o.OpenWaves, most: max(o.OpenWaves, maxSmallWaves), room: uint64(o.OpenFacts), full: make(chan struct{}, 1), mu: mu, less: sync.NewCond(mu)}
}

// enter counts a wave and says for how long it had to wait.
func (a *ahead) enter(facts uint64) (waited time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isFull() {
		start := time.Now()
		for a.isFull() {
			select {
			case a.full <- struct{}{}:
			default:
			}
			a.less.Wait()
		}
		waited = time.Since(start)
	}
	a.waves++
	a.facts += facts
	return waited
}

func (a *ahead) isFull() bool {
	return a.waves >= a.most || a.waves >= a.few && a.facts >= a.room
}

func (a *ahead) leave(facts uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waves--
	a.facts -= facts
	a.less.Signal()
}
