package bench

import (
	"fmt"
	"runtime/debug"
)

// peak is the memory of the process when something began.
type peak struct{ resident, most int64 }

// startPeak gives what nothing holds back to the system, and lets the peak begin anew: the process may
// have done other things before.
func startPeak() peak {
	debug.FreeOSMemory()
	forgetPeak()
	return peak{residentBytes(), peakResident()}
}

// growth is what the process has grown by since then at its peak, for each of n; 0 = it is not known,
// because the peak is older.
func (p peak) growth(n int) float64 {
	most := peakResident()
	if most <= p.most {
		return 0
	}
	return float64(most-p.resident) / float64(n)
}

// perAgent shows a growth.
func perAgent(bytes float64) string {
	if bytes == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.0f B an agent", bytes)
}
