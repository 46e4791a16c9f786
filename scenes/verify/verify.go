// Package verify holds a history to the rules: it decides every wave of a
// journal again and compares what comes out with what was recorded.
//
// You hold an open journal and call [Run]. From the state before a wave it wakes
// the agents whose turn it is, with the same world, inbox and chance, gives them
// the model answers that were recorded, and compares their facts byte by byte;
// then world, knowledge and channel decide about the requests, and the scene
// itself closes the wave. The recorded facts are folded, so one wave's
// difference would not hide in the next.
//
// # Promises
//
//  1. No model, tool or actor is asked and nothing is written.
//  2. A fact is counted as verified only when the machine that decided it was
//     asked again and gave the same bytes. What cannot be decided again is
//     counted beside it, with the reason.
//  3. The first difference ends the walk; it is the same for any number of cores.
//  4. Memory is bounded by one wave: its requests, and the facts of at most
//     [chunk] deliberations.
//
// # What cannot be decided again
//
// Failures of actors and what they took with them; everything on the realtime
// clock, where order and moments are what happened; what was decided outside
// (pauses, resumptions, the end); what the event channel decided with middleware
// of a host that is not here ([Options].NoMiddleware); model failures of runs that did not keep the
// kind of an error, and what follows from them in the same wave.
//
// # Not here
//
// Checksums and digests (persistence), loading a run (scenes/runner).
package verify

