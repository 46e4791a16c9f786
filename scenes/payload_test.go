package scenes_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/internal/doctest"
	"tavernsim/scenes/scenestest"
)

// The payload of an event is the input of its workflow (§5.4): the example of docs/formats/deliberation.md.
func TestSection5_4_PayloadIsTheInput(t *testing.T) {
	example := doctest.Examples(t, "formats/deliberation.md", "workflow")[0]
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: gm, profile_id: person}]
scene_lifecycle_workflows: {on_rpg_image_request_event: paint}
simulation: {stop: {ticks: 4}}
-- models/voices.yaml --
rules:
  - match: {agent: gm, variables: {turn: 1}}
    answer: {calls: [
      {tool: PublishEventTool, params: {type: rpg.image_request, payload: {task_id: a, prompt: a dark wood}}},
      {tool: PublishEventTool, params: {type: rpg.image_request, payload: {task_id: b, prompt: a dark wood, style: oil}}},
      {tool: PublishEventTool, params: {type: rpg.image_request, payload: {task_id: c}}},
      {tool: PublishEventTool, params: {type: rpg.image_request, payload: {task_id: d, prompt: [7]}}},
      {tool: PublishEventTool, params: {type: rpg.image_request, payload: {task_id: e, prompt: rain, payload: 1, event: none, self: {}}}}]}
otherwise: {text: ""}
-- workflows/paint.yaml --
`+example))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	s.Run(t, scenestest.Settings{})
	got, _ := trace(t, s, 0, agentfact.FactTurnEnded, bus.FactRouted)
	want := `wave 2 at +0s
  gm turn 1 ok calls 5
  $events event gm/1.e1 rpg.image_request of gm to [$scene] {"prompt":"a dark wood","task_id":"a"}
  $events event gm/1.e2 rpg.image_request of gm to [$scene] {"prompt":"a dark wood","style":"oil","task_id":"b"}
  $events event gm/1.e3 rpg.image_request of gm to [$scene] {"task_id":"c"}
  $events event gm/1.e4 rpg.image_request of gm to [$scene] {"prompt":[7],"task_id":"d"}
  $events event gm/1.e5 rpg.image_request of gm to [$scene] {"event":"none","payload":1,"prompt":"rain","self":{},"task_id":"e"}
wave 3 at +1s
  $scene turn 1 failed "workflow paint: input \"prompt\": is required and was not given" events 5 calls 3
  $events event $scene/1.e1 rpg.image_result of $scene to [] {"image":"a dark wood in ink","task_id":"a"} depth 1
  $events event $scene/1.e2 rpg.image_result of $scene to [] {"image":"a dark wood in oil","task_id":"b"} depth 1
  $events event $scene/1.e3 rpg.image_result of $scene to [] {"image":"rain in ink","task_id":"e"} depth 1
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
