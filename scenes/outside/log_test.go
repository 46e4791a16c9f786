package outside_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

const testScene = "s"

// shelf is a store in memory that outlives its logs.
type shelf struct {
	fs    pebbledb.FS
	store *persistence.Store
	log   *outside.Log
	saw   sync.Map // outcome -> *atomic.Int64
}

func open(t testing.TB, fsys pebbledb.FS, opt outside.Options) *shelf {
	t.Helper()
	s := &shelf{fs: fsys}
	var err error
	if s.store, err = persistence.Open("run", persistence.Options{FS: fsys, MemTableSize: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	j, err := s.store.Journal(outside.JournalID(testScene))
	if err != nil {
		t.Fatal(err)
	}
	opt.Observe = func(_, outcome string) {
		n, _ := s.saw.LoadOrStore(outcome, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
	}
	if s.log, err = outside.Open(j, opt); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shelf) close(t testing.TB) {
	t.Helper()
	if err := s.log.Close(); err != nil {
		t.Error(err)
	}
	if err := s.store.Close(); err != nil {
		t.Error(err)
	}
}

func (s *shelf) count(outcome string) int64 {
	if n, ok := s.saw.Load(outcome); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

func anEffect(agent string, turn uint64, n int, question string) *outside.Effect {
	return &outside.Effect{Agent: agent, Turn: turn, Request: n, Kind: "model", To: "fake", Question: outside.Hash([]byte(question)), MayRepeat: true}
}

func once(e *outside.Effect) *outside.Effect {
	e.MayRepeat = false
	return e
}

func says(text string) func(context.Context) (protocol.Raw, error) {
	return func(context.Context) (protocol.Raw, error) { return protocol.Encode(text), nil }
}

func mustNot(t testing.TB) func(context.Context) (protocol.Raw, error) {
	return func(context.Context) (protocol.Raw, error) {
		t.Error("it was carried out again")
		return nil, nil
	}
}

func do(t testing.TB, l *outside.Log, e *outside.Effect, out func(context.Context) (protocol.Raw, error)) string {
	t.Helper()
	raw, err := l.Do(t.Context(), e, out)
	if err != nil {
		return string(protocol.KindOf(err))
	}
	v, err := raw.Value()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

// crash is the store as a kill at this moment leaves it.
func crash(t testing.TB, fsys pebbledb.FS) pebbledb.FS {
	t.Helper()
	disk, ok := fsys.(persistencetest.CrashDisk)
	if !ok {
		t.Fatalf("a %T cannot be copied at one moment", fsys)
	}
	return disk.Kill()
}

// died is a call that never returns in this process.
func died(context.Context) (protocol.Raw, error) {
	return nil, protocol.Errorf(protocol.KindCancelled, "the process ended")
}

// Promise 1: a kill while the executor works leaves the request, and a kill after the
// agent has its answer leaves the answer.
func TestKeptBeforeItCounts(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	defer s.close(t)
	var during pebbledb.FS
	do(t, s.log, once(anEffect("a", 1, 1, "q")), func(context.Context) (protocol.Raw, error) {
		during = crash(t, s.fs)
		return protocol.Encode("one"), nil
	})
	for want, left := range map[string]pebbledb.FS{"unknown_outcome": during, "one": crash(t, s.fs)} {
		after := open(t, left, outside.Options{})
		if got := do(t, after.log, once(anEffect("a", 1, 1, "q")), mustNot(t)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		after.close(t)
	}
}

// Promises 2 to 4: what becomes of a request after a kill.
func TestAfterAKill(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second *outside.Effect
		answered      bool
		want          string
		outcome       string
	}{
		{"answered", anEffect("a", 1, 1, "q"), anEffect("a", 1, 1, "q"), true, "first", "reused"},
		{"answered, not to be repeated", once(anEffect("a", 1, 1, "q")), once(anEffect("a", 1, 1, "q")), true, "first", "reused"},
		{"out", anEffect("a", 1, 1, "q"), anEffect("a", 1, 1, "q"), false, "second", "repeated"},
		{"out, not to be repeated", once(anEffect("a", 1, 1, "q")), once(anEffect("a", 1, 1, "q")), false, "unknown_outcome", "unknown"},
		{"the first one's word counts", once(anEffect("a", 1, 1, "q")), anEffect("a", 1, 1, "q"), false, "unknown_outcome", "unknown"},
		{"another question", anEffect("a", 1, 1, "q"), anEffect("a", 1, 1, "other"), true, "second", "requested"},
		{"another question in a place that is taken", once(anEffect("a", 1, 1, "q")), once(anEffect("a", 1, 1, "other")), true, "unknown_outcome", "unknown"},
		{"another request", anEffect("a", 1, 1, "q"), anEffect("a", 1, 2, "q"), true, "second", "requested"},
		{"another turn", anEffect("a", 1, 1, "q"), anEffect("a", 2, 1, "q"), true, "second", "requested"},
		{"another agent", anEffect("a", 1, 1, "q"), anEffect("b", 1, 1, "q"), true, "second", "requested"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
			if c.answered {
				do(t, s.log, c.first, says("first"))
			} else {
				do(t, s.log, c.first, died)
			}
			left := crash(t, s.fs)
			s.close(t)
			s = open(t, left, outside.Options{})
			defer s.close(t)
			if got := do(t, s.log, c.second, says("second")); got != c.want || s.count(c.outcome) != 1 {
				t.Errorf("%s, %d %s; want %s", got, s.count(c.outcome), c.outcome, c.want)
			}
			if _, found, _ := s.log.Find(t.Context(), c.second); !found && c.want != "unknown_outcome" {
				t.Error("its answer is not found afterwards")
			}
		})
	}
}

// Promise 7: what a request under a budget may have taken, and nobody has the answer to, is
// known after any number of kills, until the end of its turn is durable; and so is what those took
// that were answered.
func TestLostRequests(t *testing.T) {
	answers := func(n int, endpoint string, tokens int64) func(context.Context) (protocol.Raw, error) {
		x := effect.Answered{Kind: effect.KindModel, Number: n, Model: protocol.ModelAnswer{Usage: protocol.Usage{Input: tokens}, Origin: &protocol.ModelOrigin{Endpoint: endpoint}}}
		return func(context.Context) (protocol.Raw, error) { return x.AppendMsg(nil), nil }
	}
	under := func(n int, endpoint string, tokens int64, question string) *outside.Effect {
		e := anEffect("a", 1, n, question)
		e.Most = &outside.Most{Endpoint: endpoint, Tokens: tokens, Nano: 10 * tokens}
		return e
	}
	lost := func(n int, endpoint string, tokens int64) outside.Lost {
		return outside.Lost{Agent: "a", Request: n, Most: outside.Most{Endpoint: endpoint, Tokens: tokens, Nano: 10 * tokens}}
	}
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	next := func(opt outside.Options) {
		t.Helper()
		left := crash(t, s.fs)
		s.close(t)
		s = open(t, left, opt)
	}
	check := func(want ...outside.Lost) {
		t.Helper()
		if got := s.log.Lost("a", 1); !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	spent := func(want string) {
		t.Helper()
		got := ""
		_, kept := s.log.Open("a", false)
		for _, l := range kept {
			got += fmt.Sprint(l.Request, " ", l.Endpoint, " ", l.Took(), "; ")
		}
		if got != want {
			t.Errorf("spent %q, want %q", got, want)
		}
	}
	do(t, s.log, under(1, "near", 100, "q"), answers(1, "near", 40))
	do(t, s.log, under(2, "near", 200, "q"), died)
	do(t, s.log, anEffect("a", 1, 3, "q"), died)
	check(lost(2, "near", 200))
	next(outside.Options{})
	check(lost(2, "near", 200))
	spent("1 near 40 tokens, 1 call; ")
	do(t, s.log, under(2, "far", 250, "another"), died)
	next(outside.Options{})
	check(lost(2, "near", 200), lost(2, "far", 250))
	during := 0
	do(t, s.log, under(2, "near", 300, "q"), func(context.Context) (protocol.Raw, error) {
		check(lost(2, "near", 200), lost(2, "far", 250)) // it is out, and not lost
		during++
		return answers(2, "near", 30)(t.Context())
	})
	next(outside.Options{})
	check(lost(2, "near", 200), lost(2, "far", 250))
	spent("1 near 40 tokens, 1 call; 2 near 30 tokens, 1 call; ")
	next(outside.Options{Ended: func(string) uint64 { return 1 }})
	check()
	s.close(t)
	if during != 1 {
		t.Error("it was not carried out")
	}
}

// A request that another endpoint takes over is lost there.
func TestLostAfterAHandOver(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	e := anEffect("a", 1, 1, "q")
	e.Most = &outside.Most{Endpoint: "near", Tokens: 100}
	kept := make(chan error, 1)
	f := s.log.Begin(e, func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	before := crash(t, s.fs)
	far := outside.Most{Endpoint: "far", Tokens: 70, Moved: true}
	f.Move(&far, func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	for want, left := range map[outside.Most]pebbledb.FS{*e.Most: before, far: crash(t, s.fs)} {
		after := open(t, left, outside.Options{})
		if got := after.log.Lost("a", 1); len(got) != 1 || got[0].Most != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		after.close(t)
	}
	f.Fail(protocol.Errorf(protocol.KindCancelled, "over"))
	s.close(t)
}

// An answer may come when its turn was given up and the log is closed. Nobody waits for it.
func TestAnswerAfterTheClose(t *testing.T) {
	s := open(t, persistencetest.MemDisk(), outside.Options{})
	kept := make(chan error, 1)
	flight := s.log.Begin(anEffect("a", 1, 1, "?"), func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	flight.Fail(context.Canceled)
	s.close(t)
	flight.Answer(func(b []byte) []byte { return append(b, protocol.Encode("late")...) }, func(error) { t.Error("it is kept") })
}

// Promise 2: who asks the same while it is out gets the same answer.
func TestJoin(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	defer s.close(t)
	release, out := make(chan struct{}), make(chan struct{})
	answers := make(chan string, 9)
	ask := func(f func(context.Context) (protocol.Raw, error)) {
		answers <- do(t, s.log, anEffect("a", 1, 1, "q"), f)
	}
	go ask(func(context.Context) (protocol.Raw, error) {
		close(out)
		<-release
		return protocol.Encode("one"), nil
	})
	<-out
	for range 8 {
		go ask(mustNot(t))
	}
	for s.count("joined") < 8 {
		runtime.Gosched()
	}
	close(release)
	for range 9 {
		if got := <-answers; got != "one" {
			t.Errorf("got %q", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.log.Do(ctx, anEffect("b", 1, 1, "q"), died); protocol.KindOf(err) != protocol.KindCancelled {
		t.Error(err)
	}
}

// Promise 6: what is dead goes; what is open stays.
func TestDrop(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{DropBytes: 2000})
	do(t, s.log, anEffect("slow", 1, 1, "q"), says("kept"))
	big := strings.Repeat("x", 100)
	for turn := range uint64(100) {
		do(t, s.log, anEffect("quick", turn, 1, "q"), says(big))
		s.log.Ended("quick", turn, turn+1)
		s.log.Kept(turn) // the disk is a wave behind
	}
	if got := facts(t, s); got < 200 {
		t.Fatalf("%d facts: the answer of the slow one may be gone", got)
	}
	s.log.Ended("slow", 1, 101)
	s.log.Kept(101)
	for turn := range uint64(100) {
		do(t, s.log, anEffect("quick", 100+turn, 1, "q"), says(big))
		s.log.Ended("quick", 100+turn, 102+turn)
		s.log.Kept(101 + turn)
	}
	if got := facts(t, s); got > 60 {
		t.Errorf("%d facts are left", got)
	}
	last := anEffect("quick", 199, 1, "q") // its wave is not durable
	left := crash(t, s.fs)
	s.close(t)
	s = open(t, left, outside.Options{Ended: func(string) uint64 { return 198 }})
	if got := do(t, s.log, last, mustNot(t)); got != big {
		t.Errorf("got %q", got)
	}
	s.log.GivenUp("quick", 300)
	s.log.Kept(300)
	s.close(t)
	s = open(t, left, outside.Options{})
	defer s.close(t)
	if got := facts(t, s); got != 0 {
		t.Errorf("%d facts are left of a log of which nothing is open", got)
	}
}

// Promise 6: the answers of open turns are not held in memory.
func TestAnswersAreNotHeld(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	defer s.close(t)
	const size, answers = 1 << 20, 48
	before := heap()
	for i := range answers {
		do(t, s.log, anEffect("a", 1, i+1, "q"), says(strings.Repeat("x", size))) // a few bytes, as the store packs it
	}
	if grown := heap() - before; grown > answers*size/4 {
		t.Errorf("%d answers of %d bytes took %d", answers, size, grown)
	}
	if got := do(t, s.log, anEffect("a", 1, 1, "q"), mustNot(t)); len(got) != size {
		t.Errorf("the first answer has %d bytes", len(got))
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// facts counts what the log's journal holds.
func facts(t testing.TB, s *shelf) (n int) {
	t.Helper()
	for _, id := range must(s.store.Scenes())(t) {
		if _, ok := outside.SceneOf(id); !ok {
			t.Errorf("journal %q", id)
		}
	}
	d, b := s.log.Span()
	return int(d.Last - b.Last)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// What an answer took that a turn does not take is known, too: of a request in whose place it has asked something else, and of
// one that it has not made again. A request that was taken back took nothing.
func TestLeftRequests(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	under := func(n int, question string) *outside.Effect {
		e := anEffect("a", 1, n, question)
		e.Most = &outside.Most{Endpoint: "near", Tokens: 100}
		return e
	}
	answer := func(tokens int64) func(context.Context) (protocol.Raw, error) {
		x := effect.Answered{Kind: effect.KindModel, Model: protocol.ModelAnswer{Usage: protocol.Usage{Input: tokens}, Origin: &protocol.ModelOrigin{Endpoint: "near"}}}
		return func(context.Context) (protocol.Raw, error) { return x.AppendMsg(nil), nil }
	}
	check := func(want string, made ...int) {
		t.Helper()
		got := ""
		for _, l := range s.log.Left("a", 1, func(n int) bool { return slices.Contains(made, n) }) {
			got += fmt.Sprint(l.Request, ":", l.Tokens, " ")
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	next := func() {
		left := crash(t, s.fs)
		s.close(t)
		s = open(t, left, outside.Options{})
	}
	do(t, s.log, under(1, "q"), answer(40))
	do(t, s.log, under(2, "q"), answer(50))
	do(t, s.log, under(3, "q"), died)
	next()
	check("1:40 2:50 3:100 ")
	check("2:50 ", 1, 3)
	do(t, s.log, under(1, "another"), answer(7))
	next()
	check("1:40 2:50 3:100 ", 1)
	kept := make(chan error, 1)
	f := s.log.Begin(under(4, "q"), func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	f.TakeBack()
	f.Fail(protocol.Errorf(protocol.KindCancelled, "over"))
	s.close(t)
	s = open(t, s.fs, outside.Options{})
	check("1:40 2:50 3:100 ", 1)
	if lost, spent := s.log.Open("a", false); len(lost) != 2 || len(spent) != 2 {
		t.Errorf("%+v, %+v", lost, spent)
	}
	var inFlight []outside.Lost
	do(t, s.log, under(4, "q"), func(ctx context.Context) (protocol.Raw, error) {
		inFlight, _ = s.log.Open("a", true)
		if lost, spent := s.log.Open("a", false); len(lost) != 2 || len(spent) != 3 || spent[2].Took().Tokens != 100 {
			t.Errorf("while a request is in flight a turn that begins again has lost %+v, and is to take %+v", lost, spent)
		}
		return died(ctx)
	})
	if over, _ := s.log.Open("a", true); len(over) != 5 || !slices.Equal(over, inFlight) {
		t.Errorf("while a request is in flight the turn has taken %+v, then %+v", inFlight, over)
	}
	check("1:40 2:50 3:100 4:100 ", 1)
	left := crash(t, s.fs)
	s.close(t)
	store := must(persistence.Open("run", persistence.Options{FS: left}))(t)
	defer store.Close()
	out, spent, err := outside.OpenTurns(must(store.Journal(outside.JournalID(testScene)))(t), func(string) uint64 { return 0 })
	if err != nil || len(out) != 2 || len(spent) != 3 || spent[0].Took().Tokens != 40 {
		t.Errorf("out are %+v; answered, also if another took the place, %+v; %v", out, spent, err)
	}
}
