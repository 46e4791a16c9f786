package tooling_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/sandbox"
)

// ended is when the scene that is killed ends.
func ended() *agenda.Stop { return &agenda.Stop{Ticks: 12} }

// hooksChild runs the scene, or goes on with it, until a while after the next wave is
// durable; it lets no later wave become durable before it kills itself.
func hooksChild(dir, while string) error {
	after, err := time.ParseDuration(while)
	if err != nil {
		return err
	}
	p, err := projectAround("closed")
	if err != nil {
		return err
	}
	def, err := p.Scene("")
	if err != nil {
		return err
	}
	s := &scenestest.Scene{Project: p, Def: def, Dir: dir}
	return s.Child(scenestest.Settings{Tools: tooling.Live, Sandbox: sandbox.New(sandbox.Options{}), Stop: ended(), Kept: func(persistence.Wave) {
		<-time.After(after)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}})
}

// A scene with hooks that is killed after each of its waves, in the middle of what comes then,
// ends as if nobody had killed it.
func TestKilledHooks(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed")
	}
	box := withPython(t)
	whole := scenestest.New(t, loadAround(t, "closed"), "")
	want := whole.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box, Stop: ended()})
	if want.Err != nil || !want.Final {
		t.Fatal(want.Err)
	}
	s := scenestest.New(t, loadAround(t, "closed"), "")
	kills, rng := 0, chance(t)
	for !scenestest.RunChild(t, childEnv, fmt.Sprint(s.Dir, " hooks ", time.Duration(rng.Int64N(int64(10*time.Millisecond)))), nil) {
		if kills++; kills > int(want.Wave.Number) {
			t.Fatalf("%d kills, and no end", kills)
		}
	}
	if kills < 3 {
		t.Errorf("%d kills", kills)
	}
	s.Journal(t, func(j *persistence.Journal) {
		if got := j.Durable(); got.Digest != want.Wave.Digest {
			t.Errorf("after %d kills wave %d has the digest %s, want wave %d, %s", kills, got.Number, got.Digest, want.Wave.Number, want.Digest())
		}
	})
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Off, Stop: ended()})
	t.Logf("%d kills", kills)
}
