// Package leaks counts the outputs of a tool that are withheld because they contain a secret in another
// encoding (docs/formats/secrets.md). The third disables the tool.
package leaks

import (
	"fmt"
	"sync/atomic"

	"tavernsim/protocol"
)

// most is how many outputs are withheld until nobody may call the tool any more.
const most = 3

// Count is that of one tool in one scene. It can be used by many goroutines.
type Count struct{ n atomic.Int32 }

// One counts an output, and says why it is withheld; last = the tool is taken away by it.
func (c *Count) One(why string) (text string, last bool) {
	if c.n.Add(1) != most {
		return why, false
	}
	return fmt.Sprintf("%s; secret_exfiltration: it is the output number %d of this tool that spelled one, so its grant is taken away for this run", why, most), true
}

// Refused says why the tool is not called any more; nil = it is.
func (c *Count) Refused() error {
	if c.n.Load() < most {
		return nil
	}
	return protocol.Errorf(protocol.KindDenied, "its grant is taken away for this run: %d of its outputs spelled a secret (secret_exfiltration); look at the tool, and start the run anew", most)
}
