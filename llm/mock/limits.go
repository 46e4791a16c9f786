package mock

import (
	"strconv"
	"sync"
	"time"

	"tavernsim/llm/mock/wire"
)

// bucket lets so many units a minute pass; it is full at the beginning.
type bucket struct {
	perMinute float64 // 0 = any number
	level     float64
	at        time.Time
}

// fill moves the bucket to a moment.
func (b *bucket) fill(now time.Time) {
	if b.at.IsZero() {
		b.level = b.perMinute
	} else if d := now.Sub(b.at); d > 0 {
		b.level = min(b.perMinute, b.level+d.Minutes()*b.perMinute)
	}
	b.at = now
}

// lacks is how long n units have to wait. What is more than the bucket holds may
// pass when it is full.
func (b *bucket) lacks(n float64) time.Duration {
	if missing := min(n, b.perMinute) - b.level; b.perMinute > 0 && missing > 0 {
		return b.refill(missing)
	}
	return 0
}

func (b *bucket) refill(n float64) time.Duration {
	return max(time.Duration(n/b.perMinute*float64(time.Minute)), time.Millisecond)
}

// limits are the rates of the whole server.
type limits struct {
	mu               sync.Mutex
	requests, tokens bucket
}

// take lets a request pass and returns what its answer says about the rates, or
// returns how long to wait, and for what.
func (l *limits) take(now time.Time, tokens int64, f wire.Form) (headers []string, wait time.Duration, what string) {
	if l.requests.perMinute == 0 && l.tokens.perMinute == 0 {
		return nil, 0, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests.fill(now)
	l.tokens.fill(now)
	wait, what = l.requests.lacks(1), "requests"
	if w := l.tokens.lacks(float64(tokens)); w > wait {
		wait, what = w, "tokens"
	}
	if wait == 0 {
		l.requests.level--
		l.tokens.level -= float64(tokens)
	}
	headers = l.requests.headers(headers, "requests", now, f)
	return l.tokens.headers(headers, "tokens", now, f), wait, what
}

// headers tell of a bucket as the protocol does.
func (b *bucket) headers(list []string, what string, now time.Time, f wire.Form) []string {
	if b.perMinute == 0 {
		return list
	}
	limit, left := strconv.Itoa(int(b.perMinute)), strconv.Itoa(int(max(b.level, 0)))
	full := b.refill(b.perMinute - b.level).Round(time.Millisecond)
	if f.Anthropic() {
		name := "Anthropic-Ratelimit-" + what
		return append(list, name+"-Limit", limit, name+"-Remaining", left, name+"-Reset", now.Add(full).UTC().Format(time.RFC3339))
	}
	return append(list, "X-Ratelimit-Limit-"+what, limit, "X-Ratelimit-Remaining-"+what, left, "X-Ratelimit-Reset-"+what, full.String())
}
