package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
)

// Run is a run directory that is open. You owe Close.
type Run struct {
	*rundir.Opened

	scenes map[string]*Scene
}

// Open opens a run directory for reading, as it is at the moment. Another process
// may run it meanwhile.
func Open(dir string) (*Run, error) { return runOf(rundir.Open(dir)) }

func runOf(o *rundir.Opened, err error) (*Run, error) {
	if err != nil {
		return nil, err
	}
	return &Run{Opened: o, scenes: map[string]*Scene{}}, nil
}

// Scene opens a scene of the run; "" is the only one.
func (r *Run) Scene(id string) (*Scene, error) {
	if id == "" {
		if len(r.Manifest.Scenes) != 1 {
			return nil, protocol.Errorf(protocol.KindInvalid, "run %s has %d scenes: name one of %s with --scene", r.Dir, len(r.Manifest.Scenes), strings.Join(r.Manifest.Scenes, ", "))
		}
		id = r.Manifest.Scenes[0]
	}
	if !slices.Contains(r.Manifest.Scenes, id) {
		return nil, protocol.Errorf(protocol.KindNotFound, "there is no scene %q; the run has %s", id, strings.Join(r.Manifest.Scenes, ", "))
	}
	if s := r.scenes[id]; s != nil {
		return s, nil
	}
	s, err := r.scene(id)
	if err == nil {
		r.scenes[id] = s
	}
	return s, err
}

func (r *Run) scene(id string) (*Scene, error) {
	def, err := r.Project.Scene(id)
	if err != nil {
		return nil, err
	}
	agents, err := def.Agents(r.Manifest.Agents)
	if err != nil {
		return nil, err
	}
	journal, err := r.Journal(id)
	if err != nil {
		return nil, err
	}
	made := sync.OnceValues(func() (*setup.Scene, error) { return r.Made(id) })
	decided := map[string]bool{}
	for _, t := range agentfact.Facts() {
		decided[t.Kind] = true
	}
	return &Scene{ID: id, run: r, def: def, made: made, agents: agents, journal: journal, codec: machines.NewCodec(), decided: decided}, nil
}

// Lost says whether the journal ends before what the run's last process told of.
// What is left can be read; a resumed run computes the rest again.
func (s *Scene) Lost() error { return s.run.Told(s.ID, s.journal) }

// Check holds the whole journal to its digests, and those to what the run's last
// process told of. Waves that it has found good are not read again.
func (s *Scene) Check(ctx context.Context) error {
	end := s.journal.Durable().Number
	if s.checked > 0 && end <= s.checked { // nothing may be all that is left
		return nil
	}
	err := s.run.Check(ctx, s.ID, s.journal, func(done, total uint64) {
		if s.Progress != nil {
			s.Progress(done, total)
		}
	})
	if err == nil {
		s.checked = end
	}
	return err
}

// Scene is one scene of a run.
type Scene struct {
	ID string
	// Progress hears now and then how many of how many facts were read; may be
	// nil.
	Progress func(done, total uint64)
	// Askers gives the endpoints of the models that give a request's question this hash, by the names of the models;
	// nil = the view deliberation compares none.
	Askers func(q *protocol.ModelRequest, hash string) (map[string]string, error)

	run     *Run
	def     *project.Scene
	made    func() (*setup.Scene, error) // costs as much as the scene has agents; who folds needs it
	agents  *project.Agents
	journal journal
	codec   *protocol.Codec
	decided map[string]bool // kinds of the facts that agents decide
	checked uint64          // last wave that Check found good, with all before
}

// journal is what views read; Redeliver adds a wave to it.
type journal interface {
	history.Writer
	rundir.Checked
	NoteAt(seq uint64) (last uint64, note []byte, err error)
}

func (s *Scene) reading() history.Options { return history.Options{Folding: s.Progress} }

// Fold is the state of the scene at the end of a wave.
func (s *Scene) Fold(wave uint64) (*machines.State, error) { return s.fold(wave, "") }

// fold is a part of that state, see [history.Part].
func (s *Scene) fold(wave uint64, only string) (*machines.State, error) {
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	return history.FoldTo(made, s.journal, wave, history.Options{Folding: s.Progress, Only: only})
}

// empty refuses a journal without a wave.
func (s *Scene) empty() error {
	if s.journal.Durable().Number == 0 {
		return protocol.Errorf(protocol.KindNotFound, "scene %s: its journal is empty: the run was stopped before the first moment was kept", s.ID)
	}
	return nil
}

