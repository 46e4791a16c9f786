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

// Promise: the sessions of a group end one after the other, the last one first, in a bounded time.
func TestGroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes map[string]time.Duration // to end by itself
		want  string                   // the order in which they were asked to end
		most  time.Duration
	}{
		{"one after the other", map[string]time.Duration{"a": time.Second, "b": 2 * time.Second, "c": time.Second}, "c b a", 4 * time.Second},
		{"one takes all of the time", map[string]time.Duration{"a": 0, "b": time.Hour, "c": time.Second}, "c b a", 5 * time.Second},
		{"all do", map[string]time.Duration{"a": time.Hour, "b": time.Hour, "c": time.Hour}, "c", 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var group Group
				var mu sync.Mutex
				var asked []string
				keepers := map[string]*Keeper[string]{}
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
