package scenes_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// stormScene loads a storm of testdata/script with other numbers in it.
func stormScene(t *testing.T, name string, change ...string) *scenestest.Scene {
	t.Helper()
	data, err := os.ReadFile("testdata/script/storm_" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.NewReplacer(change...).Replace(string(data))))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// storm is one of the storms of testdata/script: how it may be made larger, and
// what must be seen of it afterwards.
type storm struct {
	name   string
	change []string // of the script: old, new, ...
	alarms int      // critical events at least
	dead   []string // reasons of dead letters, each counted alike by metrics and tally
	moment []string // the same on the virtual clock, where a moment holds what realtime spreads
	spread []string // metrics on the realtime clock
	counts []string // metrics, by name and labels, of which there is some
	until  time.Duration
}

// stormHeap is the most that a storm may hold at once. It is some 4 MiB of the
// scene, up to 15 of the store, which borrows its buffers when it is busy, and
// what is made while the collector marks: on a busy machine it marks for long.
const stormHeap = 64 << 20

func storms() []storm {
	return []storm{
		{name: "ring", alarms: 3, dead: []string{"loop"}},
		{name: "pair", change: []string{"max_depth: 6", "max_depth: 150"}, alarms: 1, dead: []string{"depth"}},
		{name: "bomb", change: []string{"count: 40", "count: 1000", "max_deliveries_in_wave: 1500", "max_deliveries_in_wave: 5000"}, alarms: 1, moment: []string{"flood"}, spread: []string{"events_dropped_total reason=inbox_full"}},
		{name: "silent", change: []string{"run ticks=6", ""}, alarms: 1, until: 20 * time.Second,
			counts: []string{"agent_deliberations_total outcome=failed", "llm_requests_total outcome=timeout"}},
		{name: "filter", alarms: 1, counts: []string{"event_filter_failures_total fault=error", "event_filter_failures_total fault=steps"}},
	}
}

// In every storm and on either clock a critical event is handled within a
// hundred others, memory stays bounded, and the reason can be seen.
func TestStorms(t *testing.T) {
	for _, st := range storms() {
		for workers, clock := range []agenda.ClockKind{1: agenda.Virtual, 2: agenda.Realtime, 4: agenda.Realtime} {
			if clock == "" || !scenestest.Long() && (workers < 4 && (workers == 2 || st.name != "ring") || st.name == "bomb") { // TestStormBomb has a larger one
				continue
			}
			one := st
			t.Run(fmt.Sprint(st.name, "/", clock, workers), func(t *testing.T) { one.play(t, clock, workers) })
		}
	}
}

func (st *storm) play(t *testing.T, clock agenda.ClockKind, workers int) {
	s := stormScene(t, st.name, st.change...)
	e := newEar(t, s)
	set := scenestest.Settings{Model: e, Clock: clock, Workers: workers, Stop: &agenda.Stop{After: protocol.Duration(st.until)}}
	var seen counts
	var r scenestest.Result
	peak := heapPeak(func() {
		synctest.Test(t, func(t *testing.T) { r, seen = countedRun(t, s, set) })
	})
	if r.Err != nil || !r.Final || r.DeadLetters > 0 {
		t.Fatal(r, r.DeadLetters)
	}
	if t.Logf("peak heap %d KiB", peak>>10); peak > stormHeap {
		t.Errorf("%d bytes were held, want at most %d", peak, stormHeap)
	}
	if clock == agenda.Realtime { // who is late perceives at once what it would raise an alarm for each time
		st.alarms = 1
	}
	e.mustHandle(t, s, clock, st.alarms)
	if clock == agenda.Virtual {
		st.dead = append(st.dead, st.moment...)
	} else {
		st.counts = append(st.counts, st.spread...)
	}
	st.mustTell(t, r, seen)
	mustVerify(t, s, set)
}

