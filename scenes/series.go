package scenes

import (
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// maxSamples bounds one series: when it is full, every second sample goes and
// from then on only every second wave is sampled.
const maxSamples = 512

// series samples the reported world paths after each wave. It is what this
// process saw, for the eye; it is no fact.
type series struct {
	paths  []world.Path
	names  []string
	data   [][]float64
	stride uint64
	seen   uint64
}

func newSeries(paths []string) *series {
	s := &series{stride: 1}
	for _, text := range paths {
		if p, err := world.ParsePath(text); err == nil {
			s.paths, s.names, s.data = append(s.paths, p), append(s.names, text), append(s.data, nil)
		}
	}
	return s
}

func (s *series) sample(doc *world.Document) {
	s.seen++
	if len(s.paths) == 0 || s.seen%s.stride != 0 {
		return
	}
	full := false
	for i, p := range s.paths {
		if v, ok := doc.Get(p); ok {
			if f, isNumber := protocol.Number(v); isNumber {
				s.data[i] = append(s.data[i], f)
			}
		}
		full = full || len(s.data[i]) >= maxSamples
	}
	if full {
		s.thin()
	}
}

func (s *series) thin() {
	s.stride *= 2
	for i, d := range s.data {
		kept := d[:0]
		for k := 1; k < len(d); k += 2 {
			kept = append(kept, d[k])
		}
		s.data[i] = kept
	}
}

func (s *series) values(name string) []float64 {
	for i, n := range s.names {
		if n == name {
			return s.data[i]
		}
	}
	return nil
}
