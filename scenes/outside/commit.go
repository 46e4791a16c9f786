package outside

import (
	"context"

	"tavernsim/persistence"
)

// run is the log's goroutine: the one writer of its journal.
func (l *Log) run() {
	for e := range l.in {
		l.commit(l.gather(e))
		l.dropDead()
	}
	if _, err := l.journal.Sync(context.Background()); err == nil {
		l.drop()
	}
}

// gather takes the other entries that wait to be kept.
func (l *Log) gather(first *entry) []*entry {
	batch := []*entry{first}
	for len(batch) < maxBatch {
		select {
		case e, open := <-l.in:
			if !open {
				return batch
			}
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// commit appends a batch as one wave. After a failure it discards all entries.
func (l *Log) commit(batch []*entry) {
	for i, e := range batch {
		seq, err := l.journal.Append(e.effect.At, e.effect.Agent, e.kind, e.data)
		if failed := l.journal.Err(); failed != nil {
			l.fail(failed)
			return
		}
		if err != nil { // the fact is too large
			e.kept <- err
			batch[i] = nil
			continue
		}
		e.seq = seq
	}
	_, err := l.journal.CloseWave(func(_ persistence.Wave, err error) { l.committed(batch, err) })
	if err != nil {
		l.fail(err)
	}
}

// committed runs on the journal's goroutine.
func (l *Log) committed(batch []*entry, err error) {
	if err != nil {
		l.fail(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range batch {
		if e == nil {
			continue
		}
		if e.kind == FactAnswered {
			l.table.answered(e.effect, e.seq)
		}
		e.kept <- nil
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
