package hints

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// What an endpoint says of its limits, in both families.
func TestHints(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name   string
		header http.Header
		known  bool
		left   int64
		reset  time.Duration
	}{
		{"openai", http.Header{"X-Ratelimit-Limit-Requests": {"60"}, "X-Ratelimit-Remaining-Requests": {"59"}, "X-Ratelimit-Reset-Requests": {"6m0s"}}, true, 59, 6 * time.Minute},
		{"milliseconds", http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"120ms"}}, true, 0, 120 * time.Millisecond},
		{"seconds", http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"1.5"}}, true, 0, 1500 * time.Millisecond},
		{"longer than a day", http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"9999h"}}, true, 0, 24 * time.Hour},
		{"over", http.Header{"Anthropic-Ratelimit-Requests-Remaining": {"3"}, "Anthropic-Ratelimit-Requests-Reset": {now.Add(-time.Hour).Format(time.RFC3339)}}, true, 3, 0},
		{"a moment that has passed", http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {strconv.FormatInt(now.Unix()-60, 10)}}, true, 0, 0},
		{"no reset", http.Header{"X-Ratelimit-Remaining-Requests": {"59"}}, false, 0, 0},
		{"negative", http.Header{"X-Ratelimit-Remaining-Requests": {"-1"}, "X-Ratelimit-Reset-Requests": {"1s"}}, false, 0, 0},
		{"nonsense", http.Header{"X-Ratelimit-Remaining-Requests": {"many"}, "X-Ratelimit-Reset-Requests": {"soon"}}, false, 0, 0},
		{"nothing", http.Header{}, false, 0, 0},
	} {
		got := Of(c.header).Requests
		if got.Known != c.known || got.Remaining != c.left || got.Reset != c.reset {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for _, reset := range []string{strconv.FormatInt(now.Add(time.Minute).Unix(), 10), strconv.FormatInt(now.Add(time.Minute).UnixMilli(), 10)} {
		got := Of(http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {reset}}).Requests
		if !got.Known || got.Reset < 50*time.Second || got.Reset > time.Minute {
			t.Errorf("%s: %+v", reset, got)
		}
	}
	if at := Of(http.Header{"Anthropic-Ratelimit-Tokens-Remaining": {"5"}, "Anthropic-Ratelimit-Tokens-Reset": {now.Add(time.Hour).Format(time.RFC3339)}}).Tokens; !at.Known || at.Reset < 59*time.Minute || at.Reset > time.Hour {
		t.Errorf("a time: %+v", at)
	}
}

// What an endpoint says about waiting. A number that is a moment of today, in seconds or milliseconds since 1970, is one: it was
// taken for seconds from now, and shut the gate for an hour.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "2", 2 * time.Second}, {"Retry-After", "0.5", 500 * time.Millisecond}, {"Retry-After-Ms", "120", 120 * time.Millisecond},
		{"Retry-After", now.Add(9 * time.Second).Format(http.TimeFormat), 9 * time.Second}, {"Retry-After", "soon", 0}, {"Retry-After", "-4", 0}, {"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", strconv.FormatInt(now.Unix()+7, 10), 7 * time.Second}, {"Retry-After", strconv.FormatInt(now.UnixMilli()+7500, 10), 7500 * time.Millisecond},
		{"Retry-After", strconv.FormatInt(now.Unix()-7, 10), 0}, {"Retry-After", strconv.FormatInt(now.Unix()+100_000, 10), 24 * time.Hour},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.value, got, c.want)
		}
	}
	for text, want := range map[string]time.Duration{"Inf": 24 * time.Hour, "NaN": 0, "": 0, "2 s": 0} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, time.Time{}); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	both := http.Header{"Retry-After": {"60"}, "Retry-After-Ms": {"1500"}}
	if got := RetryAfter(both, time.Time{}); got != 1500*time.Millisecond {
		t.Errorf("the exact time is %s", got)
	}
}

// What an error asks to wait is at most a day.
func TestRetryIn(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`[{"retryDelay":"34.5s"}]`: 34500 * time.Millisecond, `[{"links":[]},{"retryDelay":"9999h"}]`: 24 * time.Hour, `[{"retryDelay":"-1s"}]`: 0, `[{"retryDelay":"soon"}]`: 0, `"34s"`: 0, "": 0,
	} {
		if got := RetryIn(json.RawMessage(text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
