package examples_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// The plays are the templates that a script leads.
func plays() []string {
	return []string{"debate", "council", "auction", "commons", "rpg", "workshop", "town"}
}

// Each play comes to the same on one and seven workers, and when it is interrupted and
// goes on; and its history holds to the rules.
func TestPlays(t *testing.T) {
	for _, name := range plays() {
		t.Run(name, func(t *testing.T) {
			s := scenestest.New(t, load(t, name), "")
			want := s.Run(t, scenestest.Settings{Workers: 1}).Digest()
			s.Journal(t, func(j *persistence.Journal) {
				if r, _, err := verify.Run(context.Background(), s.Made(t, scenestest.Settings{}), j, verify.Options{}); err != nil || r.Difference != nil {
					t.Errorf("%v %+v", err, r)
				}
			})
			if got := s.Fresh(t).Run(t, scenestest.Settings{Workers: 7, BatchFacts: 49}).Digest(); got != want {
				t.Errorf("digest %s with one worker, %s with seven", want, got)
			}
			for _, stop := range []int64{2, 11} {
				var calls atomic.Int64
				one := s.Fresh(t)
				one.RunUntil(t, scenestest.Settings{Workers: 2, Snapshots: 20}, func(*protocol.ModelRequest) bool { return calls.Add(1) == stop })
				if got := one.Run(t, scenestest.Settings{Workers: 2}).Digest(); got != want {
					t.Errorf("digest %s at a stretch, %s when it was interrupted at call %d", want, got, stop)
				}
			}
		})
	}
}

// Scripts, votes and states with turns lead a scene on the realtime clock, too.
func TestPlaysInRealtime(t *testing.T) {
	for name, want := range map[string]string{"debate": "decided", "council": "decided"} {
		s := scenestest.New(t, load(t, name), "")
		set := scenestest.Settings{Workers: 2, Clock: agenda.Realtime}
		s.Run(t, set)
		s.Journal(t, func(j *persistence.Journal) {
			if r, _, err := verify.Run(context.Background(), s.Made(t, set), j, verify.Options{}); err != nil || r.Difference != nil {
				t.Errorf("%s: %v %+v", name, err, r)
			}
		})
		if state, _ := s.Fold(t, set).Script(); state.Outcome == nil || state.Outcome.Outcome != want {
			t.Errorf("%s: in the state %s, outcome %+v", name, state.Current, state.Outcome)
		}
	}
}

