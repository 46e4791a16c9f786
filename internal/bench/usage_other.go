//go:build !unix

package bench

import "time"

func cpuTime() time.Duration { return 0 }
func openFiles() uint64      { return 0 }
func peakResident() int64    { return 0 }
func residentBytes() int64   { return 0 }
func forgetPeak()            {}
