package rundir

import (
	"fmt"
	"strings"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/artifacts"
)

// carryArtifacts copies the artifacts that the facts of a copied journal name. What is
// missing is missing in the copy, too.
func carryArtifacts(from, to string) error {
	store, err := OpenStore(to, persistence.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = artifacts.Carry(from, to, store)
	return err
}

// missingArtifacts are those with which a call of a scene ended and that are not there.
func (o *Opened) missingArtifacts(journal history.Journal) ([]string, error) {
	named := artifacts.Names{}
	if err := artifacts.Kept(journal, named); err != nil || len(named) == 0 {
		return nil, err
	}
	return artifacts.Missing(o.Dir, named)
}

// artifacts compares the files that calls left with their hashes.
func (x *examination) artifacts(store *persistence.Store, ids []string) error {
	named := artifacts.Names{}
	for _, id := range ids {
		journal, err := store.Journal(id)
		if err != nil {
			continue // it was examined before, and that said it
		}
		_ = artifacts.Kept(journal, named) // as far as it can be read
		_ = journal.Close()
	}
	r, err := artifacts.Check(x.dir, named)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d files that facts name, %d bytes, are as they were", r.Files, r.Bytes)
	switch {
	case len(r.Damaged) > 0:
		x.damaged("artifacts", "", protocol.Errorf(protocol.KindCorrupt, "%s: they cannot be read, or the bytes have another hash", strings.Join(r.Damaged, ", ")), "bring the files back from a copy, or remove them; facts and replay do not need them")
	case len(r.Missing) > 0:
		x.add(Check{Name: "artifacts", Status: CheckNote, Text: text + "; not there: " + strings.Join(r.Missing, ", "), Advice: "facts and replay do not need them; an agent that reads one is told that it is missing"})
	case len(named) > 0:
		x.ok("artifacts", "", "%s", text)
	}
	return nil
}
