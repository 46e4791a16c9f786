package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Output that is lost is a failure of every command.
func TestLostOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing runs at once here")
	}
	project := filepath.Join("..", "..", "scenes", "examples", "herbalist")
	for _, line := range []string{"init --list", "validate " + project} {
		said := &strings.Builder{}
		if code := execute(context.Background(), strings.Fields(line), strings.NewReader(""), full{}, said); code != 1 || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%s: exit code %d, %q", line, code, said)
		}
	}
}
