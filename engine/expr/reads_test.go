package expr

import (
	"fmt"
	"testing"
)

// Reads names what a value depends on, and nothing below what only the value decides.
func TestReads(t *testing.T) {
	for src, want := range map[string]string{
		"world.ready":                                "[[ready]]",
		"world.a.b > 3 && self.x":                    "[[a b]]",
		"world?.a?.b ?? world.c":                     "[[a b] [c]]",
		"world.list.length > 2":                      "[[list]]",
		"world.list.length.x":                        "[[list]]",
		"world.list[0].x === world[self.name]":       "[[] [list]]",
		"world.list.some(x => x.n > world.limit.n)":  "[[limit n] [list]]",
		"Object.keys(world).includes('a')":           "[[]]",
		"`${world.a} ${world.b}` === 'x'":            "[[a] [b]]",
		"[world.a, {k: world.b}].length":             "[[a] [b]]",
		"!world.a ? -world.b : Math.max(world.c, 1)": "[[a] [b] [c]]",
		"/x/.test(world.text.trim())":                "[[text]]",
		"'k' in world.box":                           "[[box]]",
		"typeof world.a === 'number'":                "[[a]]",
		"Array.isArray(world.a) || now.hour > 3":     "[[a]]",
		"now.hour":                                   "[]",
	} {
		p, err := Compile(src, "world", "self", "now")
		if err != nil {
			t.Fatal(src, err)
		}
		if got := fmt.Sprint(p.Reads("world")); got != want {
			t.Errorf("%s reads %s, want %s", src, got, want)
		}
	}
}
