package rundir

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools/ownfile"
)

// AnswersFile has the recorded answers that a run may use, as a cassette.
const AnswersFile = parts.Answers

// ToolAnswers is the folder with the recorded answers that tools give again (tools/toolreplay).
const ToolAnswers = parts.ToolAnswers

// ReadAnswers reads recorded answers: those of a run directory, or of a cassette.
func ReadAnswers(path string) (*replay.Answers, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		run, err := Open(path)
		if err != nil {
			return nil, err
		}
		defer run.Close()
		a := &replay.Answers{Terms: run.Manifest.terms()}
		return a, run.Answers("", func(e *replay.Entry) error { a.Add(e); return nil })
	}
	f, err := ownfile.Open(path)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "answers: %w", err)
	}
	defer f.Close()
	return replay.Read(path, f)
}

// Answers calls yield for the answers that endpoints gave in the scenes of a run, or in
// the one that is named.
func (o *Opened) Answers(only string, yield func(*replay.Entry) error) error {
	ids, err := o.Scenes(only)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := o.answersAfter(id, 0, yield); err != nil {
			return err
		}
	}
	return nil
}

func (o *Opened) answersAfter(id string, seq uint64, yield func(*replay.Entry) error) error {
	journal, err := o.Journal(id)
	if err != nil {
		return err
	}
	defer journal.Close()
	return history.Answers(id, journal, seq+1, yield)
}

// terms are those on which the models of the run are asked; nil = an older program, which did not keep them, began it, or
// they are at no endpoint.
func (m *Manifest) terms() *replay.Terms {
	if m.Prices == nil {
		return nil
	}
	return &replay.Terms{Prices: m.Prices, Budgets: m.AtEndpoints}
}

// writeAnswers writes the cassette of a run directory and counts its answers; without
// one, and without terms, there is no file.
func writeAnswers(dir string, terms *replay.Terms, each func(yield func(*replay.Entry) error) error) (n int, err error) {
	name := filepath.Join(dir, AnswersFile)
	f, err := os.Create(name)
	if err != nil {
		return 0, unwritable(dir, err, "make it writable")
	}
	w := bufio.NewWriter(f)
	err = terms.Write(w, nil)
	if err == nil {
		err = each(func(e *replay.Entry) error { n++; return replay.Write(w, e) })
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err == nil && (n > 0 || terms != nil) {
		return n, nil
	}
	return 0, errors.Join(err, os.Remove(name))
}

// RecordedAnswers are those that the run began with; nil = none.
func (m *Manifest) RecordedAnswers(dir string) (*replay.Answers, error) {
	if _, err := os.Stat(filepath.Join(dir, AnswersFile)); m.Answers == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	a, err := ReadAnswers(filepath.Join(dir, AnswersFile))
	if err == nil && a.Len() != m.Answers {
		err = protocol.Errorf(protocol.KindCorrupt, "%s: %d answers; the manifest says %d", filepath.Join(dir, AnswersFile), a.Len(), m.Answers)
	}
	return a, err
}

// Situations are what models read in the scenes of a run, by request.
func (o *Opened) Situations(ctx context.Context, only string) (map[replay.Place]replay.Entry, error) {
	ids, err := o.Scenes(only)
	all := map[replay.Place]replay.Entry{}
	for _, id := range ids {
		made, journal, broke := o.Scene(id)
		if broke != nil {
			return nil, broke
		}
		err = errors.Join(err, verify.Situations(ctx, made, journal, verify.Options{NoMiddleware: o.Manifest.Middleware}, all), journal.Close())
	}
	return all, err
}

// ExportAnswers writes the answers of a run as a cassette, with the values of secrets
// hidden, and counts them. situations may be nil.
func (o *Opened) ExportAnswers(only string, w io.Writer, situations map[replay.Place]replay.Entry) (n int, err error) {
	out := bufio.NewWriter(w)
	if err := o.Manifest.terms().Write(out, &o.Manifest.Model); err != nil {
		return 0, err
	}
	err = o.Answers(only, func(e *replay.Entry) error {
		n++
		x := situations[e.Place()]
		e.Default = &o.Manifest.Model
		e.Profile, e.Purpose, e.Situation = x.Profile, x.Purpose, x.Situation
		e.Hide()
		return replay.Write(out, e)
	})
	return n, errors.Join(err, out.Flush())
}