// One set of ballots: another winner for each way to count them, whatever the seed. Without
// a quorum the session is adjourned.
func TestCouncil(t *testing.T) {
	for seed := range uint64(3) {
		sum := run(t, "council", runner.Options{Seed: &seed})
		results, _ := reported(t, sum, "results").Value.(map[string]any)
		if out := sum.Outcome; out == nil || out.Outcome != "decided" || !slices.Equal(out.Winners, []string{"road"}) || sum.Failed+sum.Tools.Failed != 0 ||
			results["plurality"] != "mill" || results["borda"] != "well" || results["condorcet"] != "road" {
			t.Errorf("seed %d: %+v, results %v", seed, out, results)
		}
	}
	text, err := os.ReadFile("council/away.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := orders.Parse("away.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	sum := run(t, "council", runner.Options{Orders: list})
	if out := sum.Outcome; out == nil || out.Outcome != "adjourned" || len(out.Winners) != 0 || !strings.HasPrefix(out.Reason, "11 of 19") {
		t.Errorf("without a quorum: %+v", out)
	}
}

// The clock: the highest bid that can be paid wins and pays the second highest. The globe:
// whoever values it most has it, for what the next would have given, to a step. Money is
// moved, never made, and a bid above the purse is refused.
func TestAuction(t *testing.T) {
	for seed := range uint64(4) {
		sum := run(t, "auction", runner.Options{Seed: &seed})
		out := sum.Outcome
		purses, _ := reported(t, sum, "purses").Value.(map[string]any)
		if out == nil || !slices.Equal(out.Winners, []string{"bo", "ada"}) || sum.Failed+sum.Tools.Failed != 0 || purses["bo"] != int64(59) {
			t.Errorf("seed %d: %+v, purses %v", seed, out, purses)
		}
		if paid := 100 - purses["ada"].(int64); paid != 50 && paid != 55 || purses["house"] != 41+paid || purses["cy"] != int64(50) || purses["dee"] != int64(40) {
			t.Errorf("seed %d: purses %v", seed, purses)
		}
		refused := 0
		if err := journal(t, sum.RunDir).Scan(persistence.Query{Kinds: []string{"collect.refused"}}, func(protocol.Record) error { refused++; return nil }); err != nil || refused == 0 {
			t.Errorf("seed %d: no bid was refused: %v", seed, err)
		}
	}
	if testing.Short() {
		return
	}
	sum := run(t, "auction", runner.Options{Agents: 1000})
	purses, _ := reported(t, sum, "purses").Value.(map[string]any)
	state, _ := fold(t, sum.RunDir).Script()
	sold := state.Asked["clock"]
	if len(sold.Answers) != 1004 || purses["house"].(int64) != 100-purses["ada"].(int64)+100-purses["bo"].(int64) {
		t.Errorf("%d bids, purses %v", len(sold.Answers), purses)
	}
	for _, a := range sold.Answers {
		v, _ := a.Value.Value()
		if n, _ := v.(map[string]any)["amount"].(int64); a.Agent > 4 && n > 25 {
			t.Errorf("agent %d bid %d of a purse with 25", a.Agent, n)
		}
	}
}

// The pile is never below zero; the hall is begun with sixty pieces, as soon as they are
// there, and all guards are up two ticks after the alarm.
func TestCommons(t *testing.T) {
	for seed := range uint64(3) {
		sum := run(t, "commons", runner.Options{Seed: &seed})
		if out := sum.Outcome; out == nil || out.Outcome != "built" || sum.Failed+sum.Tools.Failed != 0 {
			t.Errorf("seed %d: %+v", seed, out)
		}
		wood, enough, begun := int64(0), protocol.Time(0), protocol.Time(0)
		var alarm protocol.Time
		up := map[string]protocol.Time{}
		codec := protocol.NewCodec(slices.Concat(worldstate.Facts(), bus.Facts()))
		if err := journal(t, sum.RunDir).Read(1, func(r protocol.Record) error {
			if codec.FactType(r.Kind).Read == nil {
				return nil
			}
			f, err := codec.ReadFact(r.Kind, r.Data)
			if err != nil {
				return err
			}
			switch x := f.(type) {
			case *bus.Routed:
				if x.Type == "commons.alarm" {
					alarm = r.Time
				}
			case *world.Committed:
				for _, c := range x.Changes {
					v, err := c.Value.Value()
					if err != nil {
						return err
					}
					switch path := c.Path.String(); {
					case path == "stock.wood":
						n, _ := v.(int64)
						if wood += n; wood < 0 {
							t.Errorf("seed %d: %d pieces at %s", seed, wood, r.Time)
						}
						if wood >= 60 && enough == 0 {
							enough = r.Time
						}
					case path == "hall" && v == "building":
						begun = r.Time
					case strings.HasPrefix(path, "guards.") && v == "at the fence":
						up[path] = r.Time
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if left := reported(t, sum, "stock.wood").Value; left != wood || begun < enough || enough == 0 || begun.Sub(enough) > 3*time.Second {
			t.Errorf("seed %d: %d pieces by the facts, %v by the summary; enough at %s, begun at %s", seed, wood, left, enough, begun)
		}
		for guard, at := range up {
			if at.Sub(alarm) > 2*time.Second {
				t.Errorf("seed %d: %s at %s, the alarm was at %s", seed, guard, at, alarm)
			}
		}
		if len(up) != 3 {
			t.Errorf("seed %d: %d guards were up", seed, len(up))
		}
	}
}

// Headless the quest is done. Each picture that was asked for has one result with its task,
// and the late one changes nothing. A person who was away lost the turn, and the others went
// on; the orders of a person come to the same without the person.
func TestRPG(t *testing.T) {
	text, err := os.ReadFile("rpg/player.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := orders.Parse("player.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]runner.Options{"headless": {}, "a person": {Interactive: true, Orders: list}} {
		sum := run(t, "rpg", opt)
		if out := sum.Outcome; out == nil || out.Outcome != "quest_done" || !slices.Equal(out.Winners, []string{"hero", "mira"}) || sum.Failed+sum.Tools.Failed != 0 {
			t.Errorf("%s: %+v", name, out)
		}
		requested, ready, said := map[string]int{}, map[string]int{}, 0
		codec := protocol.NewCodec(bus.Facts())
		if err := journal(t, sum.RunDir).Scan(persistence.Query{Kinds: []string{bus.FactRouted}}, func(r protocol.Record) error {
			f, err := codec.ReadFact(r.Kind, r.Data)
			if err != nil {
				return err
			}
			switch x := f.(*bus.Routed); {
			case x.Type == "image.requested":
				requested[x.TaskID]++
			case x.Type == "image.ready":
				ready[x.TaskID]++
			case x.Type == "agent.said" && x.Source == "hero":
				said++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(requested, ready) || len(requested) != 2 || requested["inn"] != 1 || requested["rat_king"] != 1 {
			t.Errorf("%s: pictures asked for %v, results %v", name, requested, ready)
		}
		if pictures, _ := reported(t, sum, "pictures").Value.(map[string]any); len(pictures) != 1 || pictures["inn"] != "images/inn.png" {
			t.Errorf("%s: pictures %v", name, pictures)
		}
		if opt.Interactive && said != 1+3+1 { // "I go", three answers, "..." of the turn without one
			t.Errorf("the hero said %d things", said)
		}
	}
}
