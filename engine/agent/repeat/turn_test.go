package repeat

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

// Promise 3, and what the results are when a part of the block has waited.
func TestTurn(t *testing.T) {
	var turn Turn
	c := &protocol.Call{Block: 2, Tool: "Buy"}
	take := func(output any) []any {
		return turn.Take(c, &protocol.CallResult{Status: protocol.CallOK, Output: output})
	}
	if take("x") != nil || turn.IsOpen(2) {
		t.Error("no block is open")
	}
	turn.Open("r", "body", 2, 2)
	if turn.Take(&protocol.Call{Block: 1}, &protocol.CallResult{}) != nil || take("a") != nil {
		t.Error("a block was answered before its last call")
	}
	results := take("b")
	if id, body := turn.ID(2); len(results) != 2 || id != "r" || body != "body" {
		t.Fatal(results, id, body)
	}
	was := turn.Close(protocol.Encode(results), 5)
	for _, round := range []bool{false, true} { // blocks of one answer are independent
		same, other := turn.Find(nil, "r", "another", 5)
		if again, _ := turn.Find(nil, "r", "body", 5); same != nil || other != round || again == nil {
			t.Error(round, same, other, again)
		}
		turn.Round()
	}
	turn.Reopen(&was, 7, []int{2})
	if turn.IsOpen(7) {
		t.Error("a result that is not kept was taken up")
	}
	turn.Reopen(&was, 7, []int{1})
	c.Block = 7
	if results = take("c"); len(results) != 2 || fmt.Sprint(results[0].(map[string]any)["output"], results[1].(map[string]any)["output"]) != "ac" {
		t.Error(results)
	}
	if list := was.Repeated(); len(list) != 2 || list[1].Status != protocol.CallOK {
		t.Error(list)
	}
}
