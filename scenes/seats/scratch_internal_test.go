package seats

import (
	"bytes"
	"math"
	"os"
	"testing"

	"tavernsim/internal/metrics/disk"
)

// The journal lies on the same disk: what is left to it is not written.
func TestScratchLeavesRoom(t *testing.T) {
	dir := t.TempDir()
	if _, _, known := disk.Space(dir); !known {
		t.Skip("this system does not say how much room there is")
	}
	f, err := Scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.reserve = 0
	if _, err := f.WriteAt([]byte("there is room"), 0); err != nil {
		t.Fatal(err)
	}
	f.reserve = math.MaxUint64 / 2
	if _, err := f.WriteAt([]byte("more"), 1<<20); err == nil {
		t.Error("it takes the room of the journal")
	}
	if info, err := f.Stat(); err != nil || info.Size() != 13 {
		t.Errorf("it has %d bytes, %v", info.Size(), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v lie there, %v", left, err)
	}
}

// What is discarded at the end goes on every system, and what is read stays.
func TestScratchDiscards(t *testing.T) {
	f, err := Scratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.reserve = 0
	const size = 1 << 16
	for i := range 4 {
		if _, err := f.WriteAt(bytes.Repeat([]byte{byte(i + 1)}, size-i), int64(i*size)); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int64{1, 3} {
		f.Discard(i*size, size)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 3*size {
		t.Errorf("it has %d bytes, %v; want %d", info.Size(), err, 3*size)
	}
	for _, i := range []int64{0, 2} {
		b := make([]byte, 100)
		if _, err := f.ReadAt(b, i*size); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{byte(i + 1)}, 100)) {
			t.Errorf("%d: %x, %v", i, b, err)
		}
	}
}
