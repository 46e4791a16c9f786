//go:build amd64 || arm64

package probe

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// The proxy may be slow, as on a machine with other work, but it must say what it is.
func TestProxyMayBeSlow(t *testing.T) {
	for _, c := range []struct {
		says  string
		after time.Duration
		want  bool
	}{{Greeting, 0, true}, {Greeting, 4 * time.Second, true}, {Greeting, time.Minute, false}, {"SSH-2.0-ab", 0, false}} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				<-time.After(c.after)
				_, _ = io.WriteString(theirs, c.says)
				theirs.Close()
			}()
			err := greeted(ours)
			ours.Close()
			<-time.After(c.after) // the end of whoever speaks
			if (err == nil) != c.want {
				t.Errorf("%q after %v: %v", c.says, c.after, err)
			}
		})
	}
}
