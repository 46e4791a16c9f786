package persistence_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Workload is an endless deterministic history: the same seed gives the same
// facts and waves for ever, whoever asks and from wherever he begins.
type Workload struct {
	Seed uint64
	// MaxWave bounds the facts of a wave; 0 = 40.
	MaxWave int
	// Size is about how many bytes a fact's data has; 0 = 60.
	Size int
}

// WaveFacts is how many facts wave number has, at least 1.
func (w Workload) WaveFacts(number uint64) int {
	d := protocol.NewDraw(w.Seed, 1, number)
	return 1 + d.IntN(orDefault(w.MaxWave, 40))
}

func orDefault(v, d int) int {
	if v == 0 {
		return d
	}
	return v
}

// Fact is the fact of a seq within a wave.
func (w Workload) Fact(wave, seq uint64) protocol.Record {
	d := protocol.NewDraw(w.Seed, 2, seq)
	data := make([]byte, d.IntN(2*orDefault(w.Size, 60)))
	for i, eight := 0, uint64(0); i < len(data); i++ {
		if len(data) < 64<<10 { // the recorded histories have smaller ones
			data[i] = byte('a' + d.IntN(6))
			continue
		}
		if i%8 == 0 {
			eight = d.Uint64()
		}
		data[i] = byte('a' + eight>>(i%8*8)%6)
	}
	kinds := [...]string{"DeliberationEnded", "PrivateStateUpdated", "EventPublished", "GoalReached"}
	return protocol.Record{
		Seq:   seq,
		Time:  protocol.Time(wave * 1_000_000_000),
		Actor: fmt.Sprintf("trader-%03d", d.IntN(200)),
		Kind:  kinds[d.IntN(len(kinds))],
		Data:  data,
	}
}

// Traces reads the workload's facts as if they belonged to traces: an event to
// one, a goal to two, others to none.
func (w Workload) Traces() persistence.Traces {
	return persistence.Traces{Rule: 1, Of: func(kind string, data []byte, yield func([]byte)) {
		if len(data) < 4 || kind != "EventPublished" && kind != "GoalReached" {
			return
		}
		yield(data[:2])
		if kind == "GoalReached" {
			yield(data[2:4])
		}
	}}
}

// Write appends and closes the waves after last up to and including to, two of
// three as somebody who does not wait for them. Every wave is closed with done.
func (w Workload) Write(j Writer, last persistence.Wave, to uint64, done func(persistence.Wave, error)) error {
	seq := last.Last
	for number := last.Number + 1; number <= to; number++ {
		for range w.WaveFacts(number) {
			seq++
			f := w.Fact(number, seq)
			got, err := j.Append(f.Time, f.Actor, f.Kind, f.Data)
			if err != nil {
				return err
			}
			if got != seq {
				return fmt.Errorf("append of seq %d answered %d", seq, got)
			}
		}
		if noted(number) {
			j.Note(noteOf(number))
		}
		end := j.CloseWave
		if number%3 != 0 {
			end = j.CloseWaveLater
		}
		if _, err := end(done); err != nil {
			return err
		}
	}
	return nil
}

// Some waves have a note.
func noted(wave uint64) bool    { return wave%5 == 2 }
func noteOf(wave uint64) []byte { return fmt.Appendf(nil, "at the end of %d", wave) }

// Model is the stupid twin of a journal: a list of facts, and the digest chain
// written down once more from docs/formats/journal.md.
type Model struct {
	Facts []protocol.Record
	Waves []persistence.Wave
	begin persistence.Wave
}

// Model computes what a scene's journal must hold after so many waves.
func (w Workload) Model(scene string, waves uint64) Model {
	var m Model
	seq, total := uint64(0), uint64(0)
	digest := sha256.Sum256(append(append([]byte("simd journal\x01"), byte(len(scene))), scene...))
	m.begin = persistence.Wave{First: 1, Digest: digest}
	for number := uint64(1); number <= waves; number++ {
		chain := append([]byte(nil), digest[:]...)
		wave := persistence.Wave{Number: number, First: seq + 1, MinTime: protocol.Time(number * 1_000_000_000)}
		for range w.WaveFacts(number) {
			seq++
			f := w.Fact(number, seq)
			m.Facts = append(m.Facts, f)
			chain = canonical(chain, f)
		}
		total += uint64(len(chain) - len(digest))
		digest = sha256.Sum256(chain)
		wave.Last, wave.MaxTime, wave.Total, wave.Digest = seq, wave.MinTime, total, persistence.Digest(digest)
		m.Waves = append(m.Waves, wave)
	}
	return m
}

// Last is the model's last wave: the beginning where it has none.
func (m Model) Last() persistence.Wave {
	if len(m.Waves) == 0 {
		return m.begin
	}
	return m.Waves[len(m.Waves)-1]
}

func canonical(b []byte, f protocol.Record) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(f.Time))
	for _, field := range []string{f.Actor, f.Kind, string(f.Data)} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}
