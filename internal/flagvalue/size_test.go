package flagvalue

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1000000": 1e6, "64MiB": 64 << 20, "1.5GiB": 3 << 29, "500 MB": 5e8, "2kB": 2000, "7B": 7, "1TiB": 1 << 40,
		"": 0, "0": 0, "-1": 0, "MiB": 0, "64mib": 0, "1e30": 0, "NaN": 0, "Inf": 0, "0.5B": 0,
	} {
		var b Size
		if err := b.Set(text); int64(b) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, b, err, want)
		}
	}
}
