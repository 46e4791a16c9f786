package scenestest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"tavernsim/protocol"
)

// Child runs the scene, or goes on with it, in a process that [RunChild] has started and
// may kill.
func (s *Scene) Child(set Settings) error {
	r, err := s.Start(set)
	if protocol.KindOf(err) == protocol.KindConflict { // killed between its end and its last word
		fmt.Println("ended")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println("open")
	o := r.Close()
	if o.Err == nil && o.Final {
		fmt.Println("ended")
	}
	return o.Err
}

// RunChild runs the test's own program with a variable of the environment, which its
// TestMain takes for a child, until it ends (true) or is killed. Once the child's scene is
// open, RunChild hands kill to when, which may call it at a moment of its choice, and more
// than once. A nil when lets the child end.
func RunChild(t *testing.T, env, value string, when func(kill func())) (ended bool) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), env+"="+value)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "open" && when != nil {
			when(func() { _ = c.Process.Kill() })
		}
		ended = ended || lines.Text() == "ended"
	}
	err = c.Wait()
	var exit *exec.ExitError
	if !ended && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return ended
}
