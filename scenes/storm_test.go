package scenes_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// stormScene loads a storm of testdata/script with other numbers in it.
func stormScene(t *testing.T, name string, change ...string) *scenestest.Scene {
	t.Helper()
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/script/storm_" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(base, txtar.Parse([]byte(strings.NewReplacer(change...).Replace(string(data))))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// The fan-out bomb with a crowd: everybody hears everything, so the answers are
// the square of the crowd. What a moment may hold is the bound of memory, the
// rest is refused with its reason, and the alarm reaches everybody.
func TestStormBomb(t *testing.T) {
	crowd := 2000
	if os.Getenv("SIMD_TEST_LONG") != "" {
		crowd = 100_000
	}
	s := stormScene(t, "bomb", "count: 40", fmt.Sprint("count: ", crowd), "max_deliveries_in_wave: 1500", fmt.Sprint("max_deliveries_in_wave: ", 5*crowd))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.Run(t, scenestest.Settings{})
	if r.Err != nil || r.DeadLetters > 0 {
		t.Fatal(r.Err, r.DeadLetters)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
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
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > int64(crowd)*8<<10+64<<20 {
		t.Errorf("%d bytes are held after the storm of %d", grown, crowd)
	}
	if n := r.State.Tally.DeadLetters; n != 0 {
		t.Errorf("%d dead letters in a healthy scene", n)
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
			if rec.Kind != director.FactDeadLettered {
				return nil
			}
			f := &director.DeadLettered{}
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
