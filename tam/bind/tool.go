package bind

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// FindTool resolves a tool id as written: exactly, else in any letter case, else
// squashed. Of several that fit none is taken: near lists them, and when there is
// none the nearest registered ids, at most three.
func FindTool(id string, registered []string) (found string, near []string) {
	if slices.Contains(registered, id) {
		return id, nil
	}
	for _, same := range []func(string) bool{
		func(r string) bool { return strings.EqualFold(r, id) },
		func(r string) bool { return squash(r) == squash(id) && squash(id) != "" },
	} {
		var fits []string
		for _, r := range registered {
			if same(r) {
				fits = append(fits, r)
			}
		}
		slices.Sort(fits)
		switch {
		case len(fits) == 1:
			return fits[0], nil
		case len(fits) > 1:
			return "", fits
		}
	}
	return "", nearest(id, registered)
}

// nearest returns at most three ids that share a word or are a few edits away.
func nearest(id string, registered []string) []string {
	type scored struct {
		id    string
		score int
	}
	var all []scored
	key := []rune(squash(id))
	if len(key) == 0 || len(key) > 100 {
		return nil
	}
	for _, r := range registered {
		other := []rune(squash(r))
		if len(other) > 100 {
			continue
		}
		d := protocol.EditDistance(string(key), string(other), max(len(key), len(other))+1)
		if d <= max(len(key), len(other))/3 || strings.Contains(string(other), string(key)) {
			all = append(all, scored{r, d})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.id, b.id)
	})
	var out []string
	for _, s := range all[:min(len(all), 3)] {
		out = append(out, s.id)
	}
	return out
}
