// Package hints reads what model servers say of their limits, of the length of questions and of when to come again, in
// headers and in errors.
package hints

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tavernsim/llm/limit"
)

// Of reads what an endpoint says of its limits: "x-ratelimit-remaining-requests: 59"
// and its like of the openai protocol, "anthropic-ratelimit-requests-remaining: 59" and
// its like of the other.
func Of(h http.Header) limit.Hints {
	for name := range h { // most servers say nothing
		if strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			return limit.Hints{Requests: left(h, "requests"), Tokens: left(h, "tokens")}
		}
	}
	return limit.Hints{}
}

func left(h http.Header, of string) (l limit.Left) {
	get := func(what string) string {
		if v := h.Get("X-Ratelimit-" + what + "-" + of); v != "" {
			return v
		}
		return h.Get("Anthropic-Ratelimit-" + of + "-" + what)
	}
	remaining, err := strconv.ParseInt(get("Remaining"), 10, 64)
	reset, ok := resetIn(get("Reset"), time.Now())
	if err != nil || !ok || remaining < 0 {
		return l
	}
	most, _ := strconv.ParseInt(get("Limit"), 10, 64) // 0 = not said
	return limit.Left{Known: true, Limit: max(most, 0), Remaining: remaining, Reset: reset}
}

// resetIn reads "6m0s", "120ms", seconds, or a time.
func resetIn(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return min(d, day), true
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return until(n, now), true
	}
	if at, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err == nil {
		return bounded(max(at.Sub(now).Seconds(), 0)), true
	}
	return 0, false
}

// RetryAfter is how long an endpoint asks to wait: seconds, milliseconds, or a time; 0 = it does not ask.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	text := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return until(n, now)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return bounded(at.Sub(now).Seconds())
	}
	return 0
}

// RetryIn finds in the details of an error how long some services ask to wait:
// [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}].
func RetryIn(details json.RawMessage) time.Duration {
	var list []struct {
		RetryDelay string `json:"retryDelay"`
	}
	if len(details) == 0 || json.Unmarshal(details, &list) != nil {
		return 0
	}
	for _, d := range list {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return min(wait, day)
		}
	}
	return 0
}

const day = 24 * time.Hour

// until reads a number: seconds from now, or a moment, counted from 1970 in seconds or milliseconds. It is a moment if
// that is within a day of now: no server asks to wait for decades.
func until(n float64, now time.Time) time.Duration {
	at := float64(now.UnixMilli()) / 1000
	for _, moment := range []float64{n, n / 1000} {
		if math.Abs(moment-at) <= day.Seconds() {
			return bounded(max(moment-at, 0))
		}
	}
	return bounded(n)
}

// bounded is at most a day, so that a nonsense number does not overflow.
func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, day.Seconds()) * float64(time.Second))
}
