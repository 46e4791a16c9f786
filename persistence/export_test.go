package persistence

import (
	"errors"

	"tavernsim/persistence/format"
)

// rebuildBatch is how many index entries are written at once.
const rebuildBatch = 256

// RebuildIndex makes the index again from the facts, so that tests can have one
// by another rule of traces.
func (j *Journal) RebuildIndex() (err error) {
	if j.store.opts.ReadOnly {
		return j.Err()
	}
	r := &reader{j: j, q: Query{From: j.Begin().Last + 1, To: j.Durable().Last}, good: j.Begin()}
	it, ok, err := r.span(format.FamilyBlock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok {
		b := j.store.db.NewBatch()
		for n := 0; ok && n < rebuildBatch; n, ok = n+1, it.Next() {
			value, err := it.Value()
			if err == nil {
				err = j.store.addEntry(b, j.scene, it.Key(), value)
			}
			if err != nil {
				return errors.Join(keyDamage(j.scene, it.Key(), nil, Wave{}, err), b.Wait())
			}
		}
		if err := b.Commit(); err != nil {
			return err
		}
	}
	return nil
}
