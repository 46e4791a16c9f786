//go:build linux || darwin

// Package disk measures the free space of file systems.
package disk

import "syscall"

// Space is what a user may still write to the file system of dir, of how much, in bytes.
func Space(dir string) (free, total uint64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), true
}
