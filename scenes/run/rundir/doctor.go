package rundir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/internal/metrics/disk"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
)

// Diagnosis is the result of Examine.
type Diagnosis struct {
	RunDir  string  `json:"run_dir"`
	Healthy bool    `json:"healthy"`
	Checks  []Check `json:"checks"`
	// Repaired is the same of the copy that --repair made.
	Repaired *Diagnosis `json:"repaired,omitempty"`
}

// Check is the result for one part of the directory.
type Check struct {
	Name   string `json:"name"`
	Scene  string `json:"scene,omitempty"`
	Status string `json:"status"` // ok, note, damaged
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what can be saved, and how

	Good uint64 `json:"-"` // journal: last wave that can be saved
}

// Statuses of a check. A note is information that does not prevent a resumption.
const (
	CheckOK      = "ok"
	CheckNote    = "note"
	CheckDamaged = "damaged"
)

// repairAdvice is the remedy for most kinds of damage.
const repairAdvice = "simd doctor DIR --repair OUT makes a copy without it"

// Examine checks every part of a run directory and changes nothing. It returns an error
// only if it cannot check; damage is in the Diagnosis.
func Examine(ctx context.Context, dir string, progress Progress) (*Diagnosis, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "%s: %w", dir, err)
	}
	x := &examination{ctx: ctx, dir: dir, progress: progress, d: &Diagnosis{RunDir: dir, Checks: []Check{}}}
	m := x.manifest()
	if m == nil {
		if _, err := os.Stat(filepath.Join(dir, JournalDir)); err != nil {
			return nil, protocol.Errorf(protocol.KindNotFound, "%s is not a run directory: it has neither %s nor %s", dir, parts.Manifest, JournalDir)
		}
	}
	x.inputs(m)
	if err := x.store(m); err != nil {
		return nil, err
	}
	x.space()
	x.d.Healthy = true
	for _, c := range x.d.Checks {
		x.d.Healthy = x.d.Healthy && c.Status != CheckDamaged
	}
	return x.d, nil
}

type examination struct {
	ctx      context.Context
	dir      string
	progress Progress
	d        *Diagnosis
	lost     *persistence.LogDamage // nil = nothing
}

func (x *examination) add(c Check) { x.d.Checks = append(x.d.Checks, c) }

func (x *examination) ok(name, scene, format string, args ...any) {
	x.add(Check{Name: name, Scene: scene, Status: CheckOK, Text: fmt.Sprintf(format, args...)})
}

func (x *examination) damaged(name, scene string, err error, advice string) {
	x.add(Check{Name: name, Scene: scene, Status: CheckDamaged, Text: err.Error(), Advice: advice})
}

func (x *examination) manifest() *Manifest {
	m, err := ReadManifest(x.dir)
	if err != nil {
		x.damaged("manifest", "", err, "without a manifest the run cannot be gone on with; its seeds stand in the first facts of the journal, its inputs in "+parts.Inputs+": bring back manifest.json from a copy")
		return nil
	}
	x.ok("manifest", "", "run %s, made %s by simd %s", m.Run, m.Created.Format("2006-01-02 15:04:05"), m.Program)
	return m
}

// inputs compares every file with its hash.
func (x *examination) inputs(m *Manifest) {
	if m == nil {
		return
	}
	var bad []string
	for _, f := range m.Files {
		data, err := ownfile.ReadAll(filepath.Join(x.dir, parts.Inputs, filepath.FromSlash(f.Path)), ownfile.MaxFile)
		sum := sha256.Sum256(data)
		switch {
		case err != nil:
			bad = append(bad, f.Path+" cannot be read")
		case hex.EncodeToString(sum[:]) != f.SHA256:
			bad = append(bad, f.Path+" was changed")
		}
	}
	if len(bad) > 0 {
		x.damaged("inputs", "", errors.New(strings.Join(bad, ", ")), "put these files back as they were when the run began; the manifest has their SHA-256. Until then the run cannot be resumed or replayed, the facts are not concerned")
		return
	}
	if _, _, err := Read(x.dir); err != nil {
		x.damaged("inputs", "", err, "remove files that were added to "+parts.Inputs)
		return
	}
	for i := range m.Editions {
		if _, err := m.Edition(x.dir, &m.Editions[i]); err != nil {
			x.damaged("inputs", "", err, "bring these files back from a copy; the run needs them to be resumed or replayed")
			return
		}
	}
	x.ok("inputs", "", "%d files are as they were", len(m.Files))
}

