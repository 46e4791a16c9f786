package folders

import (
	"sync"
	"time"
)

// How often a folder is looked at that this machine did not let be seen whole, and how long the first rest between is;
// each is twice as long as the one before.
const (
	lastTries = 5
	lastPause = 100 * time.Millisecond
)

// LookUntil looks at folders side by side, and again at one that the machine did not let be seen. failed has the last
// error of each that was not seen.
func LookUntil(dirs []string, look func(dir string) error) (failed map[string]error) {
	errs := make([]error, len(dirs))
	var all sync.WaitGroup
	for i, dir := range dirs {
		all.Go(func() {
			for try := range lastTries {
				if try > 0 {
					<-time.After(lastPause << (try - 1))
				}
				if errs[i] = look(dir); !OfMachine(errs[i]) {
					return
				}
			}
		})
	}
	all.Wait()
	failed = map[string]error{}
	for i, dir := range dirs {
		if errs[i] != nil {
			failed[dir] = errs[i]
		}
	}
	return failed
}
