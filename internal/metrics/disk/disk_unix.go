//go:build linux || darwin

// Package disk measures the free space of file systems.
package disk

import "syscall"

// Free is what a user may still write to the file system of dir, in bytes.
func Free(dir string) (float64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return float64(st.Bavail) * float64(st.Bsize), nil
}
