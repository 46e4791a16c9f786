package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
)

// people are the agents of scripts by ordinal.
type people []string

func (p people) Size() int            { return len(p) }
func (p people) Name(o uint32) string { return p[o] }
func (p people) Ordinal(id string) (uint32, bool) {
	i := slices.Index(p, id)
	return uint32(max(i, 0)), i >= 0
}

// yard is a space as an agent sees it.
func yard(t *testing.T, rows []string) *space.View {
	t.Helper()
	m, faults := ground.New(&ground.Definition{
		Grid:       &ground.Grid{Width: int64(len(rows[0])), Height: int64(len(rows))},
		Places:     map[string]ground.Place{"inn": {At: []int64{2, 0}}},
		Perception: ground.Perception{Radius: 3, Types: []string{"agent.said"}},
	}, []byte(strings.Join(rows, "\n")))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return space.NewState(m, []uint32{m.Cell(2, 0) + 1, 0, 0, 0, m.Cell(0, 0) + 1}, people{"bo", "cy", "dee", "eve", "ada"}, time.Second).Share()
}
