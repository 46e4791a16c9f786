package person

import (
	"strings"
	"testing"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
)

// Another word would hold time as hold does.
func TestWaitOfAQuestion(t *testing.T) {
	for wait, ok := range map[any]bool{nil: true, "": true, tooltask.WaitHold: true, tooltask.WaitRun: true, "RUN": false, "forever": false} {
		_, err := Ask(tool.Params{"action": "text", "wait": wait}, func(*panel.Question) error { return nil }, 0)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "want hold or run") {
			t.Errorf("%v: %v", wait, err)
		}
	}
}