// mustTell holds that the reason of a storm stands in dead letters and metrics,
// the same number of times.
func (st *storm) mustTell(t *testing.T, r scenestest.Result, seen counts) {
	for _, reason := range st.dead {
		n := r.State.Tally.Refused[reason]
		if counted := seen.sum("events_dropped_total", "reason="+reason); n == 0 || counted != n {
			t.Errorf("%s: %d dead letters, %d in the metrics", reason, n, counted)
		}
	}
	for _, metric := range st.counts {
		if f := strings.Fields(metric); seen.sum(f[0], f[1:]...) == 0 {
			t.Errorf("simd_%s{%s} is 0", f[0], f[1])
		}
	}
}

// The fan-out bomb with a crowd: everybody hears everything, so the answers are
// the square of the crowd. What a moment may hold is the bound of memory, the
// rest is refused with its reason, and the alarm reaches everybody.
func TestStormBomb(t *testing.T) {
	crowd := 1000
	if scenestest.Long() {
		crowd = 100_000
	}
	s := stormScene(t, "bomb", "count: 40", fmt.Sprint("count: ", crowd), "max_deliveries_in_wave: 1500", fmt.Sprint("max_deliveries_in_wave: ", 5*crowd))
	began := time.Now()
	var r scenestest.Result
	peak := heapPeak(func() { r = s.Run(t, scenestest.Settings{}) })
	t.Logf("%d agents: %v of wall time, peak heap %d MiB, %d bytes an agent", crowd, time.Since(began).Round(time.Millisecond), peak>>20, peak/int64(crowd))
	if r.Err != nil || r.DeadLetters > 0 || r.State.Tally.DeadLetters != 0 {
		t.Fatal(r.Err, r.DeadLetters, r.State.Tally.DeadLetters)
	}
	refused, alarmed := 0, 0
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(rec protocol.Record) error {
			switch rec.Kind {
			case bus.FactRefused:
				refused++
			case bus.FactRouted:
				f, err := bus.ReadRouted(rec.Data)
				if err == nil && f.Type == "alarm" {
					alarmed = f.Receivers.Len()
				}
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if alarmed != crowd || refused != crowd-4 && refused != crowd-5 {
		t.Errorf("the alarm reached %d of %d; %d answers were refused, want all but the few that a moment holds", alarmed, crowd, refused)
	}
	if peak > int64(crowd)*8<<10+64<<20 {
		t.Errorf("%d bytes were held in the storm of %d", peak, crowd)
	}
}

// What a mailbox refuses becomes facts of the next wave, with receiver and
// reason, and is counted.
func TestDeadLettersBecomeFacts(t *testing.T) {
	s := stormScene(t, "bomb", "max_deliveries_in_wave: 1500", "max_deliveries_in_wave: 1000000")
	r, err := s.StartWith(scenestest.Settings{Workers: 1}, func(o *scenes.Options) { o.Mailbox = actors.Capacity{Max: 1} })
	if err != nil {
		t.Fatal(err)
	}
	result := r.Close()
	if result.Err != nil || !result.Final {
		t.Fatal(result)
	}
	var told, counted int64
	s.Journal(t, func(j *persistence.Journal) {
		codec := protocol.NewCodec()
		err := j.Read(1, func(rec protocol.Record) error {
			if rec.Kind != agenda.FactDeadLettered {
				return nil
			}
			f := &agenda.DeadLettered{}
			if err := codec.Unmarshal(rec.Data, f); err != nil {
				return err
			}
			if counted += f.Count; f.Event != "" {
				told++
			}
			if f.Reason != actors.ReasonQueueFull || f.Kind != "event" || (f.Event != "") != strings.HasPrefix(f.Receiver, "c_") || f.Event != "" && (len(f.Chain) == 0 || f.TraceID == "") {
				t.Errorf("got %+v", *f)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if told == 0 || counted <= told || counted != result.DeadLetters || counted != result.State.Tally.DeadLetters {
		t.Errorf("%d told, %d counted; mailboxes refused %d, the tally says %d", told, counted, result.DeadLetters, result.State.Tally.DeadLetters)
	}
}
