package protocol

import (
	"bytes"
	"slices"
)

// Decision is what a machine decided: facts to keep, effects to ask for.
type Decision struct {
	Facts    []Fact
	Effects  []Effect    // for the shell
	Requests []Sequenced // for the scene, when the facts are handed over
}

// Effect is a wish of a machine that its shell carries out, in the imperative.
type Effect interface{ EffectKind() string }

// Sequenced is a request to another machine of the scene. The scene merges the
// requests of a wave in its fixed order before it passes them on.
type Sequenced struct {
	To   string // a service, by the name in its package
	Data Raw
}

// KindData is an encoded fact.
type KindData struct {
	Kind string
	Data Raw
	Fact Fact // the same, if it is at hand: read-only
}

// Keep encodes the facts and requests of a decision, into memory of their own.
func (c *Codec) Keep(facts []Fact, requests []Sequenced) ([]KindData, []Sequenced, error) {
	scratch := c.scratch.Get().(*[]byte)
	defer c.scratch.Put(scratch)
	b, err := (*scratch)[:0], error(nil)
	kept, asked := make([]KindData, len(facts)), slices.Clone(requests)
	for i, f := range facts {
		from := len(b)
		if b, err = c.Append(b, f); err != nil {
			return nil, nil, err
		}
		kept[i] = KindData{Kind: f.FactKind(), Data: b[from:]}
	}
	for _, r := range requests {
		b = append(b, r.Data...)
	}
	if cap(b) <= maxScratch {
		*scratch = b
	}
	own := Raw(bytes.Clone(b))
	cut := func(data *Raw) {
		n := len(*data)
		*data, own = own[:n:n], own[n:]
	}
	for i := range kept {
		cut(&kept[i].Data)
	}
	for i := range asked {
		cut(&asked[i].Data)
	}
	return kept, asked, nil
}

// maxScratch is how large a buffer may be that waits for the next decision.
const maxScratch = 1 << 20
