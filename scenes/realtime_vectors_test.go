package scenes_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

const embedsLive = `agent_instances: [{instance_id: ada, profile_id: scout, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {clock: realtime, stop: {after: 60s}}
scene_lifecycle_workflows: {on_scene_end: note, on_talk_x_event: note}
initial_world_state: {log: []}
-- agent_profiles/scout.yaml --
id: scout
name: Scout
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, alias: lore, access_permissions: [read, write_caiu]}]
tool_ids_inventory: [WriteToKnowledgeBaseTool, PublishEventTool]
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep.}
  - {id: tax, entry_type: lore, content: Taxes are due.}
-- models/near.yaml --
kind: static
words: models/words/small.txt
-- models/words/small.txt --
ford 1 0`

// rewrites answers texts at once and gives vectors after a time; in its second turn the agent says
// something else in the place of the entry "ford".
func rewrites(d time.Duration, asked chan<- string) func(context.Context, *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Purpose == protocol.PurposeEmbed {
			var texts []string
			for _, m := range req.Messages {
				texts = append(texts, m.Text)
			}
			asked <- strings.Join(texts, "|")
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return protocol.ModelAnswer{}, llm.Stopped(ctx, "slow")
			}
			var list [][]int8
			for _, text := range texts {
				list = append(list, []int8{int8(len(text)), 1})
			}
			return protocol.ModelAnswer{Text: vector.Pack(list), Finish: protocol.FinishStop}, nil
		}
		a := protocol.ModelAnswer{Finish: protocol.FinishStop}
		switch turn, _ := req.Variables["turn"].(int64); {
		case turn%3 == 1: // the scene hears it, also while it waits for vectors
			a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x"}}}
		case turn == 2:
			a.Calls = []protocol.Call{{ID: "c", Tool: "WriteToKnowledgeBaseTool", Params: map[string]any{"op": "update", "entry": map[string]any{"id": "ford", "content": "There is a bridge."}}}}
		}
		return a, nil
	}
}

// vectorsGiven lists what entries were given vectors, and when.
func vectorsGiven(t *testing.T, s *scenestest.Scene) (list []string) {
	t.Helper()
	var begun protocol.Time
	s.Facts(t, func(r protocol.Record, f protocol.Fact) {
		if x, ok := f.(*knowledge.Embedded); ok {
			list = append(list, r.Time.Sub(begun).Round(time.Second).String()+" "+strings.Join(x.Entries, " "))
		} else {
			begun = r.Time
		}
	}, agenda.FactStarted, knowledge.FactEmbedded)
	return list
}

// On the realtime clock agents go on while the scene waits for vectors. An entry that says something
// else by then is not given the vector of what it said before.
func TestVectorsBesideTurns(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, embedsLive), "")
	asked := make(chan string, 9)
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: rewrites(5*time.Second, asked)}})
		<-time.After(20 * time.Second)
		r.Terminate()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest {
			t.Error(res)
		}
	})
	close(asked)
	var texts []string
	for q := range asked {
		texts = append(texts, q)
	}
	if !slices.Equal(texts, []string{"The ford is deep.|Taxes are due.", "There is a bridge."}) {
		t.Errorf("asked for %q", texts)
	}
	if got := vectorsGiven(t, s); !slices.Equal(got, []string{"5s tax", "10s ford"}) {
		t.Errorf("given %q", got)
	}
	got := turns(t, s)
	if !slices.Contains(got, "ada@3s") {
		t.Errorf("the agent waited: %v", got)
	}
	if n := len(slices.DeleteFunc(got, func(turn string) bool { return !strings.HasPrefix(turn, "$scene@") })); n < 6 {
		t.Errorf("%d turns of the scene", n)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// The end workflow runs in the scene's own actor, so it waits for vectors under way, however long
// they take.
func TestEndWaitsForVectors(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, embedsLive), "")
	asked := make(chan string, 9)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := live(t, s, scenestest.Settings{Model: &slow{answer: rewrites(30*time.Second, asked)}})
		<-time.After(1500 * time.Millisecond)
		r.Terminate()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest || time.Since(began).Round(time.Second) != 30*time.Second {
			t.Error(res, time.Since(began))
		}
	})
	if got := turns(t, s); len(got) < 4 || got[len(got)-1] != "$scene@30s" {
		t.Errorf("%v", got)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// An interruption does not wait for vectors; the resumed scene asks for them again.
func TestInterruptedWhileVectorsAreAskedFor(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, embedsLive), "")
	asked := make(chan string, 9)
	model := &slow{answer: rewrites(5*time.Second, asked)}
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: model})
		<-time.After(4 * time.Second)
		r.Interrupt()
		if res := r.Close(); res.Err != nil || res.Final {
			t.Error(res)
		}
		r = live(t, s, scenestest.Settings{Model: model})
		<-time.After(10 * time.Second)
		r.Terminate()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest {
			t.Error(res)
		}
	})
	if got := vectorsGiven(t, s); !slices.Equal(got, []string{"9s ford tax"}) {
		t.Errorf("given %q", got)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}
