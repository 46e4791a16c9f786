package collab_test

import (
	"encoding/json"
	"testing"

	"tavernsim/engine/collab"
	"tavernsim/protocol"
)

// Any JSON may come as a ballot or as a bid.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{`["a", "b"]`, `[["b", "a"], ["a"]]`, `[{"a": 3}]`, `[{"amount": 3, "side": "buy"}, {"amount": 2, "side": "sell"}]`, `[null, 1e300, {"amount": -1}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var raw any
		if json.Unmarshal(text, &raw) != nil {
			return
		}
		v, err := protocol.Normalize(raw)
		list, ok := v.([]any)
		if err != nil || !ok {
			return
		}
		for _, method := range collab.Methods() {
			v := collab.Voting{Method: method, Options: []string{"a", "b"}}
			if got := v.Count(list, len(list), draw()); got.Votes+got.Spoiled != int64(len(list)) || (got.Winner == "") != (got.Votes == 0) {
				t.Errorf("%s: %+v", method, got)
			}
		}
		var bids []collab.Bid
		for i, e := range list {
			bids = append(bids, collab.Bid{By: string(rune('a' + i%26)), Value: e})
		}
		for _, price := range collab.Prices() {
			a := collab.Auction{Price: price}
			got := a.Settle(bids, draw())
			if got.Bids+got.Spoiled != int64(len(list)) || (len(got.Trades) == 0) != (got.Why != "") || got.Price < 0 {
				t.Errorf("%s: %+v", price, got)
			}
		}
	})
}
