package budget

import (
	"time"

	"tavernsim/protocol"
)

// Meter counts what is taken in one unit, by windows of scene time: each hour, or each day, in UTC. What
// is taken beyond the limit of a window counts in those that follow, so over many windows
// no more than the limit of each is taken. The zero value has counted nothing.
type Meter struct {
	Window int64 // number of it since 1970
	Used   int64 // in it, with what those before it took too much
}

// Take counts n. every is the length of a window and limit what may be taken in it; both are above 0.
func (m Meter) Take(n int64, at protocol.Time, every time.Duration, limit int64) Meter {
	m = m.at(at, every, limit)
	m.Used = plus(m.Used, min(max(n, 0), most))
	return m
}

// at is the meter in the window of a time. A time before its window is in it.
func (m Meter) at(at protocol.Time, every time.Duration, limit int64) Meter {
	w := max(int64(at)/int64(every), m.Window)
	passed := w - m.Window
	if passed > m.Used/limit {
		return Meter{Window: w}
	}
	return Meter{Window: w, Used: m.Used - passed*limit}
}

// Opens is the beginning of the next window in which something is left; 0 = something is left
// already.
func (m Meter) Opens(at protocol.Time, every time.Duration, limit int64) protocol.Time {
	m = m.at(at, every, limit)
	ahead := m.Used / limit
	if ahead == 0 {
		return 0
	}
	if ahead > (int64(protocol.LastTime)/int64(every))-m.Window {
		return protocol.LastTime
	}
	return protocol.Time((m.Window + ahead) * int64(every))
}