// store opens the journals and checks each.
func (x *examination) store(m *Manifest) error {
	store, err := openToSave(x.dir)
	switch protocol.KindOf(err) {
	case protocol.KindConflict, protocol.KindDenied, protocol.KindLimit: // nothing was seen of the store
		return err
	}
	if err != nil {
		x.damaged("store", "", err, "the database itself is damaged: bring "+JournalDir+" back from a copy; nothing was changed")
		return nil
	}
	defer store.Close()
	x.lost = store.LogDamage()
	if owner := store.Owner(); owner != "" {
		x.add(Check{Name: "lock", Status: CheckNote, Text: "held by " + owner + ", which runs it: what is said is of this moment"})
	} else if owner := store.Unclean(); owner != "" {
		x.add(Check{Name: "lock", Status: CheckNote, Text: "left behind by " + owner + ", which did not close the run and is gone", Advice: "nothing to do: the lock is free, and resuming takes up after the last wave that is whole"})
	} else {
		x.ok("lock", "", "free; the last process closed the run")
	}
	ids, err := store.Scenes()
	if err != nil {
		x.damaged("store", "", err, repairAdvice)
		return nil
	}
	ids, logs := withoutEffects(ids)
	x.opened(len(ids) + len(logs))
	if m != nil {
		ids = m.Scenes
	}
	for _, id := range ids {
		err := x.journal(store, id)
		if err == nil && slices.Contains(logs, id) {
			err = x.effects(store, id)
		}
		if err != nil {
			return err
		}
	}
	return x.artifacts(store, ids)
}

// openToSave opens a damaged store, to read as much of it as possible.
func openToSave(dir string) (*persistence.Store, error) {
	return OpenStore(dir, persistence.Options{ReadOnly: true, ToDamage: true})
}

// opened says how much of the store is open.
func (x *examination) opened(journals int) {
	if x.lost == nil {
		x.ok("store", "", "opens; journals: %d", journals)
		return
	}
	x.ok("store", "", "opens up to the damage of its log; journals: %d", journals)
	x.damaged("log", "", x.lost, "the facts before it can be saved, and what follows is said of them alone: "+repairAdvice+", and resuming the copy computes the rest again")
}

// withoutEffects tells the journals of scenes from those of their effects, which
// it gives as the ids of their scenes.
func withoutEffects(ids []string) (scenes, logs []string) {
	for _, id := range ids {
		if scene, ok := outside.SceneOf(id); ok {
			logs = append(logs, scene)
		} else {
			scenes = append(scenes, id)
		}
	}
	return scenes, logs
}

// effects checks the log of a scene's requests to the outside.
func (x *examination) effects(store *persistence.Store, id string) error {
	journal, err := store.Journal(outside.JournalID(id))
	if err != nil {
		x.effectsDamage(id, err)
		return nil
	}
	defer journal.Close()
	report, err := journal.Verify(x.ctx, nil)
	switch {
	case err != nil:
		return err
	case report.Damage != nil:
		x.effectsDamage(id, report.Damage)
	default:
		x.add(Check{Name: "effects", Scene: id, Status: CheckOK, Good: journal.Durable().Number, Text: fmt.Sprintf("%d facts of requests to the outside are as they were written", report.Facts)})
	}
	return nil
}

func (x *examination) effectsDamage(id string, err error) {
	c := Check{Name: "effects", Scene: id, Status: CheckDamaged, Text: err.Error(), Advice: "bring " + JournalDir + " back from a copy"}
	if d, ok := persistence.DamageOf(err); ok {
		c.Good = d.Good.Number
		c.Advice = "the scene's facts are not concerned, but what it had asked of the outside and not used yet is asked again: " + repairAdvice
	}
	x.add(c)
}

