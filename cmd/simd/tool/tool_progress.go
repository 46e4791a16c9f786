package tool

import (
	"context"
	"fmt"
	"io"
	"sync"

	"tavernsim/internal/terminal"
	"tavernsim/tools"
)

// showing is a context whose calls tell on w how far they are: on a terminal in a line that
// rewrites itself, elsewhere in a line for each report. end takes the line away.
func showing(ctx context.Context, w io.Writer) (_ context.Context, end func()) {
	s, _ := w.(*terminal.Screen)
	var mu sync.Mutex // guards shown, and w; the workflow of a tool may make calls beside each other
	shown := false
	return tools.WithProgress(ctx, func(tool string, p tools.Progress) {
			mu.Lock()
			defer mu.Unlock()
			line := tool + " " + p.String()
			if shown = true; s == nil {
				fmt.Fprintln(w, line)
				return
			}
			if width := s.Width(); width > 1 && len([]rune(line)) >= width {
				line = string([]rune(line)[:width-1])
			}
			s.Rewrite(line)
		}), func() {
			mu.Lock()
			defer mu.Unlock()
			if s != nil && shown {
				s.Rewrite("")
			}
		}
}
