package bench

import (
	"strings"
	"testing"
)

// Every event wakes one agent, from what it kept; RunAsleep itself holds the number.
func TestAsleep(t *testing.T) {
	a, err := RunAsleep(AsleepOptions{Agents: 50, Events: 20, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if a.Woken != 20 || a.Passive != 51 || a.StatePer < 10 || a.WakeP50 <= 0 || a.WakeP99 < a.WakeP50 || a.WakeMax < a.WakeP99 || a.Digest == "" {
		t.Errorf("%+v", a)
	}
	if text := AsleepText(&a); !strings.Contains(text, "50 agents asleep") || !strings.Contains(text, "20 by 20 events") {
		t.Error(text)
	}
}
