package statecmd

import (
	"testing"

	"tavernsim/protocol"
)

func mustMarshal(tb testing.TB, f protocol.Fact) protocol.Raw {
	tb.Helper()
	raw, err := protocol.NewCodec().Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}
