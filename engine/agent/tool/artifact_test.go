package tool

import (
	"strings"
	"testing"
)

// A value names no file that was attached to it: who reads the value is told of it. A text does, and some files are not
// for agents.
func TestUnnamed(t *testing.T) {
	id := "sha256-" + strings.Repeat("a", 64)
	picture := Artifact{ID: id, Size: 3, Type: "image/png", Name: "image"}
	line := "[file image/png, 3 bytes: artifact:" + id + "]"
	for _, c := range []struct {
		output any
		files  []Artifact
		want   string
	}{
		{map[string]any{"v": int64(2)}, []Artifact{picture, {Name: WholeOutput}, {Name: AskedPeople}}, line},
		{map[string]any{"at": picture.URI()}, []Artifact{picture}, ""},
		{"see " + line, []Artifact{picture}, ""},
		{"text", []Artifact{picture}, ""},
		{nil, []Artifact{picture, picture}, line + "\n" + line},
		{map[string]any{}, nil, ""},
	} {
		if got := Unnamed(c.output, c.files); got != c.want {
			t.Errorf("%v: %q, want %q", c.output, got, c.want)
		}
	}
}
