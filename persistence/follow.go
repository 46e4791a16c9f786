package persistence

import (
	"context"
	"errors"
	"time"

	"tavernsim/protocol"
)

// Bounds of following a journal.
const (
	followFacts = 4096                  // of one read
	followBytes = 1 << 20               // of one read, uncompressed; one more fact may follow
	followRest  = 10 * time.Millisecond // between two reads: small waves share one
	followGrace = 2 * time.Second       // that Close gives to those that are behind
)

// followers read a journal that grows. Journal.mu guards it.
type followers struct {
	count int
	grown chan struct{} // closed when a wave becomes durable, and by Close; nil = nobody waits
	over  bool          // nothing more becomes durable
	left  chan struct{} // closed by the last one that leaves; nil = Close does not wait
}

// grew wakes those that wait.
func (f *followers) grew() {
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
}

// Follow calls yield for every fact from seq from on, as [Journal.Read] does, and
// goes on with those that become durable later. It is woken when they do, reads at
// most once in 10 ms when it has all, and holds nothing of the store while yield
// runs, so yield may take its time. Follow ends
//
//   - with nil when the journal is closed and yield has had every durable fact. Close
//     waits 2 s for that; who is slower gets an error of kind cancelled;
//   - with yield's error;
//   - with an error of kind cancelled when ctx ends;
//   - with one of kind not found when facts were dropped (Options.Keep) before they
//     were read.
//
// The journal of a store that is open for reading only does not grow: Follow is
// Read.
func (j *Journal) Follow(ctx context.Context, from uint64, yield func(protocol.Record) error) error {
	j.join()
	defer j.leave()
	for from = max(from, 1); ; {
		end, over, grown := j.growing()
		if err := ctx.Err(); err != nil {
			return protocol.Errorf(protocol.KindCancelled, "persistence: follow journal of scene %q: %w", j.scene, err)
		}
		if from > end {
			if over {
				return nil
			}
			select {
			case <-grown:
			case <-ctx.Done():
			}
			continue
		}
		batch, err := j.batch(from)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := yield(batch[i]); err != nil {
				return err
			}
		}
		from = batch[len(batch)-1].Seq + 1
		if from > end && !over {
			pause(ctx, followRest)
		}
	}
}

// growing is the last durable fact, whether it stays the last, and what is closed
// when it does not.
func (j *Journal) growing() (end uint64, over bool, grown <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := &j.followers
	if f.grown == nil && !f.over {
		f.grown = make(chan struct{})
	}
	return j.durable.Last, f.over, f.grown
}

// batch reads durable facts from one on, at least one.
func (j *Journal) batch(from uint64) (batch []protocol.Record, err error) {
	full, size := errors.New("full"), 0
	err = j.Read(from, func(r protocol.Record) error {
		batch, size = append(batch, r), size+len(r.Data)
		if len(batch) == followFacts || size >= followBytes {
			return full
		}
		return nil
	})
	if errors.Is(err, full) {
		err = nil
	}
	return batch, err
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (j *Journal) join() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.followers.count++
}

func (j *Journal) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := &j.followers
	if f.count--; f.count == 0 && f.left != nil {
		close(f.left)
		f.left = nil
	}
}

// endFollowing says that nothing more becomes durable, and waits a while for those
// that have not read all.
func (j *Journal) endFollowing() {
	j.mu.Lock()
	f := &j.followers
	f.over = true
	f.grew()
	if f.count == 0 {
		j.mu.Unlock()
		return
	}
	left := make(chan struct{})
	f.left = left
	j.mu.Unlock()
	t := time.NewTimer(followGrace)
	defer t.Stop()
	select {
	case <-left:
	case <-t.C:
	}
}
