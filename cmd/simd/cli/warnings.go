package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/internal/terminal"
)

// Warnings shows what a run warns of, one line each, on w. The same text again
// within a while is counted and not shown; so is everything above a few lines at
// once. quiet shows nothing.
func Warnings(w io.Writer, quiet bool) *slog.Logger {
	if quiet {
		return slog.New(slog.DiscardHandler)
	}
	l := &warner{w: w, now: time.Now, seen: map[string]*warned{}}
	l.screen, _ = w.(*terminal.Screen)
	return slog.New(warnHandler{to: l})
}

const (
	sameWarningAfter = time.Minute // before the same text is shown again
	maxWarnings      = 20          // different texts within that time
)

// warner is what all handlers of a logger share.
type warner struct {
	w      io.Writer
	screen *terminal.Screen // nil: w is none
	now    func() time.Time

	mu     sync.Mutex
	seen   map[string]*warned // at most maxWarnings
	hidden int                // beyond the bound
}

type warned struct {
	shown time.Time
	again int // not shown since
}

// tell shows a warning. key is the text without what changes each time.
func (l *warner) tell(key, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if len(l.seen) >= maxWarnings && l.seen[key] == nil {
		l.forget(now)
	}
	s := l.seen[key]
	switch {
	case s == nil && len(l.seen) >= maxWarnings:
		l.hidden++
		return
	case s == nil:
		s = &warned{}
		l.seen[key] = s
	case now.Sub(s.shown) < sameWarningAfter:
		s.again++
		return
	}
	note := ""
	if s.again > 0 {
		note = fmt.Sprintf(" (and %d times more since the last line)", s.again)
	}
	if l.hidden > 0 {
		note += fmt.Sprintf(" (%d other warnings were not shown)", l.hidden)
	}
	s.shown, s.again, l.hidden = now, 0, 0
	if l.screen != nil {
		l.screen.Rewrite("") // the line of the progress
	}
	Warn(l.w, line+note)
}

// forget makes room by what was last shown long ago.
func (l *warner) forget(now time.Time) {
	for key, s := range l.seen {
		if now.Sub(s.shown) >= sameWarningAfter {
			delete(l.seen, key)
		}
	}
}

// warnHandler implements slog.Handler for one warner.
type warnHandler struct {
	to    *warner
	attrs []slog.Attr
}

// Enabled: what is no warning is for logs, and a run has none.
func (h warnHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle writes "scene X: text: error (name value)".
func (h warnHandler) Handle(_ context.Context, r slog.Record) error {
	scene, failure, rest := "", "", ""
	each := func(a slog.Attr) bool {
		switch text := a.Value.String(); a.Key {
		case "scene":
			scene = "scene " + text + ": "
		case "err":
			failure = ": " + text
		default:
			rest += ", " + a.Key + " " + text
		}
		return true
	}
	for _, a := range h.attrs {
		each(a)
	}
	r.Attrs(each)
	line := scene + r.Message + failure
	if rest != "" {
		line += " (" + rest[2:] + ")"
	}
	h.to.tell(scene+r.Message, terminal.Plain(strings.Join(strings.Fields(line), " ")))
	return nil
}

// WithAttrs implements slog.Handler.
func (h warnHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	return h
}

// WithGroup implements slog.Handler; a line has no groups.
func (h warnHandler) WithGroup(string) slog.Handler { return h }

// Warn shows a warning.
func Warn(w io.Writer, text string) {
	_ = terminal.Print(w, terminal.FillOn(w, "warning: "+text, "  ")+"\n") // there is nowhere to say that it failed
}
