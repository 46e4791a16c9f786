// Package series samples values of the world while a scene runs.
package series

import (
	"math"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// maxSamples bounds a series. When it is full, every second sample is dropped, and
// from then on half as many waves are sampled.
const maxSamples = 512

// Series samples the reported world paths after each wave, for reports about this
// process. It is not part of the facts.
type Series struct {
	paths  []world.Path
	names  []string
	times  []float64   // seconds since the scene began, one of each sample
	data   [][]float64 // by path, one of each sample; NaN where there was no number
	stride uint64
	seen   uint64
}

// New makes an empty one.
func New(paths []string) *Series {
	s := &Series{stride: 1}
	for _, text := range paths {
		if p, err := world.ParsePath(text); err == nil {
			s.paths, s.names, s.data = append(s.paths, p), append(s.names, text), append(s.data, nil)
		}
	}
	return s
}

// Sample takes the values after a wave.
func (s *Series) Sample(doc *world.Document, seconds float64) {
	s.seen++
	if len(s.paths) == 0 || s.seen%s.stride != 0 {
		return
	}
	s.times = append(s.times, seconds)
	for i, p := range s.paths {
		f := math.NaN()
		if v, ok := doc.Get(p); ok {
			if n, isNumber := protocol.Number(v); isNumber {
				f = n
			}
		}
		s.data[i] = append(s.data[i], f)
	}
	if len(s.times) >= maxSamples {
		s.stride *= 2
		s.times = thin(s.times)
		for i := range s.data {
			s.data[i] = thin(s.data[i])
		}
	}
}

func thin(list []float64) []float64 {
	kept := list[:0]
	for k := 1; k < len(list); k += 2 {
		kept = append(kept, list[k])
	}
	return kept
}

// Values are the samples of a path; nil = it never held a number.
func (s *Series) Values(name string) (seconds, values []float64) {
	for i, n := range s.names {
		for k := range s.data[i] {
			if n == name && !math.IsNaN(s.data[i][k]) {
				return s.times, s.data[i]
			}
		}
	}
	return nil, nil
}
