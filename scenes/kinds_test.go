package scenes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/control"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/scenestest"
)

// everything is a scene in which every kind of order can be carried out: agents ask people
// and suggest entries without end.
const everything = `
-- scenes/s.yaml --
id: s
name: Everything
schema_version: "1.0"
agent_instances:
  - {instance_id: ada, profile_id: asker}
  - {instance_id: bo, profile_id: person}
  - {instance_id: cy, profile_id: person}
EXTRA
associated_panels: [{panel_id: dialogue, instance_name: main}]
turns: {policy: director, participants: [bo, cy]}
script:
  variables: {n: 1}
  start: day
  states: [{id: day, transitions: [{to: night, after: 1000h}]}, {id: night, transitions: [{to: day, after: 1000h}]}]
-- panels/dialogue.json --
{"id": "dialogue"}
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
entries: [{id: rule, entry_type: lore, content: Be kind}]
-- agent_profiles/asker.yaml --
id: asker
name: Asker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, access_permissions: [read, suggest_edits]}]
tool_ids_inventory: [PanelInteractionTool, WriteToKnowledgeBaseTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- models/voices.yaml --
rules:
  - match: {agent: ada}
    answer:
      calls:
        - {tool: PanelInteractionTool, params: {action: choice, payload: {options: [left, right]}, wait: run, timeout_seconds: 20}}
        - {tool: WriteToKnowledgeBaseTool, params: {kb: lore, entry: {id: "e{{randInt 1 99}}", entry_type: lore, content: Hm}}}
otherwise: "yes"
`

// Agents that come and go are not in space yet.
var extras = map[string]string{
	"guests": `  - {instance_id: "guest_{n}", profile_id: person, count: 3, spawnable: true}`,
	"space": `space:
  grid: {width: 8, height: 5, cell: 1m}
  places: {tavern: {at: [3, 2]}, well: {at: [0, 0], size: [2, 2]}}`,
}

const kindsOfChange = 19

// changeOfKind is a change that the scene may refuse.
func changeOfKind(kind int, rng *rand.Rand, id int, r *scenes.Run) map[string]any {
	any1 := func(list ...any) any { return list[rng.IntN(len(list))] }
	agent := any1("ada", "bo", "cy")
	question, suggestion := "ada/1.1", 1+rng.Int64N(1+int64(time.Duration(r.Progress.Now.Load()-r.Progress.Begun.Load()).Seconds()))
	if open := r.Interactions(); len(open) > 0 && rng.IntN(4) > 0 {
		question = open[rng.IntN(len(open))].ID
	}
	switch kind {
	case 0:
		return map[string]any{"event": map[string]any{"type": "order.heard", "to": []any{agent}, "payload": int64(id)}}
	case 1:
		return map[string]any{"say": map[string]any{"text": "hear"}}
	case 2:
		return map[string]any{"world": map[string]any{"path": "either", "op": any1("set", "push", "add"), "value": int64(id)}}
	case 3:
		return map[string]any{"goal": map[string]any{"agent": agent, "id": "ordered", "priority": rng.Float64()}}
	case 4:
		return map[string]any{"reflect": map[string]any{"agent": agent}}
	case 5:
		return map[string]any{"private_state": map[string]any{"agent": agent, "path": "ordered", "value": int64(id), "reason": "because"}}
	case 6:
		return map[string]any{"rest": map[string]any{"agents": agent}}
	case 7:
		return map[string]any{"wake": map[string]any{"agents": "*"}}
	case 8:
		return map[string]any{"turn": map[string]any{"agents": any1("bo", "cy"), "turns": int64(1 + rng.IntN(3))}}
	case 9:
		return map[string]any{"transition": map[string]any{"to": any1("day", "night")}}
	case 10:
		return map[string]any{"set": map[string]any{"n": int64(id)}}
	case 11:
		return map[string]any{"review": map[string]any{"kb": "lore", "suggestion": suggestion, "accept": rng.IntN(2) == 0}}
	case 12:
		return map[string]any{"answer": map[string]any{"interaction": question, "value": any1("left", "right", "up")}}
	case 13:
		return map[string]any{"cancel": map[string]any{"interaction": question, "status": any1("cancelled", "timeout")}}
	case 14:
		return map[string]any{"spawn": map[string]any{"profile": "person"}}
	case 15:
		return map[string]any{"remove": map[string]any{"agents": any1("guest_1", "guest_2", "guest_3")}}
	case 16:
		return map[string]any{"spotlight": map[string]any{"agents": any1("bo", "cy"), "turns": int64(1 + rng.IntN(3))}}
	case 17:
		return map[string]any{"variable": map[string]any{"n": int64(id)}}
	default:
		return map[string]any{"move": map[string]any{"agents": agent, "to": any1("tavern", "well", "7,4"), "at_once": rng.IntN(2) == 0}}
	}
}