// name is the instance id of an ordinal.
func (s *Scene) name(ordinal uint32) string {
	if int(ordinal) < s.agents.Len() {
		return s.agents.At(int(ordinal)).ID
	}
	return sceneActor
}

// sceneActor is the source of the scene's own facts, and the agent that runs its
// workflows.
const sceneActor = "$scene"

// agent checks that an instance id is one of the scene.
func (s *Scene) agent(id string) error {
	if _, ok := s.agents.Find(id); ok || id == sceneActor {
		return nil
	}
	return unknown("agent", id, "near it are", func(yield func(string) bool) {
		for in := range s.agents.All() {
			if !yield(in.ID) {
				return
			}
		}
	})
}

// maxNames bounds the names that an error suggests.
const maxNames = 5

// unknown reports a name that is not there, with the nearest that are.
func unknown(what, name, lead string, known func(yield func(string) bool)) error {
	type near struct {
		name     string
		distance int
	}
	var list []near
	limit := max(3, len(name)/2)
	known(func(k string) bool {
		d := protocol.EditDistance(name, k, limit+1)
		if strings.Contains(k, name) {
			d = min(d, limit)
		}
		if d <= limit {
			at, _ := slices.BinarySearchFunc(list, d, func(n near, d int) int { return cmp.Compare(n.distance, d+1) })
			if at < maxNames {
				list = slices.Insert(list, at, near{k, d})
				list = list[:min(len(list), maxNames)]
			}
		}
		return true
	})
	var names []string
	for _, n := range list {
		names = append(names, n.name)
	}
	if len(names) == 0 {
		return protocol.Errorf(protocol.KindNotFound, "there is no %s %q", what, name)
	}
	return protocol.Errorf(protocol.KindNotFound, "there is no %s %q; %s %s", what, name, lead, strings.Join(names, ", "))
}

// ErrStop ends a walk over the journal before its end, and is no fault.
var ErrStop = errors.New("enough")

// facts is Scan with the facts decoded.
func (s *Scene) facts(q persistence.Query, yield func(protocol.Record, protocol.Fact) error) error {
	return s.Scan(q, func(r protocol.Record) error {
		fact, err := s.Fact(r)
		if err != nil {
			return err
		}
		return yield(r, fact)
	})
}

// Scan hands over the records that q chooses, in order, and tells Progress. It ends
// with an error of yield and returns it; ErrStop is none.
func (s *Scene) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	total, seen := s.journal.Durable().Last, uint64(0)
	err := s.journal.Scan(q, func(r protocol.Record) error {
		if seen++; s.Progress != nil && seen%progressEvery == 0 {
			s.Progress(r.Seq, total)
		}
		return yield(r)
	})
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

const progressEvery = 1 << 14

// Fact decodes a record.
func (s *Scene) Fact(r protocol.Record) (protocol.Fact, error) {
	f, err := s.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		err = protocol.Errorf(protocol.KindOf(err), "scene %s: fact %d: %w", s.ID, r.Seq, err)
	}
	return f, err
}

// waves finds the wave of a fact. Walks go forward, so the next wave is tried
// first.
type waves struct {
	journal history.Journal
	at      persistence.Wave
}

func (w *waves) of(seq uint64) (uint64, error) {
	if seq >= w.at.First && seq <= w.at.Last && w.at.Number > 0 {
		return w.at.Number, nil
	}
	if next, err := w.journal.Wave(w.at.Number + 1); err == nil && seq >= next.First && seq <= next.Last {
		w.at = next
		return next.Number, nil
	}
	lo, hi := w.journal.Begin().Number+1, w.journal.Durable().Number
	for lo < hi {
		mid := lo + (hi-lo)/2
		m, err := w.journal.Wave(mid)
		if err != nil {
			return 0, err
		}
		if m.Last < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var err error
	w.at, err = w.journal.Wave(lo)
	return w.at.Number, err
}

func (s *Scene) waves() *waves { return &waves{journal: s.journal} }

// ended is why the scene ended; "" = it can go on.
func (s *Scene) ended() (string, error) { return history.End(s.journal) }

// begun is the scene time of its start.
func (s *Scene) begun() (protocol.Time, error) { return history.Start(s.journal) }

func (s *Scene) clock() agenda.ClockKind { return s.run.Manifest.Clocks[s.ID] }
