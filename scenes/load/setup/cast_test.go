package setup_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/cast"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/scenestest"
)

// §2.1.3 "if permissions allow": who may what, by selectors, by the older list, and without a word.
func TestRights(t *testing.T) {
	every := []cast.Right{cast.GiveGoals, cast.AskReflection, cast.ChangeState, cast.Direct}
	for _, c := range []struct {
		fields string
		may    map[string][]cast.Right
	}{
		{"", nil},
		{"directors: [ada]", map[string][]cast.Right{"ada": every}},
		{"directors: [\"*\"]", map[string][]cast.Right{"ada": every, "bo": every, "cy_2": every}},
		{"orders: {goals: [\"role:captain\"], reflection: [cy_2], private_state: [\"profile:person\"]}", map[string][]cast.Right{
			"ada": {cast.ChangeState}, "bo": {cast.GiveGoals, cast.ChangeState}, "cy_2": {cast.AskReflection, cast.ChangeState}}},
		{"orders: [ada]", map[string][]cast.Right{"ada": {cast.GiveGoals, cast.AskReflection}}},
		{"orders: [person]", map[string][]cast.Right{"ada": {cast.GiveGoals, cast.AskReflection}, "bo": {cast.GiveGoals, cast.AskReflection}, "cy_2": {cast.GiveGoals, cast.AskReflection}}},
		{"orders: {agents: [\"*\"], private_state: [bo]}", map[string][]cast.Right{"ada": {cast.GiveGoals, cast.AskReflection}, "bo": {cast.GiveGoals, cast.AskReflection, cast.ChangeState}, "cy_2": {cast.GiveGoals, cast.AskReflection}}},
	} {
		sc := made(t, c.fields)
		for _, id := range []string{"ada", "bo", "cy_2", "nobody", setup.ActorScene} {
			for _, right := range every {
				want := false
				for _, r := range c.may[id] {
					want = want || r == right
				}
				if got := sc.May(id, right); got != want {
					t.Errorf("%q: %s has %s: %v, want %v", c.fields, id, right, got, want)
				}
			}
		}
	}
}

// Selectors mean agents in the order of their ordinals, and never the scene itself.
func TestMembers(t *testing.T) {
	sc := made(t, "")
	for text, want := range map[string][]string{"*": {"ada", "bo", "cy_1", "cy_2"}, "role:captain": {"bo"}, "cy_2": {"cy_2"}, "profile:person": {"ada", "bo", "cy_1", "cy_2"}, "role:guard": {"bo", "cy_1", "cy_2"}, setup.ActorScene: nil, "dee": nil} {
		list, err := cast.ParseAll([]string{text, text})
		if err != nil {
			t.Fatal(err)
		}
		got := sc.Members(list)
		if len(got) != len(want) {
			t.Errorf("%s means %v, want %v", text, got, want)
			continue
		}
		for i, o := range got {
			if sc.Name(o) != want[i] {
				t.Errorf("%s means %s, want %s", text, sc.Name(o), want[i])
			}
		}
	}
}

func made(t *testing.T, fields string, files ...string) *setup.Scene {
	t.Helper()
	text := "-- scenes/s.yaml --\nid: s\nname: S\nschema_version: \"1.0\"\n" + fields + `
agent_instances:
  - {instance_id: ada, profile_id: person}
  - {instance_id: bo, profile_id: person, roles: [guard, captain]}
  - {instance_id: "cy_{n}", profile_id: person, count: 2, roles: [guard]}
-- models/voices.yaml --
otherwise: {text: ""}
` + strings.Join(files, "")
	project, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, project, "").Made(t, scenestest.Settings{})
}
