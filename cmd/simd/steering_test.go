package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"tavernsim/cmd/simd/views"
)

// steering is text that steers a terminal: sequences of ESC and of C1, a title, a line that is rewritten, text that is
// turned around.
const steering = "\x1b[2J\x1b[31m\x1b]0;owned\a\u009b31m\b\u202eevil"

// TestNothingSteers: what agents said and did steers no terminal, in no view of simd inspect, though its text goes
// through a pipe; the JSON of the view has it escaped.
func TestNothingSteers(t *testing.T) {
	dir := t.TempDir()
	if err := unpack(postArchive, dir); err != nil {
		t.Fatal(err)
	}
	voices := filepath.Join(dir, "post", "models", "voices.yaml")
	text, err := os.ReadFile(voices)
	if err != nil {
		t.Fatal(err)
	}
	evil := strconv.QuoteToASCII(steering) // as YAML has it, too
	replaced := strings.NewReplacer(`"Dear Bo"`, evil, `"Dear Ada"`, evil, `"Hear from Bo"`, evil, "text: A letter!", "text: "+evil, "reason: posted", "reason: "+evil,
		"mood: hopeful", "mood: "+evil, "value: bo,", "value: "+evil+",", "text: Boo", "text: "+evil).Replace(string(text))
	if strings.Count(replaced, evil) < 7 {
		t.Fatal(replaced)
	}
	if err := os.WriteFile(voices, []byte(replaced), 0o644); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	inspected(t, 0, "run", filepath.Join(dir, "post"), "--out", run, "-q", "--summary", "none")
	arguments := map[string]string{"agent": "ada", "deliberation": "bo/1", "trace": "e1", "world": "**"}
	found := 0
	for _, view := range views.Names() {
		if view == "artifact" {
			continue // the bytes of a file
		}
		for _, more := range []string{"", "--json"} {
			args := []string{"inspect", run, view}
			for _, x := range []string{arguments[view], more} {
				if x != "" {
					args = append(args, x)
				}
			}
			var out, errs bytes.Buffer
			execute(context.Background(), args, strings.NewReader(""), &out, &errs)
			if more == "" {
				noSteering(t, view, out.String())
				found += strings.Count(out.String(), "\u241b") + strings.Count(out.String(), `\u001b`)
			} else {
				noSteering(t, view+" --json", out.String())
			}
			noSteering(t, view+" "+more+" (errors)", errs.String())
		}
	}
	if found < 10 {
		t.Errorf("the views show %d of the texts", found)
	}
	for _, args := range [][]string{{"diff", run, run}, {"inspect", run, "deliberation", "dee/2"}, {"inspect", run, steering}, {"inspect", run, "agent", steering}} {
		var out, errs bytes.Buffer
		execute(context.Background(), args, strings.NewReader(""), &out, &errs)
		noSteering(t, strings.Join(args[2:], " "), out.String()+errs.String())
	}
}

func noSteering(t *testing.T, what, text string) {
	t.Helper()
	for at, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%q has %U: %q", what, r, text[max(0, at-40):min(len(text), at+40)])
			return
		}
	}
}
