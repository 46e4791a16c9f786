package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestWarnings(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	w := &warner{w: &b, now: func() time.Time { return now }, seen: map[string]*warned{}}
	log := slog.New(warnHandler{to: w}).With("scene", "tavern")
	log.Info("nobody reads this")
	for i := range 3 {
		log.Warn("no snapshot", "err", fmt.Errorf("disk\nfull, try %d", i), "wave", i)
	}
	now = now.Add(sameWarningAfter)
	log.Warn("no snapshot", "err", errors.New("denied"))
	want := "warning: scene tavern: no snapshot: disk full, try 0 (wave 0)\n" +
		"warning: scene tavern: no snapshot: denied (and 2 times more since the last line)\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	w := &warner{w: &b, now: func() time.Time { return now }, seen: map[string]*warned{}}
	for i := range 10 * maxWarnings {
		w.tell(fmt.Sprint(i), fmt.Sprint(i))
	}
	if n := strings.Count(b.String(), "\n"); n != maxWarnings || len(w.seen) != maxWarnings {
		t.Errorf("%d lines, %d kept; want %d", n, len(w.seen), maxWarnings)
	}
	now = now.Add(sameWarningAfter)
	w.tell("new", "new")
	if !strings.HasSuffix(b.String(), "warning: new (180 other warnings were not shown)\n") {
		t.Error(b.String())
	}
}

func TestQuietWarnings(t *testing.T) {
	var b strings.Builder
	Warnings(&b, true).Error("no word")
	if b.Len() > 0 {
		t.Error(b.String())
	}
}
