package protocol

import (
	"math"
	"testing"
	"time"
)

func TestTimeDoesNotWrap(t *testing.T) {
	if got := LastTime.String(); got != "2262-01-01T00:00:00Z" {
		t.Error(got)
	}
	if got := LastTime.Add(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("the last time and 292 years are %d", got)
	}
	if got := Time(-5).Add(math.MinInt64); got != math.MinInt64 {
		t.Errorf("before the first time is %d", got)
	}
	if got := Time(5).Add(-2 * time.Nanosecond); got != 3 {
		t.Error(got)
	}
}
