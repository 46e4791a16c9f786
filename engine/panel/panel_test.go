package panel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// Clients read times of questions, and the process of the run reads its own files again.
func TestTimesOfQuestionsAreTexts(t *testing.T) {
	q := Asked{Asked: Time(protocol.TimeOf(time.Date(2000, 1, 1, 0, 0, 1, 5, time.UTC)))}
	text, err := json.Marshal(q)
	if err != nil || !strings.Contains(string(text), `"asked":"2000-01-01T00:00:01.000000005Z"`) || strings.Contains(string(text), "due") {
		t.Fatalf("%s, %v", text, err)
	}
	var back Asked
	if err := json.Unmarshal(text, &back); err != nil || back.Asked != q.Asked {
		t.Errorf("%v, %v", back.Asked, err)
	}
}