func (x *examination) journal(store *persistence.Store, id string) error {
	journal, err := store.Journal(id)
	if x.lost == nil {
		err = lost(x.dir, id, err)
	}
	if protocol.KindOf(err) == protocol.KindNotFound {
		c := Check{Name: "journal", Scene: id, Status: CheckNote, Text: "there is none: the scene had not begun", Advice: "resuming begins it"}
		if x.lost != nil {
			c.Text, c.Advice = "nothing of it stands before the damage of the log", "resuming the copy begins it anew"
		}
		x.add(c)
		return nil
	}
	if err != nil {
		x.journalDamage(id, err)
		return nil
	}
	defer journal.Close()
	end := journal.Durable()
	say := x.progress.Of(id, "checking the journal")
	report, err := journal.Verify(x.ctx, func(w persistence.Wave) { say(w.Last, end.Last) })
	if err != nil {
		return err
	}
	if report.Damage != nil {
		x.journalDamage(id, report.Damage)
	} else {
		x.d.Checks = append(x.d.Checks, Check{Name: "journal", Scene: id, Status: CheckOK, Good: end.Number, Text: fmt.Sprintf("%d facts in %d waves are as they were written, digest %s%s", report.Facts, end.Number-journal.Begin().Number, end.Digest, keptFrom(journal))})
		x.summary(id, journal)
	}
	x.index(id, report.Index)
	x.snapshots(id, journal)
	return nil
}

func keptFrom(journal *persistence.Journal) string {
	if begin := journal.Begin().Number; begin > 0 {
		return fmt.Sprintf("; waves up to %d were dropped on purpose", begin)
	}
	return ""
}

func (x *examination) journalDamage(id string, err error) {
	c := Check{Name: "journal", Scene: id, Status: CheckDamaged, Text: err.Error(), Advice: "what it is cannot be said; bring " + JournalDir + " back from a copy"}
	if d, ok := persistence.DamageOf(err); ok {
		c.Good = d.Good.Number
		c.Advice = fmt.Sprintf("waves up to %d, facts up to %d, can be saved: %s, and resuming the copy computes the rest again", d.Good.Number, d.Good.Last, repairAdvice)
	}
	x.add(c)
}

func (x *examination) summary(id string, journal *persistence.Journal) {
	if _, err := os.Stat(filepath.Join(x.dir, parts.Summary)); err != nil {
		x.add(Check{Name: "summary", Scene: id, Status: CheckNote, Text: "there is none: the process was killed, or is a fork that has not run"})
		return
	}
	if err := told(x.dir, id, journal); err != nil {
		x.damaged("summary", id, err, "the end of the journal was lost, or the summary is of another run: "+repairAdvice+", and resuming it computes again what is missing")
		return
	}
	x.ok("summary", id, "agrees with the journal")
}

func (x *examination) index(id string, errs []error) {
	if len(errs) == 0 {
		x.ok("index", id, "agrees with the facts")
		return
	}
	x.damaged("index", id, fmt.Errorf("%d or more entries are wrong, the first: %w", len(errs), errs[0]), "the facts are not concerned: --repair makes the index again")
}

func (x *examination) snapshots(id string, journal *persistence.Journal) {
	checks, err := journal.CheckSnapshots()
	if err != nil {
		x.damaged("snapshots", id, err, repairAdvice)
		return
	}
	c := Check{Name: "snapshots", Scene: id, Status: CheckOK}
	var good, bad []string
	for _, s := range checks {
		if s.Err == nil {
			good = append(good, fmt.Sprint(s.Wave))
			continue
		}
		bad = append(bad, fmt.Sprintf("of wave %d: %v", s.Wave, s.Err))
	}
	c.Text = "none"
	if len(good) > 0 {
		c.Text = "good ones of waves " + strings.Join(good, ", ")
	}
	if len(bad) > 0 {
		c.Status, c.Text = CheckDamaged, c.Text+"; "+strings.Join(bad, "; ")
		c.Advice = "recovery passes it over and takes the one before, or the facts alone: " + repairAdvice
	}
	if begin := journal.Begin().Number; begin > 0 {
		x.beginning(&c, begin, checks)
	}
	x.add(c)
}

