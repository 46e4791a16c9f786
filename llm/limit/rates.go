package limit

import (
	"fmt"
	"time"
)

const (
	minute = time.Minute
	grain  = minute / 6000
	tenth  = 0.1 // of a limit may leave at one moment
)

// rates counts what left in the last minute. In no minute more leaves than the limit
// allows; a call that is larger than the whole limit leaves alone. Of that a tenth leaves at
// once, and the rest at an even pace: an endpoint that counts seconds is not flooded, and what a pause
// did not use is there after it. The pace is that of the limit, but for a minute after calls that left at once it is
// slower by these: at the pace of the limit it would be used up before the minute ends, and after a silent gap
// as many would leave at once again.
type rates struct {
	limit amount // a minute; 0 = none
	told  amount // limits that the endpoint said; 0 = none
	left  [2]left
	gone  []gone     // oldest first, at most a minute's: one for a grain of time
	base  uint64     // number of gone[0]
	first uint64     // number of the first gone of the last minute
	sum   amount     // of these
	ahead [2]float64 // of what the pace has allowed so far left so much more, at the time paced
	paced time.Duration
	on    bool // something is limited
	tells bool // the endpoint's answers have hints
	lack  struct {
		of   int  // the rate for which the last call that did not fit waits
		told bool // the endpoint said so
	}
}

// amount counts requests and tokens.
type amount [2]int64

// gone is what left in one grain of time. at is that of the last call, so that none of
// them is forgotten early.
type gone struct {
	first, at time.Duration
	amount    amount
	ahead     [2]float64 // after the first call
}

// left is what an endpoint said is left of a rate. Until the reset it comes back
// evenly, or all at once if the limit is not known.
type left struct {
	at, reset        time.Duration
	limit, remaining int64
	used             int64 // since
}

func newRates(requests, tokens int64) rates {
	r := rates{limit: amount{max(requests, 0), max(tokens, 0)}, base: 1, first: 1}
	r.on = r.limit != amount{}
	return r
}

// bound is the limit of a rate, 0 = none.
func (r *rates) bound(i int) int64 {
	if r.limit[i] == 0 || r.told[i] > 0 && r.told[i] < r.limit[i] {
		return r.told[i]
	}
	return r.limit[i]
}

// forget drops what left more than a minute ago.
func (r *rates) forget(now time.Duration) {
	for ; r.first < r.base+uint64(len(r.gone)); r.first++ {
		g := &r.gone[r.first-r.base]
		if g.at+minute > now {
			break
		}
		r.sum = amount{r.sum[0] - g.amount[0], r.sum[1] - g.amount[1]}
	}
	if n := r.first - r.base; n > 0 && n >= uint64(len(r.gone)/2) {
		r.gone = append(r.gone[:0], r.gone[n:]...)
		r.base += n
	}
}

// fits reports whether a call with so many tokens may leave now; if not, when to ask
// again.
func (r *rates) fits(now time.Duration, tokens int64) (ok bool, again time.Duration) {
	if !r.on {
		return true, 0
	}
	r.pass(now)
	for i, n := range (amount{1, tokens}) {
		limit := r.bound(i)
		r.lack.of, r.lack.told = i, false
		switch {
		case limit == 0:
		case r.sum[i] > 0 && r.sum[i]+n > limit:
			return false, r.gone[r.first-r.base].at + minute
		case r.over(i, limit) > 0:
			return false, now + 1 + time.Duration(r.over(i, limit)/r.pace(i, limit)*float64(minute))
		}
		if at := r.left[i].enough(n); at > now {
			r.lack.told = true
			return false, at
		}
	}
	return true, 0
}

// lacking says for what the last call that did not fit waits.
func (r *rates) lacking() string {
	of := [...]string{"requests", "tokens"}[r.lack.of]
	if r.lack.told {
		return "says that its " + of + " are used up"
	}
	return fmt.Sprintf("takes %d %s a minute", r.bound(r.lack.of), of)
}

