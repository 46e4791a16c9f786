package export

import (
	"context"
	"io"
	"testing"
)

// BenchmarkWrite writes the tables of a town; rows/s is the figure to keep.
func BenchmarkWrite(b *testing.B) {
	s := openRun(b, townRun(b, 200))
	for _, table := range Tables() {
		for _, f := range []Format{JSONL, CSV, Parquet} {
			b.Run("table="+table.Name+"/format="+string(f), func(b *testing.B) {
				b.ReportAllocs()
				rows := int64(0)
				for b.Loop() {
					done, err := Write(context.Background(), s, table.Name, f, Options{}, io.Discard)
					if err != nil {
						b.Fatal(err)
					}
					rows += done.Rows
				}
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
