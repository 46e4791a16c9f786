package show

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

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
