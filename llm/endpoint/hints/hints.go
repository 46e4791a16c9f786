package endpoint

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"tavernsim/llm/limit"
)

// hints reads what an endpoint says of its limits: "x-ratelimit-remaining-requests: 59"
// and its like of the openai protocol, "anthropic-ratelimit-requests-remaining: 59" and
// its like of the other.
func hints(h http.Header) limit.Hints {
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
		return min(d, 24*time.Hour), true
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return bounded(s), true
	}
	if at, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err == nil {
		return bounded(max(at.Sub(now).Seconds(), 0)), true
	}
	return 0, false
}