// beginning checks a history whose first facts were dropped. It is useless without a
// good snapshot at its beginning or later.
func (x *examination) beginning(c *Check, begin uint64, checks []persistence.SnapshotCheck) {
	oldest := uint64(0) // good one
	for _, s := range checks {
		if s.Err == nil {
			oldest = s.Wave
		}
	}
	switch {
	case oldest == 0:
		c.Status, c.Advice = CheckDamaged, "facts were dropped and no good snapshot is left: the state cannot be restored; bring the snapshot back from a copy"
	case oldest > begin:
		c.Status = CheckDamaged
		c.Text += fmt.Sprintf("; none of wave %d, where the kept facts begin", begin)
		c.Advice = fmt.Sprintf("the run goes on from wave %d; before it no state can be restored: bring the snapshot of wave %d back from a copy", oldest, begin)
	}
}

// lowSpace is the free space below which a disk counts as full: one table and its log.
const lowSpace = 256e6

func (x *examination) space() {
	free, _, ok := disk.Space(x.dir)
	switch gib := float64(free) / (1 << 30); {
	case !ok: // this system does not say
	case free < lowSpace:
		text := fmt.Sprintf("%.0f MiB are free on the disk", gib*1024)
		if free < 1<<20 {
			text = "the disk is full"
		}
		x.add(Check{Name: "space", Status: CheckNote, Text: text, Advice: "a run stops when its disk is full, and goes on when it is resumed with space"})
	default:
		x.ok("space", "", "%.1f GiB are free on the disk", gib)
	}
}

// Repair makes a copy of a run directory without the damaged parts, and examines the
// copy. It does not change the run.
func Repair(ctx context.Context, dir, out string, progress Progress) (*Diagnosis, error) {
	d, err := Examine(ctx, dir, progress)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Checks {
		if c.Status == CheckDamaged && (c.Name == "manifest" || c.Name == "inputs" || c.Name == "store") {
			return d, protocol.Errorf(protocol.KindCorrupt, "%s: %s cannot be repaired here: %s", dir, c.Name, c.Advice)
		}
	}
	undo, err := parts.Free(out)
	if err != nil {
		return d, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return d, protocol.Errorf(protocol.KindTransient, "%s: %w", out, err)
	}
	left, err := repair(d, dir, out)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return d, errors.Join(err, undo())
	}
	if d.Repaired, err = Examine(ctx, out, progress); err == nil && len(left) > 0 {
		d.Repaired.Healthy = false
		d.Repaired.Checks = append(d.Repaired.Checks, Check{Name: "files", Status: CheckDamaged, Text: "not copied: " + strings.Join(left, ", "), Advice: "bring these files back from a copy; facts and replay do not need them"})
	}
	return d, err
}

// repair makes the copy. It names files that cannot be read and are not in it.
func repair(d *Diagnosis, dir, out string) (left []string, err error) {
	m, p, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.CopyTo(filepath.Join(out, parts.Inputs)), carryEditions(dir, out, m)); err != nil {
		return nil, err
	}
	if err := salvage(d, m.Scenes, dir, out); err != nil {
		return nil, err
	}
	if left, err = parts.Carry(dir, out); err != nil {
		return nil, protocol.Errorf(protocol.KindTransient, "%s: %w", out, err)
	}
	if err := carryArtifacts(dir, out); err != nil {
		return nil, err
	}
	return left, writeManifest(out, m)
}

// salvage writes the intact part of every journal into a new store.
func salvage(d *Diagnosis, ids []string, dir, out string) (err error) {
	from, err := openToSave(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := OpenStore(out, persistence.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for _, id := range ids {
		for _, c := range d.Checks {
			var err error
			switch {
			case c.Scene != id || c.Status == CheckNote:
			case c.Name == "journal":
				err = errors.Join(from.Salvage(id, c.Good, to), dropBadSnapshots(to, id))
			case c.Name == "effects":
				err = from.Salvage(outside.JournalID(id), c.Good, to)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func dropBadSnapshots(store *persistence.Store, id string) error {
	journal, err := store.Journal(id)
	if err != nil {
		return err
	}
	defer journal.Close()
	checks, err := journal.CheckSnapshots()
	for _, s := range checks {
		if s.Err != nil {
			err = errors.Join(err, journal.RemoveSnapshot(s.Wave))
		}
	}
	return err
}