import (
	"context"
	"errors"
	"iter"
	"runtime"

	"tavernsim/engine/agent"
	"tavernsim/engine/director"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// Reasons for which facts are taken as they are.
const (
	TakenFailure    = "failure"     // of an actor
	TakenLetters    = "dead_letter" // a mailbox did not take something
	TakenRealtime   = "realtime"    // order and moments are what happened
	TakenOutside    = "outside"     // somebody outside asked for it
	TakenMiddleware = "middleware"  // the host's middleware had a say, and is not here
	TakenLost       = "lost"        // not enough was recorded, or a turn whose requests are not known came before
)

// Report is what a walk found.
type Report struct {
	Scene         string            `json:"scene"`
	From          uint64            `json:"from"` // wave after which it began
	Waves         uint64            `json:"waves"`
	Facts         uint64            `json:"facts"`
	Verified      uint64            `json:"verified"` // facts
	Deliberations uint64            `json:"deliberations"`
	Taken         map[string]uint64 `json:"taken"` // facts that cannot be decided again, by reason
	Difference    *Difference       `json:"difference,omitempty"`
}

// Difference is where a history and the rules part.
type Difference struct {
	Wave     uint64 `json:"wave"`
	Seq      uint64 `json:"seq"` // of the recorded fact
	Time     string `json:"time"`
	Actor    string `json:"actor"`
	Reason   string `json:"reason"`
	Recorded *Side  `json:"recorded"` // null = the journal has nothing there
	Decided  *Side  `json:"decided"`  // null = nothing was decided
}

// Side is one of the two facts.
type Side struct {
	Actor string `json:"actor"`
	Kind  string `json:"kind"`
	Time  string `json:"time"`
	Fact  any    `json:"fact"`
}

// Options of a walk.
type Options struct {
	Through  *persistence.Wave // last wave; nil = to the end
	Workers  int               // 0 = GOMAXPROCS
	Progress func(done, total uint64)

	// NoMiddleware: the scene's host had middleware, and the scene that is given has
	// none. The channel is not asked then; what follows from its facts is.
	NoMiddleware bool
}

// Run decides a journal again and returns what it found, with the state at the
// end of the walk. A difference is no error: it is in the report.
func Run(ctx context.Context, made *setup.Scene, journal *persistence.Journal, opt Options) (*Report, *machines.State, error) {
	v := &verifier{ctx: ctx, opt: opt, codec: protocol.NewCodec(), seed: made.Seed}
	v.report = &Report{Scene: made.ID, From: journal.Begin().Number, Taken: map[string]uint64{}}
	var err error
	if v.state, err = history.FoldTo(made, journal, v.report.From, history.Options{NoSnapshots: true}); err != nil {
		return nil, nil, err
	}
	through := journal.Durable()
	if opt.Through != nil {
		through = *opt.Through
	}
	if v.marks, err = marksOf(journal); err != nil {
		return nil, nil, err
	}
	if v.opt.Workers <= 0 {
		v.opt.Workers = runtime.GOMAXPROCS(0)
	}
	return v.report, v.state, v.walk(journal, through)
}

// verifier is one walk.
type verifier struct {
	ctx    context.Context
	opt    Options
	codec  *protocol.Codec
	state  *machines.State
	report *Report
	marks  map[uint64]string
	seed   uint64 // in force: a fork may change it
	spaces spaces

	next func() (protocol.Record, error, bool)
	head []protocol.Record // read; those before at are folded
	at   int
	err  error // of reading
	wave *wave // that is decided
}

// wave is what is known of the wave so far.
type wave struct {
	number    uint64
	time      protocol.Time
	order     []uint32
	workflow  string
	requests  map[string][]protocol.Raw
	turns     int64
	published int64
	lost      bool // the requests are not all known
	expires   bool // time passes for the world

	interrupted   map[uint32]bool
	interruptions []*director.Interrupted // not yet compared
}

// errDiffers ends a walk at a difference, which is in the report.
type errDiffers struct{}

func (errDiffers) Error() string { return "the history and the rules differ" }

func (v *verifier) walk(journal *persistence.Journal, through persistence.Wave) error {
	from := journal.Begin().Last + 1
	if through.Last < from {
		return nil
	}
	next, stop := iter.Pull2(func(yield func(protocol.Record, error) bool) {
		ended := errors.New("nobody reads on")
		err := journal.Scan(persistence.Query{From: from, To: through.Last}, func(r protocol.Record) error {
			if !yield(r, nil) {
				return ended
			}
			return nil
		})
		if err != nil && !errors.Is(err, ended) {
			yield(protocol.Record{}, err)
		}
	})
	defer stop()
	v.next = next
	for v.state.Director.Wave < through.Number {
		if err := v.ctx.Err(); err != nil {
			return protocol.Errorf(protocol.KindCancelled, "verify: %w", err)
		}
		err := v.decideWave()
		if v.err != nil {
			return v.err
		}
		if errors.As(err, &errDiffers{}) {
			return nil
		}
		if err != nil {
			return err
		}
		v.report.Waves++
		if v.opt.Progress != nil {
			v.opt.Progress(v.report.Facts, through.Last-from+1)
		}
	}
	return nil
}

// peek is the next recorded fact, or the one after it, and so on.
func (v *verifier) peek(ahead int) (protocol.Record, bool) {
	for len(v.head)-v.at <= ahead {
		if v.err != nil {
			return protocol.Record{}, false
		}
		r, err, ok := v.next()
		if !ok || err != nil {
			v.err = err
			return protocol.Record{}, false
		}
		v.head = append(v.head, r)
	}
	return v.head[v.at+ahead], true
}

// fold takes the next recorded fact into the state.
func (v *verifier) fold() error {
	r := v.head[v.at]
	if v.at++; v.at == len(v.head) || v.at == maxPassed {
		n := copy(v.head, v.head[v.at:])
		clear(v.head[n:])
		v.head, v.at = v.head[:n], 0
	}
	v.report.Facts++
	return v.state.Apply(r)
}

// maxPassed is how many folded facts are held before their memory is used again.
const maxPassed = 1 << 15

// take folds the next recorded fact without deciding it again.
func (v *verifier) take(reason string) error {
	v.report.Taken[reason]++
	return v.fold()
}

// expect holds the next recorded fact to one that was decided, and folds it.
func (v *verifier) expect(actor string, at protocol.Time, f protocol.Fact) error {
	raw, err := v.codec.Marshal(f)
	if err != nil {
		return err
	}
	r, ok := v.peek(0)
	if err := v.same(r, ok, actor, at, protocol.KindData{Kind: f.FactKind(), Data: raw}); err != nil {
		return err
	}
	v.report.Verified++
	return v.fold()
}

// marksOf finds the waves that were asked for from outside, by number.
func marksOf(journal *persistence.Journal) (map[uint64]string, error) {
	marks := map[uint64]string{}
	var seqs []uint64
	var kinds []string
	err := journal.Scan(persistence.Query{Kinds: []string{director.FactPaused, director.FactResumed, director.FactEnded, director.FactForked, director.FactRedelivered}}, func(r protocol.Record) error {
		seqs, kinds = append(seqs, r.Seq), append(kinds, r.Kind)
		return nil
	})
	if err != nil || len(seqs) == 0 {
		return marks, err
	}
	i := 0
	return marks, journal.Waves(journal.Begin().Number+1, func(w persistence.Wave) error {
		for ; i < len(seqs) && seqs[i] <= w.Last; i++ {
			marks[w.Number] = kinds[i]
		}
		return nil
	})
}

// spaces lends working memory to deliberations; it is agent.Spaces.
type spaces chan *agent.Space

// Get implements agent.Spaces.
func (s spaces) Get() *agent.Space {
	select {
	case space := <-s:
		return space
	default:
		return &agent.Space{}
	}
}

// Put implements agent.Spaces.
func (s spaces) Put(space *agent.Space) {
	select {
	case s <- space:
	default:
	}
}
