package show

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
)

// Every reported value that moved has a picture with its own scale and its times;
// a gap is a gap.
func TestReportedValuesAreDrawn(t *testing.T) {
	s := &rundir.SceneSummary{Report: []rundir.WorldValue{
		{Path: "share", Value: 0.9, Series: rundir.Samples{0.1, 0.5, 0.9}, Seconds: []float64{0, 10, 100}},
		{Path: "late", Value: 2000, Series: rundir.Samples{math.NaN(), 1000, 2000}, Seconds: []float64{0, 10, 100}},
		{Path: "still", Value: 7, Series: rundir.Samples{7, 7, 7}, Seconds: []float64{0, 10, 100}},
	}}
	var b strings.Builder
	writeReport(&b, s)
	for _, want := range []string{"share = 0.9\n", " 0.900 ┤", " 0.100 ┼", "late = 2000\n", " 2000 ┤", " 1000 ┤", "+0s", "+1m40s\n    late", "still = 7\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "+1m40s"); n != 2 {
		t.Errorf("%d pictures, want 2\n%s", n, b.String())
	}
	text, err := json.Marshal(s.Report[1])
	if want := `{"path":"late","value":2000,"series":[null,1000,2000],"series_seconds":[0,10,100]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

// The line of the schedule has all calls that were made ahead: used, wasted, and ahead at the end.
func TestCallsAheadAreShown(t *testing.T) {
	var b strings.Builder
	row := func(name, format string, args ...any) { fmt.Fprintf(&b, name+": "+format, args...) }
	writeSchedule(&b, row, &rundir.Schedule{Name: "tracked", Turns: 9, Used: 5, Calls: 12, CallsUsed: 6, CallsWasted: 2, CallsAhead: 4})
	if want := "schedule tracked: 9 turns ran ahead, 5 used; of their 12 calls 6 used  2 wasted  4 ahead when it stopped"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// A run says how many answers of its endpoints were cut at max_tokens, and nothing if none was.
func TestCutAnswersAreShown(t *testing.T) {
	s := &rundir.Summary{SceneSummary: &rundir.SceneSummary{}}
	for _, c := range []struct {
		cut  []int64
		want string
	}{
		{nil, ""}, {[]int64{0}, ""},
		{[]int64{1}, "    cut...................: 1 answer cut at max_tokens; set max_tokens of the model file higher\n"},
		{[]int64{2, 0, 1999}, "    cut...................: 2,001 answers cut at max_tokens; set max_tokens of the model file higher\n"},
	} {
		s.SceneSummary.Model.ByModel = nil
		for _, n := range c.cut {
			s.SceneSummary.Model.ByModel = append(s.SceneSummary.Model.ByModel, history.ModelUse{Endpoint: "far", Model: "m", Answers: 2000, Length: n})
		}
		var b strings.Builder
		if err := Run(&b, s, true); err != nil || !strings.Contains(b.String(), c.want) || c.want == "" && strings.Contains(b.String(), "cut") {
			t.Errorf("%v: %v\n%s", c.cut, err, b.String())
		}
	}
}

// A turn says why an answer is not whole.
func TestFinishOfAnAnswer(t *testing.T) {
	for finish, want := range map[protocol.FinishReason]string{
		"": "", protocol.FinishStop: "", protocol.FinishToolCalls: "", protocol.FinishLength: "cut at max_tokens", protocol.FinishFiltered: "refused the answer", "odd": "finish odd",
	} {
		if got := finishNote(string(finish)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", finish, got, want)
		}
	}
}

// Who asks what was paid learns how much of what budgets count is not certain.
func TestUnansweredRequestsAreShown(t *testing.T) {
	s := &rundir.Summary{SceneSummary: &rundir.SceneSummary{Model: rundir.ModelCounts{Lost: rundir.Spent{Tokens: 3000, Nano: 20_000_000}}}}
	var b strings.Builder
	want := "    unanswered............: up to 3000 tokens, $0.02 for requests that failed or were cut off, and all requests of turns that were abandoned\n      budgets count them; the provider may have charged less\n"
	if err := Run(&b, s, true); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v\n%s", err, b.String())
	}
}