// TestOrdersOfEveryKind gives a live scene random orders (1,000 with SIMD_TEST_LONG=1), of which some are for later
// waves and times. Each has a receipt as the journal says, and what the journal has makes the
// same history from a file. doors §17, row 4.
func TestOrdersOfEveryKind(t *testing.T) {
	for name, extra := range extras {
		t.Run(name, func(t *testing.T) { ordersOfEveryKind(t, strings.Replace(everything, "EXTRA", extra, 1)) })
	}
}

func ordersOfEveryKind(t *testing.T, text string) {
	hands, each := 4, 30
	if scenestest.Long() {
		each = 125
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{People: true, Workers: 2, Stop: &agenda.Stop{Ticks: 1 << 40}}
	r, err := s.StartWith(set, func(o *scenes.Options) { o.Control = []control.Command{{Do: control.Pace, Pace: 100}} })
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	told, kinds, planned := map[string]receipts.Receipt{}, map[string][2]int{}, 0
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(8, uint64(h)))
			for i := range each {
				o, kind := &agenda.Intervened{ID: fmt.Sprint("o", h*each+i), By: "gm"}, ""
				var changes []any
				for n := rng.IntN(2); n >= 0; n-- {
					what := rng.IntN(kindsOfChange)
					if n == 0 { // the last change names the order's kind; each kind has its turn
						what = (h*each + i) % kindsOfChange
					}
					c := changeOfKind(what, rng, h*each+i, r.Run)
					for kind = range c {
					}
					if c["transition"] == nil || len(changes) == 0 {
						changes = append(changes, c)
					}
				}
				o.Do = protocol.Encode(changes)
				later := rng.IntN(4) == 0
				var got receipts.Receipt
				var err error
				if later {
					x := &machines.Order{Intervened: o, After: time.Duration(r.Run.Progress.Now.Load()-r.Run.Progress.Begun.Load()) + time.Duration(rng.IntN(3000))*time.Millisecond}
					got, err = r.Run.Plan(t.Context(), x, func() error { return nil })
					if later = got.Planned; err == nil && !later && got.Wave == 0 {
						t.Errorf("%+v is neither planned nor carried out", got)
					}
				} else {
					got, err = r.Run.Order(context.Background(), o)
				}
				if err != nil {
					if protocol.KindOf(err) != protocol.KindInvalid && protocol.KindOf(err) != protocol.KindNotFound { // two equal reviews; nobody is meant
						t.Error(kind, err)
					}
					continue
				}
				mu.Lock()
				told[o.ID] = got
				k := kinds[kind]
				if k[0]++; got.Refused != "" {
					k[1]++
				}
				kinds[kind] = k
				if later {
					planned++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	last := time.Duration(r.Run.Progress.Now.Load()-r.Run.Progress.Begun.Load()) + time.Minute
	if _, err := r.Run.Plan(t.Context(), &machines.Order{Intervened: &agenda.Intervened{ID: "end", Do: protocol.Encode([]any{map[string]any{"end": nil}})}, After: last}, func() error { return nil }); err != nil {
		t.Error(err)
	}
	out := r.Close()
	if out.Err != nil || out.Reason != agenda.StoppedByRequest {
		t.Fatal(out.Reason, out.Err)
	}
	t.Log(len(told), "orders,", planned, "for later; of each kind and refused:", kinds)
	if len(kinds) < 17 || planned == 0 {
		t.Error("not every kind was given")
	}
	s.Journal(t, func(j *persistence.Journal) {
		past, err := history.Orders(j, machines.NewCodec())
		if err != nil || len(past) != len(told)+1 {
			t.Fatal(len(past), "of", len(told)+1, err)
		}
		for _, p := range past[:len(past)-1] {
			got := told[p.ID]
			if want := (receipts.Receipt{ID: p.ID, Wave: p.Wave, Refused: p.Refused}); got != want && !got.Planned {
				t.Errorf("the journal has %+v, the receipt says %+v", want, got)
			}
		}
	})
	mustVerify(t, s, set)
	mustRestore(t, s, set)
	mustObey(t, s, set, out, 50)
}
