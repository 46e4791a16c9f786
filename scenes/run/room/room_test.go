package room_test

import (
	"testing"

	"tavernsim/internal/metrics/disk"
	"tavernsim/scenes/run/room"
)

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if err := room.Probe(dir); err != nil {
		t.Error(err)
	}
	if err := room.Probe(dir + "/missing"); err == nil {
		t.Error("a missing folder can be written")
	}
	if _, total, ok := disk.Space(dir); ok && total == 0 {
		t.Error("a disk without room")
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1 << 20: "1.0 MiB", 5 << 29: "2.5 GiB"} {
		if got := room.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
