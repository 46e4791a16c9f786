package progress

import (
	"strings"
	"testing"
	"time"

	"tavernsim/internal/terminal"
	"tavernsim/llm/limit"
)

// The line says at every width why a run waits: what is of less use goes first.
func TestFit(t *testing.T) {
	line := func(why string, wait time.Duration) []part {
		parts := []part{
			{rank: rankNames, text: "doorstep"}, {rank: rankBar, text: "  ░░░░░░░░░░░░   0%"}, {rank: rankTime, text: "  sim 00:00:00"}, {rank: rankEnd, text: "/00:10:00"},
		}
		return append(append(parts, stall("cloud", limit.Stall{Why: why, Paced: strings.HasPrefix(why, "takes")}, 12, wait)...), []part{
			{rank: rankRates, text: "  ×0 | delib 1 (0/s)"}, {rank: rankEvents, text: "  ev 0/s  llm 0/s"}, {rank: rankEnd, text: "  errors 0"}, {rank: rankHands},
		}...)
	}
	asks, failed := "asks to wait (429 Too Many Requests: the quota of this minute is used up)", "has failed 5 times in a row (500 Internal Server Error)"
	for _, c := range []struct {
		cells int
		why   string
		wait  time.Duration
		want  string
	}{
		{0, asks, 30 * time.Second, "doorstep  ░░░░░░░░░░░░   0%  sim 00:00:00/00:10:00  | cloud " + asks + "; retry in 30s, 12 wait  ×0 | delib 1 (0/s)  ev 0/s  llm 0/s  errors 0"},
		{79, asks, 30 * time.Second, "cloud asks to wait (429 Too Many Requests: the quota of…; retry in 30s, 12 wait"},
		{39, asks, 30 * time.Second, "cloud asks to wait (429 …; retry in 30s"},
		{79, failed, 0, "cloud has failed 5 times in a row (500 Internal Server Erro…; retrying, 12 wait"},
		{39, failed, 0, "cloud has failed 5 times in …; retrying"},
		{79, "is in no file of endpoints", 1 << 62, "doorstep  sim 00:00:00/00:10:00  | cloud is in no file of endpoints, 12 wait"},
		{79, "asks to wait", 2 * time.Second, "doorstep  sim 00:00:00/00:10:00  | cloud asks to wait; retry in 2s, 12 wait"},
		{79, "takes 2 requests a minute", 14 * time.Second, "doorstep  sim 00:00:00  | cloud takes 2 requests a minute; next in 14s, 12 wait"},
	} {
		got := fit(line(c.why, c.wait), c.cells)
		if got != c.want {
			t.Errorf("%d cells:\n%s (%d), want\n%s", c.cells, got, terminal.Width(got), c.want)
		}
	}
	second := stall("other", limit.Stall{Why: failed}, 3, 0)
	for i := range second {
		second[i].rank = rankHands // as stalls does
	}
	two := append(append([]part{{rank: rankNames, text: "doorstep"}}, stall("cloud", limit.Stall{Why: asks}, 12, 30*time.Second)...), append(second, part{rank: rankPaused, text: "  | paused"})...)
	for cells, want := range map[int]string{
		0:   "doorstep  | cloud " + asks + "; retry in 30s, 12 wait  | other " + failed + "; retrying, 3 wait  | paused",
		170: "doorstep  | cloud asks to wait (429 Too Many Requests: the quo…; retry in 30s, 12 wait  | other has failed 5 times in a row (500 Internal Se…; retrying, 3 wait  | paused",
		130: "cloud " + asks + "; retry in 30s, 12 wait  | paused",
	} {
		if got := fit(two, cells); got != want {
			t.Errorf("%d cells:\n%s (%d), want\n%s", cells, got, terminal.Width(got), want)
		}
	}
	for cells := 1; cells < 200; cells++ {
		for _, names := range []string{"doorstep", strings.Repeat("港", 90)} {
			parts := line(failed, time.Hour)
			parts[0].text = names
			if got := fit(parts, cells); terminal.Width(got) > cells {
				t.Errorf("%d cells: %s has %d", cells, got, terminal.Width(got))
			}
		}
	}
}
