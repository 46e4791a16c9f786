// Package verify checks a history against the rules: it decides every wave of a
// journal again and compares the facts with the recorded ones.
//
// You hold an open journal and call [Run]. It drives the machines of a live scene
// (scenes/machines) with the inputs that the history shows: the stage says which
// agents have a turn; they decide again, with the same world, inbox and chance, from
// the answers that were recorded; the services decide about their requests; and every
// fact that the stage wants kept is compared with the recorded one, byte by byte.
//
// # Promises
//
//  1. No model, tool or actor is asked and nothing is written.
//  2. A fact is counted as verified only when the machine that decided it was
//     asked again and gave the same bytes. Facts that cannot be decided again are
//     counted separately, with the reason.
//  3. The first difference ends the walk; it is the same for any number of cores.
//  4. Memory is bounded by one wave: its requests, the facts of a service about
//     them, and the facts of at most [Options].Chunk deliberations; on the realtime clock
//     also by what changed in the last [views] waves of the world and the bases.
//
// # What cannot be decided again
//
//   - Failures of actors and their consequences.
//   - Whether a task that failed was carried out, which tool.task_uncharged alone says.
//   - Decisions from outside: pauses, resumptions, orders, ends by request or by a budget. The changes of an order are decided again.
//   - An end at a limit of time by a scene that has nothing else to do: an order for a later time may have waited, and no fact tells of it.
//   - Decisions of the event channel with middleware of a host that is missing here ([Options].NoMiddleware).
//   - Turns without enough records, decisions of services in the same wave, and the stage's facts about
//     their requests: facts that name such a turn and that it can have caused, such as those of a director.
//   - Turns of agents for which a mailbox refused something, if the facts only count the deliveries and do not name them.
//   - On the realtime clock also turns of agents whose inbox had no room, for which a
//     mailbox refused something, or that took longer than [views] waves.
//
// On the realtime clock, verify takes from the history when a wave begins, which turns it takes, when the scene ends, and how much had
// reached an agent when its turn began, because timing decided that. It takes, too, which tasks found no room in a budget of tools, if calls may
// count there that no fact says yet: on the virtual clock those of failed turns of agents with tools of the project or the host, or, in a
// wave that somebody outside opened, of turns that a kill cut off. No task of the wave behind such a one may have room that costs as much. It decides again
// what the agents, the services and the stage do then.
//
// # Not here
//
// Checksums and digests (persistence), the run directory (scenes/run/rundir).
package verify

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Reasons for which facts are taken as they are.
const (
	TakenFailure    = "failure"     // of an actor
	TakenLetters    = "dead_letter" // a mailbox did not take something
	TakenOutside    = "outside"     // somebody outside asked for it
	TakenMiddleware = "middleware"  // the host's middleware had a say, and is not here
	TakenLost       = "lost"        // not enough was recorded, or such a turn came before
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
	Chunk    int               // deliberations that are decided at once; 0 = 2,048
	Progress func(done, total uint64)

	// NoMiddleware: the scene's host had middleware, and the scene that is given has
	// none. The channel is not asked then; what follows from its facts is.
	NoMiddleware bool

	// Asked hears of every request of a deliberation that is decided again; turn counts
	// from 1. It is called on many goroutines, and keeps nothing of the request. May be nil.
	Asked func(agent string, turn uint64, q *effect.Ask)
}

// Run decides a journal again and returns what it found, with the state at the
// end of the walk. A difference is no error: it is in the report.
func Run(ctx context.Context, made *setup.Scene, journal history.Journal, opt Options) (*Report, *machines.State, error) {
	own := *made // its seed is that of the beginning: see started
	made = &own
	v := &verifier{ctx: ctx, opt: opt, made: made, codec: machines.NewCodec(), unsure: map[uint32]bool{}}
	v.report = &Report{Scene: made.ID, From: journal.Begin().Number, Taken: map[string]uint64{}}
	var err error
	if v.state, err = history.FoldTo(made, journal, v.report.From, history.Options{NoSnapshots: true}); err != nil {
		return nil, nil, err
	}
	through := journal.Durable()
	if opt.Through != nil {
		through = *opt.Through
	}
	if v.opt.Workers <= 0 {
		v.opt.Workers = runtime.GOMAXPROCS(0)
	}
	if v.opt.Chunk <= 0 {
		v.opt.Chunk = 2048
	}
	if err := v.countForks(journal); err != nil {
		return nil, nil, err
	}
	v.settle()
	return v.report, v.state, v.walk(journal, through)
}

