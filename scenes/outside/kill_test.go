package outside_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// child runs the talkers in dir, or goes on with them. Every call of the model
// is a line of dir/calls, written before the answer: what a provider's bill
// would show.
func child(dir string) error {
	p, err := talking()
	if err != nil {
		return err
	}
	def, err := p.Scene("")
	if err != nil {
		return err
	}
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer calls.Close()
	model := &llmtest.Fake{Reply: func(_ context.Context, n int, req *protocol.ModelRequest) (string, error) {
		_, err := fmt.Fprintf(calls, "%s\n", asked(llmtest.LastText(req)))
		time.Sleep(2 * time.Millisecond) //nolint:forbidigo // a model that takes its time; the test is killed from outside
		return fmt.Sprintf("answer %d of %d", n, os.Getpid()), err
	}}
	s := &scenestest.Scene{Project: p, Def: def, Dir: filepath.Join(dir, "store")}
	return s.Child(scenestest.Settings{Model: model})
}

// TestKill kills a process with SIGKILL at random moments and goes on, until the
// run reaches its end: nothing is asked again after its answer was kept, and the
// journal holds the answers that were kept.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("kill moments drawn from %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	p, err := talking()
	if err != nil {
		t.Fatal(err)
	}
	def, _ := p.Scene("")
	s := &scenestest.Scene{Project: p, Def: def, Dir: filepath.Join(dir, "store")}
	kept, before, kills := map[string]string{}, map[string]int{}, 0
	soon := func(kill func()) { time.AfterFunc(time.Duration(rng.Int64N(int64(20*time.Millisecond))), kill) }
	for !scenestest.RunChild(t, childEnv, dir, soon) {
		kills++
		for question, text := range keptAnswers(t, s.Dir, nil) {
			if old, ok := kept[question]; ok && old != text {
				t.Errorf("%q was answered with %q, then with %q", question, old, text)
			}
			if _, known := kept[question]; !known {
				kept[question], before[question] = text, calls(t, dir)[question]
			}
		}
		if kills == 60 {
			break // one that gets no further between two kills is let go
		}
	}
	if kills == 60 && !scenestest.RunChild(t, childEnv, dir, nil) {
		t.Fatal("the last child was killed")
	}
	texts, _ := heard(t, s)
	total := calls(t, dir)
	for question, text := range kept {
		if texts[question] != text || total[question] != before[question] {
			t.Errorf("%q: %q was kept, the journal holds %q; %d calls before, %d after", question, text, texts[question], before[question], total[question])
		}
	}
	for question, n := range total {
		if n > 1+kills {
			t.Errorf("%q was asked %d times with %d kills", question, n, kills)
		}
	}
	t.Logf("%d kills, %d of %d answers outlived one", kills, len(kept), len(texts))
	if len(texts) != 4*6*2 {
		t.Errorf("%d answers", len(texts))
	}
}

// calls counts what was asked, by question.
func calls(t *testing.T, dir string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n[strings.TrimSpace(line)]++
	}
	return n
}
