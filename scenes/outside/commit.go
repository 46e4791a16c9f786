package outside

import (
	"context"
	"runtime"

	"tavernsim/persistence"
)

// run is the log's goroutine: the one writer of its journal. Before it takes facts, it lets
// those run that can: on a busy machine they are many, with facts of their own, and a commit of
// 80 facts costs little more than one of two. Where nobody else can run it goes on at once.
func (l *Log) run(wake <-chan struct{}) {
	for range wake {
		runtime.Gosched()
		for batch := l.take(); len(batch) > 0; batch = l.take() {
			l.commit(batch)
			l.dropDead()
		}
	}
	if _, err := l.journal.Sync(context.Background()); err == nil {
		l.drop()
	}
}

// take takes facts that wait to be kept.
func (l *Log) take() []*Flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	if len(batch) > maxBatch {
		l.queue = batch[maxBatch:]
		return batch[:maxBatch:maxBatch]
	}
	l.queue = nil
	return batch
}

// commit appends a batch as one wave. After a failure it discards all facts.
func (l *Log) commit(batch []*Flight) {
	for i, f := range batch {
		seq, err := l.append(f)
		if failed := l.journal.Err(); failed != nil {
			l.fail(failed)
			return
		}
		if err != nil { // the fact is too large
			batch[i] = nil
			f.done(err)
			continue
		}
		f.seq = seq
	}
	_, err := l.journal.CloseWave(func(_ persistence.Wave, err error) { l.committed(batch, err) })
	if err != nil {
		l.fail(err)
	}
}

// append appends the newest fact of a flight, behind its request if that needed no note before it left.
func (l *Log) append(f *Flight) (seq uint64, err error) {
	if f.asked != nil {
		if seq, err = l.journal.Append(f.effect.At, f.effect.Agent, FactRequested, f.asked); err != nil {
			return seq, err
		}
	}
	kind := FactRequested
	if f.answered {
		kind = FactAnswered
	}
	return l.journal.Append(f.effect.At, f.effect.Agent, kind, f.data)
}

// committed runs on the journal's goroutine.
func (l *Log) committed(batch []*Flight, err error) {
	if err != nil {
		l.fail(err)
		return
	}
	l.mu.Lock()
	for _, f := range batch {
		if f != nil && f.answered {
			l.table.answered(f.effect, f.seq, f.spent)
		}
	}
	l.mu.Unlock()
	for _, f := range batch {
		if f != nil {
			f.done(nil)
		}
	}
}

func (l *Log) fail(err error) {
	if l.failed.CompareAndSwap(false, true) && l.opts.Failed != nil {
		l.opts.Failed(err)
	}
}

// dropDead drops obsolete entries when there are enough of them.
func (l *Log) dropDead() {
	if total := l.journal.Durable().Total; total-l.dropped >= l.opts.DropBytes {
		l.dropped = total
		l.drop()
	}
}

func (l *Log) drop() {
	l.mu.Lock()
	oldest := l.table.oldest()
	l.mu.Unlock()
	wave := min(oldest-1, l.journal.Durable().Number)
	if wave <= l.journal.Begin().Number {
		return
	}
	if err := l.journal.Forget(wave); err != nil {
		l.fail(err)
	}
}
