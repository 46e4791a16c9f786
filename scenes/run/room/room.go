// Package room says whether a folder is writable, and whether an error comes from its disk.
package room

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// probeBytes must find room before a run goes on.
const probeBytes = 1 << 20

// Probe writes a file to a folder, syncs and removes it.
func Probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// OfDisk reports whether an error is one of a disk that is full or fails.
func OfDisk(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// Size writes a number of bytes for people.
func Size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
