package progress

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/tools"
)

// Promises 1 and 2: once a second, the last, and at the end what waits; nothing is left.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Board
		var told []string
		hear, end := b.Open("a", "build", func(p *tools.Progress) {
			p.Message = "seen"
			told = append(told, fmt.Sprint(time.Now().Second(), " ", p.Done))
		})
		other, endOther := b.Open("b", "look", func(*tools.Progress) {})
		for i := range 5 {
			hear(tools.Progress{Done: float64(i)})
			hear(tools.Progress{Done: -1})
			<-time.After(450 * time.Millisecond)
		}
		other(tools.Progress{Done: 1})
		if list := b.List(); len(list) != 2 || list[0].Tool != "look" || list[1].Agent != "a" || list[1].Message != "seen" || list[1].Done != 4 {
			t.Errorf("%+v", list)
		}
		hear(tools.Progress{Done: 9})
		end()
		endOther()
		hear(tools.Progress{Done: 10})
		<-time.After(time.Minute)
		if want := []string{"0 0", "1 2", "2 4", "2 9"}; !slices.Equal(told, want) || len(b.List()) > 0 {
			t.Errorf("%q, %v", told, b.List())
		}
	})
}
