// Package examples_test runs the example projects: they must load without a
// warning, give the same digest however they are run, keep the promises of
// their READMEs, and be worth watching.
package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/examples"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
)

// load reads an example; a warning is a fault here.
func load(t *testing.T, name string) *project.Project {
	t.Helper()
	p, err := runner.Load(name, false)
	if err != nil {
		t.Fatalf("load %s:\n%v", name, err)
	}
	for _, w := range p.Warnings {
		t.Errorf("%s: warning: %s", name, w)
	}
	return p
}

// run runs an example to its end, in a directory of the test.
func run(t *testing.T, name string, opt runner.Options) *rundir.Summary {
	t.Helper()
	opt.Dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(load(t, name), opt)
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	sum, err := r.Wait()
	if err != nil {
		t.Fatalf("run %s: %v", name, err)
	}
	if !sum.Ended {
		t.Fatalf("%s did not end: %s", name, sum.StoppedBy)
	}
	return sum
}

// fold reads a run's journal into the state that it ended with.
func fold(t *testing.T, dir string) *machines.State {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := runner.Load(filepath.Join(dir, "inputs"), true)
	if err != nil {
		t.Fatal(err)
	}
	def, err := p.Scene(m.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	made, err := setup.New(p, def, setup.Options{Seed: m.Seeds[m.Scenes[0]], Clock: m.Clocks[m.Scenes[0]], Agents: m.Agents})
	if err != nil {
		t.Fatal(err)
	}
	state, _, err := history.Fold(made, journal(t, dir), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func journal(t *testing.T, dir string) *persistence.Journal {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := persistence.Open(filepath.Join(dir, "journal"), persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	j, err := store.Journal(m.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// reported is a value of simulation.report.
func reported(t *testing.T, sum *rundir.Summary, path string) rundir.WorldValue {
	t.Helper()
	for _, v := range sum.Report {
		if v.Path == path {
			return v
		}
	}
	t.Fatalf("the summary does not report %s", path)
	return rundir.WorldValue{}
}

// at reads the world; what is missing fails the test.
func at(t *testing.T, doc *world.Document, path string) any {
	t.Helper()
	p, err := world.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := doc.Get(p)
	if !ok {
		t.Fatalf("the world has nothing at %s", path)
	}
	return v
}

func whole(t *testing.T, doc *world.Document, path string) int64 {
	t.Helper()
	n, ok := at(t, doc, path).(int64)
	if !ok {
		t.Fatalf("%s is %v, want a whole number", path, at(t, doc, path))
	}
	return n
}

func counted(list []rundir.Count, name string) int64 {
	for _, c := range list {
		if c.Name == name {
			return c.Count
		}
	}
	return 0
}

// machine finds an agent of a folded run.
func machine(t *testing.T, s *machines.State, instance string) *agent.Machine {
	t.Helper()
	for _, m := range s.Agents {
		if m.ID.Instance == instance {
			return m
		}
	}
	t.Fatalf("there is no agent %s", instance)
	return nil
}

// TestRunsAreTheSameTwice runs every example. It loads without a warning, ends by itself, and
// has a README.md for whoever begins with it.
func TestRunsAreTheSameTwice(t *testing.T) {
	options := map[string]runner.Options{ // of those that need some here
		"market":  {Agents: 150, Ticks: 25},
		"harbour": {Tools: tooling.Mock},
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name == "testdata" {
			continue
		}
		if _, err := fs.Stat(examples.Projects(), name); err != nil {
			t.Errorf("no simd init %s: its name is missing in examples.go", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			if _, err := fs.Stat(examples.Projects(), name+"/README.md"); err != nil {
				t.Error(err)
			}
			one, two := options[name], options[name]
			one.Workers, one.BatchFacts = 1, 1
			two.Workers, two.BatchFacts = 2, 4096
			a, b := run(t, name, one), run(t, name, two)
			if a.Digests() != b.Digests() {
				t.Errorf("digest %s with one worker, %s with two", a.Digests(), b.Digests())
			}
			var zero uint64
			three := options[name]
			three.Seed = &zero
			if d := run(t, name, three); d.Digests() == a.Digests() {
				t.Errorf("another seed gave the same digest %s", d.Digests())
			}
		})
	}
}

func TestHello(t *testing.T) {
	sum := run(t, "hello", runner.Options{})
	if sum.StoppedBy != "condition" || sum.Said != 4 || sum.Failed+sum.Tools.Failed+sum.Events.Refused != 0 {
		t.Errorf("stopped by %s, %d greetings, %d failed, %d calls failed, %d refused; want condition, 4, 0, 0, 0",
			sum.StoppedBy, sum.Said, sum.Failed, sum.Tools.Failed, sum.Events.Refused)
	}
}

// The harbour: every turn asks for the wind and decides, whatever came of the question.
func TestHarbour(t *testing.T) {
	for _, mode := range []tooling.Mode{tooling.Mock, tooling.Off} {
		sum := run(t, "harbour", runner.Options{Tools: mode})
		sailings, _ := reported(t, sum, "sailings").Value.(int64)
		storms, _ := reported(t, sum, "storms").Value.(int64)
		if sum.StoppedBy != "condition" || sailings+storms != 12 || counted(sum.Tools.ByTool, "weather.wind") != 12 || sum.Failed > 0 || (sailings == 0) != (mode == tooling.Off) || storms == 0 {
			t.Errorf("%s: stopped by %s, %d sailings, %d storms, %d failed, %+v", mode, sum.StoppedBy, sailings, storms, sum.Failed, sum.Tools)
		}
	}
}

// The debate, whatever the seed: everybody speaks in turn, no judge before the verdict, and
// whoever has the most votes wins.
func TestDebate(t *testing.T) {
	for seed := range uint64(4) {
		sum := run(t, "debate", runner.Options{Seed: &seed})
		state, _ := fold(t, sum.RunDir).Script()
		ballot := state.Asked["ballot"]
		var order []string
		if err := journal(t, sum.RunDir).Scan(persistence.Query{Kinds: []string{"agent.said"}}, func(r protocol.Record) error {
			order = append(order, r.Actor)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(order, " "); got != "chair ada bo ada bo ada bo chair" {
			t.Errorf("seed %d: they speak in the order %s", seed, got)
		}
		votes := map[string]int{}
		for _, a := range ballot.Answers {
			v, _ := a.Value.Value()
			choice, _ := v.(map[string]any)["choice"].(string)
			votes[choice]++
		}
		out := sum.Outcome
		if sum.StoppedBy != "outcome" || sum.Failed+sum.Tools.Failed != 0 || out == nil || out.Outcome != "decided" || len(out.Winners) != 1 || votes["ada"]+votes["bo"] != 4 || 2*votes[out.Winners[0]] < 4 {
			t.Errorf("seed %d: stopped by %s, outcome %+v, votes %v", seed, sum.StoppedBy, out, votes)
		}
	}
}

// Whatever the seed: nothing fails, the till is honest, and everybody stays
// within the rules.
func TestHerbalistWithManySeeds(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		sum := run(t, "herbalist", runner.Options{Seed: &seed})
		if sum.Failed != 0 || sum.Tools.Failed != 0 || sum.GivenUp != 0 || sum.Restarts != 0 {
			t.Errorf("seed %d: %d deliberations and %d calls failed, %d given up, %d restarts", seed, sum.Failed, sum.Tools.Failed, sum.GivenUp, sum.Restarts)
		}
		if got := reported(t, sum, "ledger.closing").Value; got != "108 coins at the start, 108 at the end" {
			t.Errorf("seed %d: the ledger says %v", seed, got)
		}
		if sum.World.Refused != sum.World.Conflicts {
			t.Errorf("seed %d: %d writes refused for another reason than being late", seed, sum.World.Refused-sum.World.Conflicts)
		}
	}
}

func TestHerbalistTellsAStory(t *testing.T) {
	sum := run(t, "herbalist", runner.Options{})
	if sum.StoppedBy != "time" || sum.VirtualTime != "16h40m0s" {
		t.Errorf("stopped by %s after %s; want time after 1,000 minutes", sum.StoppedBy, sum.VirtualTime)
	}
	if sum.World.Conflicts == 0 || sum.Reflections < 2 || sum.Knowledge < 3 {
		t.Errorf("%d conflicts, %d reflections, %d entries; want at least 1, 2, 3", sum.World.Conflicts, sum.Reflections, sum.Knowledge)
	}
	for _, tool := range []string{
		"workflow:npc_greet_player_skill", "workflow:npc_answer_question_skill", "workflow:npc_offer_trade_skill", "workflow:npc_settle_trade_skill",
		"workflow:npc_give_quest_skill", "ReflectTool", "SleepTool", "QueryKnowledgeBaseTool", "WriteToKnowledgeBaseTool", "UpdateGoalTool",
	} {
		if counted(sum.Tools.ByTool, tool) == 0 {
			t.Errorf("nobody called %s", tool)
		}
	}
	story, _ := reported(t, sum, "story").Value.(string)
	for _, line := range []string{
		"Traveller: ", "Elara: ", "Corvin: ", "(Done: elara_find_rare_herb_quest.)", "(Done: elara_wolf_tracks_quest.)",
		"the traveller.)", "Corvin.)", "Night falls.", "takes the road to the coast",
	} {
		if !strings.Contains(story, line) {
			t.Errorf("the story lacks %q:%s", line, story)
		}
	}
	if lines := strings.Split(strings.TrimSpace(story), "\n"); len(slices.Compact(slices.Sorted(slices.Values(lines)))) < 70 {
		t.Errorf("the story has few different lines:\n%s", story)
	}
}

func TestHerbalistChangesElara(t *testing.T) {
	sum := run(t, "herbalist", runner.Options{})
	state := fold(t, sum.RunDir)
	elara := machine(t, state, "elara_the_herbalist_instance_1").State
	if rep, _ := elara.Private["player_reputation"].(int64); rep < 20 {
		t.Errorf("after two errands the traveller's standing is %v; it began at 5", elara.Private["player_reputation"])
	}
	if elara.Private["pending_trade"] != nil {
		t.Errorf("a trade is still pending: %v", elara.Private["pending_trade"])
	}
	for _, g := range elara.Goals {
		want := map[string]string{
			"goal_elara_warn_player_about_woods": "completed", "goal_elara_research_sunpetal_bloom": "completed", "goal_elara_maintain_herb_shop": "active",
		}[g.ID]
		if g.Status != want {
			t.Errorf("goal %s is %s, want %s", g.ID, g.Status, want)
		}
	}
	written := map[string]int{}
	book, _ := state.Knowledge().Base("kb_elara_personal_journal_v1")
	for _, hit := range book.Query(knowledge.Query{Source: knowledge.SourceAgent, Limit: 100}) {
		written[hit.Entry.EntryType]++
	}
	for _, kind := range []string{"reflection_note", "best_practice", "failed_lesson"} {
		if written[kind] == 0 {
			t.Errorf("her journal has no new %s: %v", kind, written)
		}
	}
}

// Coins are never made or lost, and nobody has less than nothing, at any
// version of the world.
func TestHerbalistTillIsHonest(t *testing.T) {
	sum := run(t, "herbalist", runner.Options{})
	p := load(t, "herbalist")
	def, err := p.Scene(sum.Scene)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := world.FromValue(def.Definition.InitialWorldState, 1)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := worldstate.New(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, versions, codec := worldstate.NewState(doc), 0, protocol.NewCodec(worldstate.Facts())
	err = journal(t, sum.RunDir).Read(1, func(r protocol.Record) error {
		if codec.FactType(r.Kind).Read == nil {
			return nil // it is not the world's
		}
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		if state, err = machine.Apply(state, fact); err != nil {
			return err
		}
		doc = state.World()
		versions++
		coins := int64(0)
		for _, who := range []string{"shop", "player", "forager", "woods"} {
			coins += whole(t, doc, "economy."+who+".coins")
			purse, _ := at(t, doc, "economy."+who).(map[string]any)
			for what, n := range purse {
				if n, _ := n.(int64); n < 0 {
					t.Errorf("version %d: %s has %d %s", doc.Version(), who, n, what)
				}
			}
		}
		if coins != 108 {
			t.Errorf("version %d: %d coins", doc.Version(), coins)
		}
		return nil
	})
	if err != nil || versions < 50 {
		t.Fatalf("%d versions: %v", versions, err)
	}
}

func TestMarketMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("TestRunsAreTheSameTwice has a smaller market")
	}
	sum := run(t, "market", runner.Options{Agents: 300})
	if sum.StoppedBy != "ticks" || sum.Agents != 303 || sum.Deliberations < 300*100 {
		t.Errorf("stopped by %s, %d agents, %d deliberations", sum.StoppedBy, sum.Agents, sum.Deliberations)
	}
	if sum.Failed != 0 || sum.Tools.Failed != 0 || sum.World.Refused != 0 {
		t.Errorf("%d deliberations, %d calls, %d writes failed", sum.Failed, sum.Tools.Failed, sum.World.Refused)
	}
	for _, good := range []string{"grain", "iron", "cloth"} {
		prices := []float64(reported(t, sum, "market.prices."+good).Series)
		low, high := slices.Min(prices), slices.Max(prices)
		if len(prices) < 100 || low == high || high > 2*low {
			t.Errorf("%s: %d prices from %v to %v; want them to move and not to explode", good, len(prices), low, high)
		}
	}
	for _, typ := range []string{"market.gossip", "market.price_changed", "market.news", "agent.said"} {
		if counted(sum.Events.ByType, typ) == 0 {
			t.Errorf("no event %s", typ)
		}
	}
	if facts := float64(sum.Journal.Facts) / float64(sum.Deliberations); facts > 4 {
		t.Errorf("%.2f facts per deliberation; the example promises at most 4", facts)
	}
}

// What the traders and the house have, and what was not settled yet, is what
// there was at the beginning.
func TestMarketConservesCoinsAndGoods(t *testing.T) {
	const traders = 120
	sum := run(t, "market", runner.Options{Agents: traders, Ticks: 40})
	state := fold(t, sum.RunDir)
	quoted, _ := machine(t, state, "market_maker").State.Private["quoted"].(map[string]any)
	have := map[string]int64{"coins": whole(t, state.World(), "market.house.coins")}
	for _, good := range []string{"grain", "iron", "cloth"} {
		net := whole(t, state.World(), "market.flow."+good+".demand") - whole(t, state.World(), "market.flow."+good+".supply")
		price, _ := quoted[good].(int64)
		have[good] += whole(t, state.World(), "market.house."+good) - net
		have["coins"] += net * price
		if n := len(at(t, state.World(), "market.history."+good).([]any)); n != 20 {
			t.Errorf("%d prices of %s are kept, want 20", n, good)
		}
	}
	begun := map[string]int64{"coins": 60000 * traders, "grain": 20 * traders, "iron": 8 * traders, "cloth": 12 * traders}
	traded := 0
	for _, m := range state.Agents {
		if m.Def == nil || m.Def.Profile != "market_trader" {
			continue
		}
		if m.State.Private["coins"] != int64(60000) {
			traded++
		}
		for what := range begun {
			n, _ := m.State.Private[what].(int64)
			have[what] += n
		}
	}
	for what, want := range begun {
		if have[what] != want {
			t.Errorf("%s: %d, at the beginning %d", what, have[what], want)
		}
	}
	if traded < traders/2 {
		t.Errorf("only %d of %d traders traded", traded, traders)
	}
}

// The assistant: headless she is told so and goes on; a person's yes counts, and silence is
// a time-out. It ends the same with any number of workers, and verify decides it again.
func TestAssistant(t *testing.T) {
	list, err := orders.Read("assistant/player.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		opt        runner.Options
		noon, last string
		failed     int64
	}{
		{runner.Options{}, "meeting", "nobody to ask", 2},
		{runner.Options{Interactive: true, Orders: list}, "free", "no answer", 0},
	} {
		digests := map[string]bool{}
		for _, workers := range []int{1, 2, 7} {
			opt := c.opt
			opt.Workers = workers
			sum := run(t, "assistant", opt)
			done, _ := reported(t, sum, "done").Value.([]any)
			if sum.Failed != 0 || sum.Tools.Failed != c.failed || reported(t, sum, "calendar.noon").Value != c.noon || len(done) != 3 || done[2] != c.last {
				t.Errorf("%d workers: %d failed, %d calls, noon %v, done %v", workers, sum.Failed, sum.Tools.Failed, reported(t, sum, "calendar.noon").Value, done)
			}
			digests[sum.Digests()] = true
			if workers > 1 {
				continue
			}
			again, err := rundir.Replay(t.Context(), sum.RunDir, rundir.ReplayOptions{Verify: true})
			if err != nil {
				t.Error(again, err)
			}
		}
		if len(digests) != 1 {
			t.Error("digests:", digests)
		}
	}
}
