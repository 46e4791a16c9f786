//go:build unix

package bench

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime is what the process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles is how many files the process may open: Go has raised the limit as far as it may.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur) //nolint:unconvert // it has a sign on some systems
}

// peakResident is the most memory the process has had, in bytes.
func peakResident() int64 { return status("VmHWM:") }

// forgetPeak lets the peak begin anew, where the system can: Linux.
func forgetPeak() {
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("5") // see proc(5)
		_ = f.Close()
	}
}

// residentBytes is the memory the process has now.
func residentBytes() int64 { return status("VmRSS:") }

// status reads a line of the process's status; 0 where the system has none.
func status(field string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
