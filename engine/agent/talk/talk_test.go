package talk

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// answer is one of an endpoint: it keeps the ids of calls. A call is its id.
func answer(text string, ids ...string) *protocol.ModelAnswer {
	a := &protocol.ModelAnswer{Text: text, Origin: &protocol.ModelOrigin{}}
	for _, id := range ids {
		a.Calls = append(a.Calls, protocol.Call{ID: id, Tool: "t", Origin: protocol.OriginNative})
	}
	return a
}

func done(id string, output any) Call {
	return Call{ID: id, Result: &protocol.CallResult{Tool: "t", Status: protocol.CallOK, Output: output}}
}

func withPicture(c Call, uri string) Call {
	c.Images = []protocol.Image{{URI: uri, Type: "image/png", Found: true}}
	return c
}

func withFiles(c Call) Call {
	c.Files = "[file a/b]"
	return c
}

// lines are messages as the table writes them.
func lines(list []any) string {
	var out []string
	for _, v := range list {
		m := v.(map[string]any)
		line := fmt.Sprint(m["role"], " ", m["text"])
		calls, _ := m["calls"].([]any)
		for _, c := range calls {
			line += fmt.Sprint(" <", c.(map[string]any)["id"], ">")
		}
		if id := m["callId"]; id != nil {
			line += fmt.Sprint(" for ", id)
		}
		images, _ := m["images"].([]any)
		for _, i := range images {
			line += fmt.Sprint(" shows ", i)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Which answers of a round are in the conversation, and where the results stand.
func TestClose(t *testing.T) {
	failed := Call{Result: &protocol.CallResult{Tool: "shout", Status: protocol.CallDenied, Error: protocol.Errorf(protocol.KindDenied, "no")}}
	for name, c := range map[string]struct {
		answers  []*protocol.ModelAnswer
		response string
		calls    []Call
		problems []string
		want     string
	}{
		"native calls": {[]*protocol.ModelAnswer{answer("Let me see.", "a", "b")}, "Let me see.", []Call{done("a", "x"), done("b", int64(7))}, nil,
			"assistant Let me see. <a> <b>\ntool x for a\ntool 7 for b"},
		"pictures": {[]*protocol.ModelAnswer{answer("Look.", "a")}, "Look.", []Call{withPicture(done("a", "x"), "artifact:1"), withPicture(done("", "y"), "artifact:2")}, nil,
			"assistant Look. <a>\ntool x for a shows map[found:true mediaType:image/png uri:artifact:1]\nuser What became of your calls:\n- t: y shows map[found:true mediaType:image/png uri:artifact:2]"},
		"files that a value does not name": {[]*protocol.ModelAnswer{answer("", "a")}, "", []Call{withFiles(done("a", int64(2))), withFiles(failed)}, nil,
			"assistant  <a>\ntool 2\n[file a/b] for a\nuser What became of your calls:\n- shout: denied: no"},
		"carried out in another order": {[]*protocol.ModelAnswer{answer("", "a", "b")}, "", []Call{done("b", "2"), done("a", "1")}, nil,
			"assistant  <a> <b>\ntool 1 for a\ntool 2 for b"},
		"a call that the workflow kept back": {[]*protocol.ModelAnswer{answer("", "a", "b")}, "", []Call{done("b", nil)}, nil,
			"assistant  <a> <b>\ntool not carried out: the workflow did not pass this call on for a\ntool ok for b"},
		"no call was passed on": {[]*protocol.ModelAnswer{answer("hm", "a")}, "", []Call{failed}, nil,
			"assistant hm\nuser What became of your calls:\n- shout: denied: no"},
		"calls in the text": {[]*protocol.ModelAnswer{answer("a thought"), answer("do: X"), answer("a critic")}, "do: X\n", []Call{done("", map[string]any{"n": int64(1)}), failed}, nil,
			"assistant do: X\n\nuser What became of your calls:\n- t: {\"n\":1}\n- shout: denied: no"},
		"both": {[]*protocol.ModelAnswer{answer("do: X", "a")}, "do: X", []Call{done("", nil), done("a", nil)}, nil,
			"assistant do: X <a>\ntool ok for a\nuser What became of your calls:\n- t: ok"},
		"two models called": {[]*protocol.ModelAnswer{answer("one", "a"), answer("two", "b")}, "two", []Call{done("a", "1"), done("b", "2")}, nil,
			"assistant one <a>\ntool 1 for a\nassistant two <b>\ntool 2 for b"},
		"the workflow thought of the calls":  {nil, "", []Call{done("", "1")}, nil, "user What became of your calls:\n- t: 1"},
		"calls that could not be read":       {[]*protocol.ModelAnswer{answer("<|[REQ")}, "<|[REQ", nil, []string{"no end"}, "assistant <|[REQ\nuser What became of your calls:\n- no end"},
		"a call that an earlier one stopped": {[]*protocol.ModelAnswer{answer("x")}, "x", []Call{{Result: &protocol.CallResult{Tool: "t", Status: protocol.CallNotRun}}}, nil, "assistant x\nuser What became of your calls:\n- t: not run: an earlier call of its block failed"},
		"an end mark that the node put back": {[]*protocol.ModelAnswer{answer("<tools><ctrl>c</ctrl>"), answer("<tools>")}, "<tools><ctrl>c</ctrl></tools>", []Call{done("", nil)}, nil, "assistant <tools><ctrl>c</ctrl></tools>\nuser What became of your calls:\n- t: ok"},
		"a request":                          {[]*protocol.ModelAnswer{answer("", "a")}, "", []Call{{ID: "a", Result: &protocol.CallResult{Tool: "t", Status: protocol.CallRequested, Output: "r1"}}}, nil, "assistant  <a>\ntool requested: r1 for a"},
		"a long result":                      {[]*protocol.ModelAnswer{answer("", "a")}, "", []Call{done("a", strings.Repeat("x", maxOutcome+5))}, nil, "assistant  <a>\ntool " + strings.Repeat("x", maxOutcome) + "… (5 bytes more) for a"},
	} {
		k := &Talk{}
		for i, a := range c.answers {
			k.Heard(i+1, a)
		}
		k.Begin(c.response, false)
		for _, p := range c.problems {
			k.Problem(p)
		}
		k.End()
		if size := k.Close(c.calls); lines(k.Messages()) != c.want || size < len(c.want)-20 {
			t.Errorf("%s, %d bytes:\n%s\nwant\n%s", name, size, lines(k.Messages()), c.want)
		}
	}
}

// A turn without a conversation: everything may be called and says nothing.
func TestNoTalk(t *testing.T) {
	var k *Talk
	k.Begin("x", false)
	k.Lost()
	a := answer("", "a")
	k.Heard(1, a)
	if k.Again() || !k.Problem("p") || len(k.Messages()) != 0 || k.Messages() == nil || a.Calls[0].ID != "a" {
		t.Error("no conversation says something")
	}
	k.End()
	k = &Talk{}
	if k.Lost(); k.Again() || !k.Problem("outside of a response") {
		t.Error("nothing is read")
	}
	if k.Begin("x", true); !k.Problem("in the last round") {
		t.Error("nobody will read of it")
	}
	k.Begin("x", false)
	if !k.Problem("the round may be the last") {
		t.Error("the next turn must observe it")
	}
	if k.Lost(); !k.Again() || k.Problem("another round tells") {
		t.Error("a round follows")
	}
	if k.Close(nil); k.Again() {
		t.Error("the round is closed")
	}
}

// Promises 1 to 3, with random rounds: messages are kept, each call has one result and its
// own id, and a turn that is decided again from facts, which keep no ids of scripts, talks
// the same.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		live, again := &Talk{}, &Talk{}
		var before []byte
		number := 0
		for range rapid.IntRange(1, 4).Draw(r, "rounds") {
			var mine, its []Call
			for range rapid.IntRange(0, 3).Draw(r, "answers") {
				number++
				ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "call_1_1", "call_2_1"}), 0, 3).Draw(r, "ids")
				a, b := answer(rapid.SampledFrom([]string{"", "x"}).Draw(r, "text"), ids...), &protocol.ModelAnswer{}
				script := rapid.Bool().Draw(r, "script")
				*b = *a
				b.Calls = append([]protocol.Call(nil), a.Calls...)
				if script {
					a.Origin, b.Origin = nil, nil
					for i := range b.Calls {
						b.Calls[i].ID = ""
					}
				}
				live.Heard(number, a)
				again.Heard(number, b)
				for i := range a.Calls {
					if rapid.Bool().Draw(r, "carried out") {
						mine, its = append(mine, done(a.Calls[i].ID, "r")), append(its, done(b.Calls[i].ID, "r"))
					}
				}
			}
			live.Close(mine)
			again.Close(its)
			now, _ := json.Marshal(live.Messages())
			if n := len(before); n > 2 && string(now[:n-1]) != string(before[:n-1]) {
				r.Fatalf("%s became %s", before, now)
			}
			before = now
		}
		if then, _ := json.Marshal(again.Messages()); string(then) != string(before) {
			r.Fatalf("decided again\n%s\nwas\n%s", then, before)
		}
		open := map[string]int{} // id to its results
		for _, v := range live.Messages() {
			m := v.(map[string]any)
			calls, _ := m["calls"].([]any)
			for _, c := range calls {
				id := c.(map[string]any)["id"].(string)
				if _, twice := open[id]; twice {
					r.Fatalf("two calls %s", id)
				}
				open[id] = 0
			}
			if id, ok := m["callId"].(string); ok {
				open[id]++
			}
		}
		for id, n := range open {
			if n != 1 {
				r.Fatalf("call %s has %d results", id, n)
			}
		}
	})
}
