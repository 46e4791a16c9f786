package persistence_test

import (
	"context"
	"fmt"
	"testing"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Facts that come in sheaves are those that come one by one, whatever a block holds: digest, index and
// what a query by trace finds.
func TestSheaves(t *testing.T) {
	for _, batch := range []int{2, 7, 50, 4096} {
		o := traced(1)
		o.BatchFacts = batch
		var digests []string
		for _, sheaves := range []bool{false, true} {
			dir := t.TempDir()
			s, j := openIn(t, dir, o)
			for wave := range 3 {
				sheaf := &format.Sheaf{}
				for part := range 5 {
					at := protocol.Time(wave + 1)
					sheaf.Reset(at)
					for i := range part * 3 {
						actor, kind, data := fmt.Sprint("agent ", i/2), fmt.Sprint("kind ", i%3), fmt.Appendf(nil, "trace %d.%d.%d and more", wave, part, i)
						if !sheaves {
							if _, err := j.Append(at, actor, kind, data); err != nil {
								t.Fatal(err)
							}
							continue
						}
						sheaf.Add(actor, kind, data)
						o.Traces.Of(kind, data, sheaf.AddTrace)
					}
					if err := j.AppendSheaf(sheaf); err != nil {
						t.Fatal(err)
					}
				}
				done := make(chan error, 1)
				if _, err := j.CloseWave(func(_ persistence.Wave, err error) { done <- err }); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			digests = append(digests, fmt.Sprintf("%x", j.Durable().Digest))
			if report, err := j.Verify(context.Background(), nil); err != nil || report.Index != nil || report.Damage != nil {
				t.Errorf("blocks of %d facts: verify: %+v, %v", batch, report, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if seqs, err := scanTrace(t, dir, o, "trace 1.4"); err != nil || len(seqs) != 12 {
				t.Errorf("blocks of %d facts: facts %v of a trace, %v; want 12", batch, seqs, err)
			}
		}
		if digests[0] != digests[1] {
			t.Errorf("blocks of %d facts: digest %s one by one, %s in sheaves", batch, digests[0], digests[1])
		}
	}
}
