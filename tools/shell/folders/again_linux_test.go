package folders

import (
	"errors"
	"maps"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

// A last look is taken again at a folder alone that the machine did not let be seen, a few times.
func TestALastLookAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		looks := map[string]int{}
		failed := LookUntil([]string{"fine", "slow", "broken", "other"}, func(dir string) error {
			mu.Lock()
			defer mu.Unlock()
			looks[dir]++
			switch {
			case dir == "broken" || dir == "slow" && looks[dir] < 3:
				return &os.PathError{Op: "open", Path: dir, Err: syscall.EMFILE}
			case dir == "other":
				return os.ErrPermission
			}
			return nil
		})
		if want := map[string]int{"fine": 1, "slow": 3, "broken": lastTries, "other": 1}; !maps.Equal(looks, want) {
			t.Errorf("%v, want %v", looks, want)
		}
		if len(failed) != 2 || !errors.Is(failed["broken"], syscall.EMFILE) || !errors.Is(failed["other"], os.ErrPermission) {
			t.Errorf("%v", failed)
		}
	})
}
