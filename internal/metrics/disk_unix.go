//go:build linux || darwin

package metrics

import "syscall"

// DiskFree is what a user may still write to the file system of dir, in bytes.
func DiskFree(dir string) (float64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return float64(st.Bavail) * float64(st.Bsize), nil
}
