package persistence

import (
	"strconv"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Keep is how much history a journal keeps. The zero value keeps all of it. When
// one of its parts is set, every good snapshot may drop older facts: see
// [Journal.SaveSnapshot].
type Keep struct {
	Waves uint64        // so many before the newest snapshot; 0 = no such bound
	Time  time.Duration // of the facts' time before the newest snapshot; 0 = no such bound
}

const keepForms = "want waves:N, a time as 48h, or all"

// ParseKeep reads what [Keep.String] writes; "" is all.
func ParseKeep(text string) (Keep, error) {
	if text == "" || text == "all" {
		return Keep{}, nil
	}
	if digits, ok := strings.CutPrefix(text, "waves:"); ok {
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n == 0 {
			return Keep{}, protocol.Errorf(protocol.KindInvalid, "keep %q: %q is no number of waves from 1 on: %s", text, digits, keepForms)
		}
		return Keep{Waves: n}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Keep{}, protocol.Errorf(protocol.KindInvalid, "keep %q: %s", text, keepForms)
	}
	return Keep{Time: d}, nil
}

// String is "all", "waves:N" or a time.
func (k Keep) String() string {
	switch {
	case k.Waves > 0:
		return "waves:" + strconv.FormatUint(k.Waves, 10)
	case k.Time > 0:
		return k.Time.String()
	}
	return "all"
}

// All reports whether nothing is dropped.
func (k Keep) All() bool { return k == Keep{} }

// spares reports whether a history that begins after w still holds all that is
// to be kept before the newest snapshot.
func (k Keep) spares(w, newest Wave) bool {
	return w.Number < newest.Number && newest.Number-w.Number >= k.Waves && newest.MaxTime.Sub(w.MaxTime) >= k.Time
}

// compact drops the facts that are older than Options.Keep, now that there is a
// good snapshot of the newest wave. The history then begins at a snapshot that
// was read again to its last byte; [Journal.prune] holds it. One that is damaged
// is removed: no history can begin there, and the next one takes its place.
func (j *Journal) compact(newest Wave) error {
	keep := j.store.opts.Keep
	if keep.All() {
		return nil
	}
	waves, err := j.snapshotWaves()
	if err != nil {
		return err
	}
	for _, number := range waves { // newest first: the first that serves drops most
		if number <= j.Begin().Number {
			break
		}
		w, err := j.Wave(number)
		if err != nil {
			return err
		}
		if !keep.spares(w, newest) {
			continue
		}
		if _, damage := j.openSnapshot(number); damage != nil {
			if err := j.RemoveSnapshot(number); err != nil {
				return err
			}
			if log := j.store.opts.Log; log != nil {
				log.Warn("a snapshot is damaged and was removed; older facts are kept for longer", "scene", j.scene, "err", damage)
			}
			continue
		}
		return j.drop(w)
	}
	return nil
}

// snapshotWaves lists the waves of snapshots from which the kept facts go on,
// newest first. Others wait for prune.
func (j *Journal) snapshotWaves() ([]uint64, error) {
	waves, err := j.store.snapshotWaves(j.scene)
	begin := j.Begin().Number
	for i, wave := range waves {
		if wave < begin {
			return waves[:i], err
		}
	}
	return waves, err
}

// prune removes the snapshots that nobody needs. It keeps the newest
// Options.KeepSnapshots, the one with which the kept history begins, and, with
// Options.Keep, the oldest after that: the history's next beginning.
func (j *Journal) prune() error {
	all, err := j.store.snapshotWaves(j.scene)
	if err != nil {
		return err
	}
	begin, next := j.Begin().Number, uint64(0)
	for _, wave := range all {
		if wave > begin && !j.store.opts.Keep.All() {
			next = wave // the last one that is seen is the oldest
		}
	}
	var names []string
	for i, wave := range all {
		needed := i < j.store.opts.KeepSnapshots || wave == next || wave == begin
		if !needed || wave < begin {
			names = append(names, snapshotName(wave))
		}
	}
	return j.store.removeSnapshots(j.scene, names)
}