// verifier is one walk.
type verifier struct {
	ctx    context.Context
	opt    Options
	made   *setup.Scene
	codec  *protocol.Codec
	state  *machines.State
	stage  *machines.Stage
	report *Report
	given  []protocol.Record // of this wave: what came from outside of the machines
	more   *reading          // of such facts, of later waves
	// unsure are agents that may have perceived something else than a fold knows:
	// there was no room in the inbox, or a mailbox refused something.
	unsure map[uint32]bool
	forks  int // before the walk
	spaces spaces

	facts *reading
	head  []protocol.Record // read; those before at are folded
	at    int
	err   error // of reading

	wave   uint64          // that is decided
	lost   bool            // the requests of the wave are not all known
	takes  map[uint64]bool // facts of the stage that came of such requests, by number
	failed map[string]int  // failures of services that the stage has heard of
	ends   bool            // the stage decides it, if the scene ends
	taken  string          // why the facts that come are taken as they are; "" = they are decided
	wakes  []machines.Effect
	asked  *machines.Effect
	packs  []machines.Effect

	realtime realtime
}

// errDiffers ends a walk at a difference, which is in the report.
type errDiffers struct{}

func (errDiffers) Error() string { return "the history and the rules differ" }

func (v *verifier) walk(journal history.Journal, through persistence.Wave) error {
	from := journal.Begin().Last + 1
	if through.Last < from {
		return nil
	}
	v.facts = read(journal, persistence.Query{From: from, To: through.Last})
	defer v.facts.stop()
	v.more = read(journal, persistence.Query{From: from, Kinds: []string{agenda.FactPaused, agenda.FactResumed, agenda.FactEnded, agenda.FactForked,
		agenda.FactRedelivered, agenda.FactActorFailed, agenda.FactDeadLettered, agenda.FactIntervened, agenda.FactAbandoned}})
	defer v.more.stop()
	for v.state.Agenda.Wave < through.Number {
		if err := v.ctx.Err(); err != nil {
			return protocol.Errorf(protocol.KindCancelled, "verify: %w", err)
		}
		if err := v.readGiven(journal); err != nil {
			return err
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
		r, err, ok := v.facts.next()
		if !ok || err != nil {
			v.err = err
			return protocol.Record{}, false
		}
		v.head = append(v.head, r)
	}
	return v.head[v.at+ahead], true
}

// pass drops the next recorded fact, which the state has taken.
func (v *verifier) pass() protocol.Record {
	r := v.head[v.at]
	if v.at++; v.at == len(v.head) || v.at == maxPassed {
		n := copy(v.head, v.head[v.at:])
		clear(v.head[n:])
		v.head, v.at = v.head[:n], 0
	}
	v.report.Facts++
	return r
}

// upTo is the next fact, if its number is not above last.
func (r *reading) upTo(last uint64) (f protocol.Record, err error, ok bool) {
	if r.head == nil {
		if f, err, ok = r.next(); err != nil || !ok {
			return f, err, false
		}
		r.head = &f
	}
	if r.head.Seq > last {
		return f, nil, false
	}
	f, r.head = *r.head, nil
	return f, nil, true
}

// maxPassed is how many passed facts are held before their memory is used again.
const maxPassed = 1 << 15

// readGiven reads what came from outside of the machines in the wave that is decided
// next.
func (v *verifier) readGiven(journal history.Journal) error {
	v.given = v.given[:0]
	end, err := journal.Wave(v.state.Agenda.Wave + 1)
	if err != nil {
		return err
	}
	for {
		r, err, ok := v.more.upTo(end.Last)
		if err != nil || !ok {
			return err
		}
		r.Data = slices.Clone(r.Data)
		v.given = append(v.given, r)
	}
}

// reading is a scan of a journal, fact by fact.
type reading struct {
	next func() (protocol.Record, error, bool)
	stop func()
	head *protocol.Record // read by upTo, and later than that
}

func read(journal history.Journal, q persistence.Query) *reading {
	r := &reading{}
	r.next, r.stop = iter.Pull2(func(yield func(protocol.Record, error) bool) {
		ended := errors.New("nobody reads on")
		err := journal.Scan(q, func(r protocol.Record) error {
			if !yield(r, nil) {
				return ended
			}
			return nil
		})
		if err != nil && !errors.Is(err, ended) {
			yield(protocol.Record{}, err)
		}
	})
	return r
}

// never takes no snapshots.
func never() machines.SnapshotPolicy { return machines.SnapshotPolicy{Facts: -1} }

// spaces are working memory for deliberations.
type spaces chan *agent.Space

func (s spaces) get() *agent.Space {
	select {
	case space := <-s:
		return space
	default:
		return agent.NewSpace()
	}
}

func (s spaces) put(space *agent.Space) {
	if space == nil { // the deliberation has not ended
		return
	}
	select {
	case s <- space:
	default:
	}
}
