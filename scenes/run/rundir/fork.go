package rundir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/world"
	"tavernsim/internal/lenient"
	"tavernsim/internal/source"
	"tavernsim/llm/replay"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/toolreplay"
)

// ForkOptions set the place of a fork and its changes.
type ForkOptions struct {
	At       string   // a place as history.Find reads it
	Scene    string   // "" = every scene of the run
	Seed     *uint64  // nil = as it was
	Set      []string // KEY=VALUE: see forkKeys
	Version  string
	Args     []string
	Progress Progress
	// Model checks the script of --set model=FILE: see project.Options.
	Model func(file string, data []byte, report *source.Report) bool
}

// forkKeys is what --set can change.
const forkKeys = "world.PATH=JSON, model=FILE, simulation.stop.after=DURATION, simulation.stop.ticks=N, simulation.stop.until=EXPR"

// Forked is the origin of a fork.
type Forked struct {
	Parent  string               `json:"parent"` // name of the run
	Scenes  map[string]ForkedCut `json:"scenes"`
	Changes []string             `json:"changes"`
}

// ForkedCut is where one scene of it was taken over.
type ForkedCut struct {
	Wave   uint64 `json:"wave"`
	Seq    uint64 `json:"seq"`
	Time   string `json:"time"`
	Digest string `json:"digest"`
}

// Fork makes a new run directory that continues from a place in another run. It does not
// change that run. The directory appears completely or not at all, also when ctx ends.
func Fork(ctx context.Context, dir, out string, opt ForkOptions) (m *Manifest, err error) {
	changes, err := readChanges(opt)
	if err != nil {
		return nil, err
	}
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	undo, err := parts.Free(out)
	if err != nil {
		return nil, err
	}
	f := &forking{run: run, out: out, opt: opt, changes: changes}
	if err := f.plan(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, protocol.Errorf(protocol.KindTransient, "run directory %s: %w", out, err)
	}
	if err := f.make(ctx); err != nil {
		return nil, errors.Join(err, undo())
	}
	return f.manifest, nil
}

// forking is a fork under way.
type forking struct {
	run      *Opened
	out      string
	opt      ForkOptions
	changes  *changes
	ids      []string
	cuts     map[string]history.Place
	manifest *Manifest
	project  *project.Project // of the fork
}

// plan finds the cuts and makes the manifest; it writes nothing.
func (f *forking) plan() (err error) {
	if f.ids, err = f.run.Scenes(f.opt.Scene); err != nil {
		return err
	}
	for _, id := range f.ids {
		if made, err := f.run.Made(id); err != nil {
			return err
		} else if len(made.Def.Definition.Links) > 0 {
			return protocol.Errorf(protocol.KindInvalid, "scene %s: forks of scenes with links to others are not built yet: the other scenes would know of trips that it has not begun; start a run with --seed and --orders in its place", id)
		}
	}
	m := *f.run.Manifest
	m.Created, m.Program, m.Args = time.Now().UTC().Truncate(time.Millisecond), f.opt.Version, f.opt.Args
	m.Scenes = f.ids
	m.Began, m.Run = cmp.Or(m.Began, m.Run), Name(m.Created, f.ids)
	m.Seeds = map[string]uint64{}
	m.Fork = &Forked{Parent: f.run.Manifest.Run, Scenes: map[string]ForkedCut{}, Changes: f.changes.texts}
	if n := len(f.run.Manifest.Scenes); len(f.ids) < n { // it goes on with the share that it had
		m.Budget, m.Sharers = m.Budget.Share(n), cmp.Or(m.Sharers, n)
	}
	f.changes.limits(&m)
	f.cuts = map[string]history.Place{}
	for _, id := range f.ids {
		if err := f.planScene(id, &m); err != nil {
			return err
		}
	}
	f.manifest = &m
	return nil
}

func (f *forking) planScene(id string, m *Manifest) error {
	made, journal, err := f.run.Scene(id)
	if err != nil {
		return err
	}
	defer journal.Close()
	cut, err := history.Find(journal, f.opt.At)
	if err != nil {
		return err
	}
	if reason, err := history.End(journal); err != nil || reason != "" && cut.Number == journal.Durable().Number {
		return errors.Join(err, protocol.Errorf(protocol.KindConflict, "scene %s has ended at %s (%s): nothing can continue from there; fork at an earlier place", id, f.opt.At, reason))
	}
	m.Seeds[id] = f.run.Manifest.Seeds[id]
	if f.opt.Seed != nil {
		m.Seeds[id] = *f.opt.Seed
	}
	if cut.Number == 0 && len(f.changes.world) > 0 {
		return protocol.Errorf(protocol.KindInvalid, "scene %s: at its beginning the world is what the definition says; fork at wave:1 or later to set it", id)
	}
	if f.changes.ticks > 0 && m.Clocks[id] == agenda.Realtime {
		return protocol.Errorf(protocol.KindInvalid, "scene %s: ticks belong to the virtual clock; end a realtime run with a time", id)
	}
	if err := f.checkModel(id, made.Simulation().Model); err != nil {
		return err
	}
	if f.cuts[id], err = history.PlaceAt(journal, cut, f.run.Manifest.Seeds[id]); err != nil {
		return err
	}
	m.Fork.Scenes[id] = ForkedCut{Wave: cut.Number, Seq: cut.Last, Time: cut.MaxTime.String(), Digest: cut.Digest.String()}
	return nil
}

