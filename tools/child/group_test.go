package child

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The sessions of a group end one after the other, the last one first, in a bounded time; one that does
// not end costs the others nothing.
func TestGroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes map[string]time.Duration // to end by itself
		kill  time.Duration            // to be ended after that
		want  string                   // the order in which they were asked to end
		most  time.Duration
	}{
		{"one after the other", map[string]time.Duration{"a": time.Second, "b": 2 * time.Second, "c": time.Second}, 0, "c b a", 4 * time.Second},
		{"one takes all of its time", map[string]time.Duration{"a": 0, "b": time.Hour, "c": time.Second}, 0, "c b a", 3 * time.Second}, // c left 4 s to two
		{"the others have theirs while it is killed", map[string]time.Duration{"a": time.Second, "b": time.Hour, "c": time.Second}, 10 * time.Second, "c b a", 13 * time.Second},
		{"all do", map[string]time.Duration{"a": time.Hour, "b": time.Hour, "c": time.Hour}, 2 * time.Second, "c b a", 7 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var group Group
				Keep(Of[string]{Group: &group, Name: "never asked", Final: func(error) bool { return false }})
				var mu sync.Mutex
				var asked []string
				keepers := map[string]Keeper[string]{}
				for name, takes := range c.takes {
					keepers[name] = Keep(Of[string]{Name: name, Start: time.Second, Group: &group,
						Open:  func(context.Context) (string, error) { return name, nil },
						Final: func(error) bool { return false },
						End: func(_ string, until time.Time) {
							mu.Lock()
							asked = append(asked, name)
							mu.Unlock()
							own, end := time.NewTimer(takes), time.NewTimer(time.Until(until))
							defer own.Stop()
							defer end.Stop()
							select {
							case <-own.C:
							case <-end.C:
								killed := time.NewTimer(c.kill)
								defer killed.Stop()
								<-killed.C
							}
						}})
				}
				for name := range strings.FieldsSeq("b a b c") {
					if _, failed := keepers[name].Session(t.Context()); failed != nil {
						t.Fatal(failed.Error)
					}
					if name == "b" && len(asked) == 0 { // it is opened again, after a
						keepers[name].Broken("b", context.Canceled)
						synctest.Wait()
						keepers[name].Skip()
					}
				}
				keepers["b"].Skip()
				asked = nil
				begun := time.Now()
				group.Close(5 * time.Second)
				if got := strings.Join(asked, " "); !strings.HasPrefix(got, c.want) || len(asked) != 3 || time.Since(begun) != c.most {
					t.Errorf("ended in the order %q after %s, want %q after %s", got, time.Since(begun), c.want, c.most)
				}
				for _, k := range keepers {
					k.Close()
				}
				if !slices.Contains(asked, "a") || len(asked) != 3 {
					t.Errorf("ended twice: %q", asked)
				}
			})
		})
	}
}