// over is how much too far ahead of the pace a rate is for another call. What numbers round is none.
func (r *rates) over(i int, limit int64) float64 {
	most := tenth * float64(limit)
	if over := r.ahead[i] - most; over > most/1e6 {
		return over
	}
	return 0
}

// pace is what may leave in a minute: the limit without what left at once in the last one, and is not more than a tenth.
func (r *rates) pace(i int, limit int64) float64 {
	most, began := tenth*float64(limit), 0.0
	if r.first < r.base+uint64(len(r.gone)) {
		began = r.gone[r.first-r.base].ahead[i]
	}
	return float64(limit) - min(max(r.ahead[i]-began, 0), most)
}

// pass lets time pass for the pace, and forgets what left more than a minute ago.
func (r *rates) pass(now time.Duration) {
	for i := range r.ahead {
		if limit := r.bound(i); limit > 0 {
			r.ahead[i] = max(0, r.ahead[i]-r.pace(i, limit)*float64(now-r.paced)/float64(minute))
		}
	}
	r.paced = now
	r.forget(now)
}

// enough is when so much is left; 0 = now.
func (l *left) enough(n int64) time.Duration {
	lacks := l.used + n - l.remaining
	switch {
	case l.reset == 0 || lacks <= 0:
		return 0
	case l.limit <= l.remaining || lacks >= l.limit-l.remaining:
		return l.at + l.reset
	}
	return l.at + time.Duration(float64(l.reset)*float64(lacks)/float64(l.limit-l.remaining))
}

// nothingLeft reports whether the endpoint said that a rate is used up.
func (r *rates) nothingLeft(now time.Duration) bool {
	return r.left[0].enough(1) > now || r.left[1].enough(1) > now
}

// leave counts a call and gives the number under which it is counted.
func (r *rates) leave(now time.Duration, tokens int64) uint64 {
	if !r.on {
		return 0
	}
	r.pass(now)
	n := len(r.gone)
	if n == 0 || now-r.gone[n-1].first >= grain {
		r.gone = append(r.gone, gone{first: now})
		n++
	}
	last := &r.gone[n-1]
	last.at = now
	number := r.base + uint64(n-1)
	if r.add(number, amount{1, tokens}); last.amount[0] == 1 {
		last.ahead = r.ahead
	}
	for i, used := range (amount{1, tokens}) {
		if l := &r.left[i]; now < l.at+l.reset {
			l.used += used
		} else {
			l.reset = 0
		}
	}
	return number
}

// add counts more, or less, for a call that has left already.
func (r *rates) add(number uint64, d amount) {
	if number < r.base {
		return
	}
	g := &r.gone[number-r.base]
	for i := range d {
		g.amount[i] += d[i]
		if number >= r.first {
			r.sum[i] += d[i]
		}
		if limit := r.bound(i); limit > 0 {
			most := float64(limit)
			r.ahead[i] = max(0, r.ahead[i]+max(-most, min(float64(d[i]), most)))
		}
	}
}

// hint takes what the endpoint said with the answer to a call that left at sent.
// What left later is not part of it.
func (r *rates) hint(now, sent time.Duration, h Hints) {
	if h.Refused && !r.tells {
		return
	}
	r.tells = r.tells || !h.Refused
	var later amount
	for i := len(r.gone) - 1; i >= 0 && r.gone[i].first > sent; i-- {
		later[0] += r.gone[i].amount[0]
		later[1] += r.gone[i].amount[1]
	}
	for i, x := range [2]Left{h.Requests, h.Tokens} {
		if !x.Known {
			continue
		}
		r.on = true
		r.told[i] = max(x.Limit, 0)
		r.left[i] = left{at: now, reset: min(max(x.Reset, 0), maxShut), limit: x.Limit, remaining: max(x.Remaining, 0), used: later[i]}
	}
}