// make writes the directory, the manifest last.
func (f *forking) make(ctx context.Context) error {
	for _, step := range []func() error{
		f.inputs,
		func() error {
			return persistence.Copy(filepath.Join(f.run.Dir, JournalDir), filepath.Join(f.out, JournalDir))
		},
		f.cut, f.answers, f.orders,
		func() error {
			return toolreplay.Copy(filepath.Join(f.run.Dir, ToolAnswers), filepath.Join(f.out, ToolAnswers))
		},
		func() error { return carryArtifacts(f.run.Dir, f.out) },
	} {
		if err := step(); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return protocol.Errorf(protocol.KindCancelled, "fork: %w", err)
		}
	}
	return writeManifest(f.out, f.manifest)
}

// inputs copies the inputs and the editions that reloads of plugins made of them, with another
// model if that was asked for.
func (f *forking) inputs() (err error) {
	if err := f.run.Project.CopyTo(filepath.Join(f.out, parts.Inputs)); err != nil {
		return err
	}
	if err := carryEditions(f.run.Dir, f.out, f.run.Manifest); err != nil {
		return err
	}
	if f.project, err = f.copied(1); err != nil {
		return err
	}
	f.manifest.ProjectHash, f.manifest.Files = f.project.Hash(), Files(f.project)
	f.manifest.Editions = slices.Clone(f.manifest.Editions)
	if f.changes.model == "" {
		return nil
	}
	for i := range f.manifest.Editions {
		e := &f.manifest.Editions[i]
		p, err := f.copied(e.Number)
		if err != nil {
			return err
		}
		e.Named, e.ProjectHash = e.name(), p.Hash()
	}
	return nil
}

// copied reads a copy of the project, with the model of the fork.
func (f *forking) copied(edition uint64) (*project.Project, error) {
	dir := EditionDir(f.out, edition)
	if f.changes.model != "" {
		for _, id := range f.ids {
			def, err := f.run.Project.Scene(id)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(def.Definition.Simulation.Model)), f.changes.modelData, 0o644); err != nil {
				return nil, protocol.Errorf(protocol.KindTransient, "model: %w", err)
			}
		}
	}
	return Load(dir, f.manifest.loading())
}

// cut ends the copied journals at their cuts and appends what changes there.
func (f *forking) cut() (err error) {
	store, err := OpenStore(f.out, persistence.Options{BatchFacts: f.manifest.BatchFacts})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := f.removeOthers(store); err != nil {
		return err
	}
	for _, id := range f.ids {
		f.opt.Progress.Of(id, "cutting the copy")(0, 1)
		if err := store.CutAfter(id, f.cuts[id].Number); err != nil {
			return err
		}
		if err := f.append(store, id); err != nil {
			return err
		}
	}
	return nil
}

// answers keeps what endpoints answered in the parent after the cuts, and behind it what the parent
// had recorded and did not come to: the fork asks only for what its changes change.
func (f *forking) answers() (err error) {
	type asked struct {
		place    replay.Place
		question string
	}
	given := map[asked]bool{}
	recorded, err := f.run.Manifest.RecordedAnswers(f.run.Dir)
	if err != nil {
		return err
	}
	if recorded == nil {
		recorded = &replay.Answers{}
	}
	f.manifest.Answers, err = writeAnswers(f.out, recorded.Terms, func(yield func(*replay.Entry) error) error {
		for _, id := range f.ids {
			if err := f.run.answersAfter(id, f.cuts[id].Last, func(e *replay.Entry) error { given[asked{e.Place(), e.Question}] = true; return yield(e) }); err != nil {
				return err
			}
		}
		return recorded.Each(func(e *replay.Entry) error {
			if given[asked{e.Place(), e.Question}] {
				return nil
			}
			return yield(e)
		})
	})
	return err
}

// removeOthers removes, from the copy, scenes that are not part of the fork, and the
// logs of effects: the fork makes the open requests of the run again.
func (f *forking) removeOthers(store *persistence.Store) error {
	ids, err := store.Scenes()
	for _, id := range ids {
		if err == nil && !slices.Contains(f.ids, id) {
			err = store.Remove(id)
		}
	}
	return err
}

