package scenestest_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/scenes/scenestest"
)

// A test may wait for the outcome and close the run afterwards: Close returns, with
// the same outcome.
func TestWaitAndClose(t *testing.T) {
	town := scenestest.Town(t)
	synctest.Test(t, func(t *testing.T) {
		r, err := scenestest.New(t, town, "").Start(scenestest.Settings{Stop: &agenda.Stop{Ticks: 2}})
		if err != nil {
			t.Fatal(err)
		}
		waited, closed := r.Wait(), make(chan scenestest.Result, 1)
		go func() { closed <- r.Close() }()
		select {
		case res := <-closed:
			if waited.Err != nil || !waited.Final || !reflect.DeepEqual(res.Outcome, waited) {
				t.Errorf("Wait gave %+v, Close %+v", waited, res)
			}
		case <-time.After(time.Hour):
			panic("Close does not return") // Fatal would wait for it
		}
	})
}
