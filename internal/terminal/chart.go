package terminal

import (
	"fmt"
	"math"
	"strings"

	"github.com/guptarohit/asciigraph"
)

const (
	chartWidth  = 60
	chartHeight = 5
)

// Chart is a picture of values over time, of which every second is one of a value; NaN is a
// gap. "" = they did not move, or are less than two.
func Chart(seconds, values []float64) string {
	shown, moved := columns(seconds, values)
	if !moved {
		return ""
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range shown {
		if !math.IsNaN(f) {
			low, high = min(low, f), max(high, f)
		}
	}
	digits := 0
	if high > low {
		digits = min(max(0, 2-int(math.Floor(math.Log10(high-low)))), 6)
	}
	picture := asciigraph.Plot(shown, asciigraph.Height(chartHeight), asciigraph.Precision(uint(digits)))
	first, _, _ := strings.Cut(picture, "\n")
	margin := Width(first[:max(0, strings.IndexAny(first, "┤┼"))]) + 1
	since, until := "+"+Span(seconds[0]), "+"+Span(seconds[len(seconds)-1])
	return fmt.Sprintf("    %s\n    %s%s%*s\n", strings.ReplaceAll(picture, "\n", "\n    "), strings.Repeat(" ", margin), since, chartWidth-len(since), until)
}

// columns are the values at equal distances of time: the last one up to there.
func columns(seconds, values []float64) (list []float64, moved bool) {
	n := len(values)
	if n < 2 || len(seconds) != n {
		return nil, false
	}
	step, at := (seconds[n-1]-seconds[0])/(chartWidth-1), 0
	for i := range chartWidth {
		for at+1 < n && seconds[at+1] <= seconds[0]+float64(i)*step+step/1e6 {
			at++
		}
		list = append(list, values[at])
		moved = moved || i > 0 && list[i] != list[i-1] && !(math.IsNaN(list[i]) && math.IsNaN(list[i-1]))
	}
	return list, moved
}
