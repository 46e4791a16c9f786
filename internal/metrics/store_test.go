package metrics

import (
	"errors"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// A closed store leaves its counters behind: a counter that goes back is a
// restart to Prometheus.
func TestCountersOutliveTheirStore(t *testing.T) {
	s := New()
	stop := watch(t, s)
	before := gathered(t, s.Registry)
	stop()
	stop()
	after := gathered(t, s.Registry)
	for name, v := range before {
		if strings.HasPrefix(name, "simd_pebble") && strings.Contains(name, "_total") && after[name] != v {
			t.Errorf("%s: %v, then %v", name, v, after[name])
		}
	}
	if after["simd_pebble_disk_usage_bytes{}"] != 0 || after["simd_journal_pending_events{}"] != 0 {
		t.Error("the gauges of a closed store stayed")
	}
	watch(t, s)
	if got := gathered(t, s.Registry)["simd_pebble_compactions_total{}"]; got != 14 {
		t.Errorf("two stores compacted %v times, want 14", got)
	}
}

// A real store is read while it works and after it was closed.
func TestRealStore(t *testing.T) {
	s := New()
	store, err := persistence.Open(t.TempDir(), persistence.Options{Durability: persistence.Power, Observer: Journal{Set: s, Sync: persistence.Power}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := store.Journal("tavern")
	if err != nil {
		t.Fatal(err)
	}
	stop := s.Watch(Sources{Store: store, Journal: j})
	for i := range 10 {
		if _, err := j.Append(protocol.Time(i), "a", "test.happened", []byte{0xc0}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, s.Registry)
	for name, want := range map[string]float64{
		"simd_journal_pending_events{}": 0, "simd_journal_events_total{}": 10, "simd_journal_batch_events_count{}": 1,
		"simd_journal_commit_duration_seconds_count{sync=power}": 1, "simd_journal_wave_lag_seconds_count{}": 1,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	for _, name := range []string{"simd_pebble_disk_usage_bytes{}", "simd_pebble_wal_written_bytes_total{}", "simd_journal_written_bytes_total{}", "simd_journal_commit_duration_seconds_sum{sync=power}"} {
		if got[name] <= 0 {
			t.Errorf("%s = %v", name, got[name])
		}
	}
	stop()
	if err := errors.Join(j.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	if again := gathered(t, s.Registry); again["simd_pebble_wal_written_bytes_total{}"] < got["simd_pebble_wal_written_bytes_total{}"] {
		t.Error("a counter went back")
	}
}