// append keeps the fact with what changes at the cut: also what a later fork of the parent changed. A fork without changes has
// no such fact, so that it ends with the same digest as its parent.
func (f *forking) append(store *persistence.Store, id string) error {
	cut, seed := f.cuts[id], f.manifest.Seeds[id]
	texts := cut.Changes(f.changes.texts)
	if seed != cut.Seed || cut.Older {
		texts = append(texts, fmt.Sprintf("seed=%d", seed))
	}
	if cut.Number == 0 || len(texts) == 0 && !f.project.HasTasks() && len(f.manifest.Editions) == 0 && len(f.manifest.External) == 0 {
		return nil
	}
	journal, err := store.Journal(id)
	if err != nil {
		return err
	}
	made, err := f.manifest.Made(f.project, id, nil, nil)
	if err == nil {
		err = f.manifest.AddEditions(f.out, made, nil, nil)
	}
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		state, err := history.FoldTo(made, journal, cut.Number, history.Options{})
		if err != nil || state.Tasks().State.Len() == 0 {
			return err
		}
	}
	_, err = history.Fork(made, journal, history.Options{Folding: f.opt.Progress.Of(id, "folding")}, &agenda.Forked{
		Parent: f.run.Manifest.Run, Wave: cut.Number, Digest: cut.Digest.String(), Seed: seed, Changes: texts,
	}, f.changes.world)
	return err
}

// changes are the changes of --set.
type changes struct {
	texts     []string // as they were given, the model's as its file's name
	world     []world.Request
	model     string
	modelData []byte
	after     time.Duration
	ticks     int64
	until     string
}

// limits lays new stop conditions over those of the run.
func (c *changes) limits(m *Manifest) {
	if c.after > 0 {
		m.For = protocol.Duration(c.after)
	}
	if c.ticks > 0 {
		m.Ticks = c.ticks
	}
	if c.until != "" {
		m.Until = c.until
	}
}

// readChanges reads all of --set before the fork writes anything.
func readChanges(opt ForkOptions) (*changes, error) {
	c := &changes{texts: []string{}}
	for _, text := range opt.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, protocol.Errorf(protocol.KindInvalid, "--set %s: want KEY=VALUE, one of %s", text, forkKeys)
		}
		if err := c.read(key, value); err != nil {
			kind := protocol.KindInvalid
			if errors.Is(err, fs.ErrNotExist) {
				kind = protocol.KindNotFound
			}
			return nil, protocol.Errorf(kind, "--set %s: %w", text, err)
		}
		c.texts = append(c.texts, text)
	}
	return c, nil
}

func (c *changes) read(key, value string) (err error) {
	if path, ok := strings.CutPrefix(key, "world."); ok {
		return c.setWorld(path, value)
	}
	switch key {
	case "model":
		c.model = value
		c.modelData, err = os.ReadFile(value)
	case "simulation.stop.after":
		if c.after, err = time.ParseDuration(value); err != nil || c.after <= 0 {
			err = errors.New("want a positive time, for example 90m")
		}
	case "simulation.stop.ticks":
		if c.ticks, err = strconv.ParseInt(value, 10, 64); err != nil || c.ticks <= 0 {
			err = errors.New("want a whole number from 1 on")
		}
	case "simulation.stop.until":
		c.until, err = value, setup.CheckUntil(value)
	case "seed":
		err = errors.New("a seed is set with --seed N, a whole number from 0 on")
	default:
		err = fmt.Errorf("%s cannot be changed within a run; what can is %s, and the seed with --seed", key, forkKeys)
	}
	return err
}

// checkModel reads the new script in the notation of the one that it replaces,
// under the name that was given: its faults are in that file.
func (f *forking) checkModel(scene, replaced string) error {
	if f.changes.model == "" {
		return nil
	}
	if replaced == "" {
		return protocol.Errorf(protocol.KindInvalid, "scene %s names no model file (simulation.model), so there is none to replace", scene)
	}
	if f.opt.Model == nil {
		return nil
	}
	report := &source.Report{}
	f.opt.Model(replaced, f.changes.modelData, report)
	err := report.Err()
	if faults, ok := errors.AsType[*project.Error](err); ok {
		for i := range faults.Faults {
			faults.Faults[i].File = f.changes.model
		}
	}
	return err
}

func (c *changes) setWorld(path, value string) error {
	p, err := world.ParsePath(path)
	if err != nil {
		return err
	}
	t, err := lenient.Read(value, lenient.Options{Plain: true, Strict: true})
	if err != nil || len(t.Repairs) > 0 {
		return fmt.Errorf("%s is no JSON value; text wants quotes: '\"%s\"'", value, value)
	}
	c.world = append(c.world, world.Request{
		ID: fmt.Sprintf("fork.%d", len(c.world)+1), By: "$scene", Profile: "$scene", Reason: "fork", Path: p, Op: world.OpSet, Value: protocol.Encode(t.Value), Group: "fork",
	})
	return nil
}

// orders copies the orders that the run has from its beginning.
func (f *forking) orders() error {
	list, err := orders.Kept(f.run.Dir)
	if err != nil {
		return err
	}
	return orders.Keep(f.out, list)
}
