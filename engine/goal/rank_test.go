package goal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/expr"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

func hours(h float64) protocol.Time {
	return protocol.Time(1e18).Add(time.Duration(h * float64(time.Hour)))
}

// Known answers of rank, urgency, need and decay, §2.1.3.
func TestKnownRanks(t *testing.T) {
	r := &Rules{MaxActive: 3, Patience: time.Hour, Drives: []Drive{{ID: "hunger", PerHour: One / 4, Serves: []string{"eat", "cook"}}, {ID: "thirst", PerHour: One / 10, Serves: []string{"eat"}}}}
	met := []Met{{Drive: "hunger", At: hours(0), Level: One / 10}, {Drive: "thirst", At: hours(0), Level: One / 2}}
	dated := More{Taken: hours(0), Moved: hours(0), Deadline: hours(8)}
	for _, c := range []struct {
		goal          Goal
		at            float64
		urgency, need int64
		rank          int64
	}{
		{Goal{ID: "a", Priority: 1, Status: Pending}, 0, 500_000, One, 500_000},
		{Goal{ID: "a", Priority: 0.3, Status: Active, More: &More{Moved: hours(0)}}, 0.5, 500_000, One, 165_000},
		{Goal{ID: "a", Priority: 0.3, Status: Active, More: &More{Moved: hours(0)}}, 1, 500_000, One, 82_500},
		{Goal{ID: "a", Priority: 0.3, Status: Active, More: &More{Moved: hours(0)}}, 3.9, 500_000, One, 20_625},
		{Goal{ID: "a", Priority: 0.3, Status: Pending, More: &More{Moved: hours(0)}}, 3.9, 500_000, One, 150_000},
		{Goal{ID: "b", Priority: 0.5, Status: Pending, More: &dated}, 0, 500_000, One, 250_000},
		{Goal{ID: "b", Priority: 0.5, Status: Pending, More: &dated}, 4, 750_000, One, 375_000},
		{Goal{ID: "b", Priority: 0.5, Status: Pending, More: &dated}, 8, One, One, 500_000},
		{Goal{ID: "b", Priority: 0.5, Status: Pending, More: &dated}, 99, One, One, 500_000},
		{Goal{ID: "cook", Priority: 0.8, Status: Pending}, 0, 500_000, 100_000, 40_000},
		{Goal{ID: "cook", Priority: 0.8, Status: Pending}, 2, 500_000, 600_000, 240_000},
		{Goal{ID: "cook", Priority: 0.8, Status: Pending}, 90, 500_000, One, 400_000},
		{Goal{ID: "eat", Priority: 0.8, Status: Pending}, 1, 500_000, 600_000, 240_000},
		{Goal{ID: "x", Priority: 7, Status: Pending}, 0, 500_000, One, 500_000},
		{Goal{ID: "x", Priority: -1, Status: Pending}, 0, 500_000, One, 0},
	} {
		g, now := c.goal, hours(c.at)
		if u, n, rank := g.Urgency(now), r.Need(&g, met, now), r.Rank(&g, met, now); u != c.urgency || n != c.need || rank != c.rank {
			t.Errorf("%s %s %v at %vh: urgency %d, need %d, rank %d; want %d, %d, %d", g.ID, g.Status, g.Priority, c.at, u, n, rank, c.urgency, c.need, c.rank)
		}
	}
	if at := r.Drives[0].reaches(800_000, met, hours(0)); at != hours(2.8) {
		t.Errorf("hunger reaches 0.8 after %v", at.Sub(hours(0)))
	}
}

func drawn(t *rapid.T) (*Rules, *Book, protocol.Time) {
	r := &Rules{MaxActive: rapid.IntRange(1, 4).Draw(t, "most"), Patience: time.Duration(rapid.IntRange(0, 3).Draw(t, "patience")) * time.Hour, ForgetBelow: rapid.Int64Range(0, 300_000).Draw(t, "forget")}
	b := &Book{}
	for i := range rapid.IntRange(0, 3).Draw(t, "drives") {
		d := Drive{ID: fmt.Sprint("d", i), Path: world.P("d"), PerHour: rapid.Int64Range(0, 1000*One).Draw(t, "grows"), WakesAt: rapid.Int64Range(0, One).Draw(t, "wakes"), Serves: []string{fmt.Sprint("g", rapid.IntRange(0, 7).Draw(t, "serves"))}}
		r.Drives = append(r.Drives, d)
		b.Met = append(b.Met, Met{Drive: d.ID, At: hours(rapid.Float64Range(-50, 50).Draw(t, "met")), Level: rapid.Int64Range(0, One).Draw(t, "level")})
	}
	condition := func() []Condition {
		text := rapid.SampledFrom([]string{"", "true", "false", "world.a", "self.x > 2", "goals.some(g => g.status === 'completed')", "now.hour > 12", "world.b.c.d"}).Draw(t, "condition")
		if text == "" {
			return nil
		}
		return []Condition{{Expr: text}}
	}
	for i := range rapid.IntRange(0, 7).Draw(t, "goals") {
		m, err := More{
			Parent: rapid.SampledFrom([]string{"", "", "g0", "g1"}).Draw(t, "parent"), CompletesBy: rapid.SampledFrom([]string{"", "", ByAll, ByAny}).Draw(t, "by"),
			Preconditions: condition(), Completion: condition(), Failure: condition(), Within: time.Duration(rapid.IntRange(0, 5).Draw(t, "within")) * time.Hour,
			Recurs: time.Duration(rapid.IntRange(0, 2).Draw(t, "recurs")) * time.Hour, Exclusive: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "exclusive"), Aside: rapid.IntRange(0, 9).Draw(t, "aside") == 0,
		}.Sealed()
		if err != nil {
			t.Fatal(err)
		}
		b.Goals = append(b.Goals, Goal{ID: fmt.Sprint("g", i), Priority: rapid.Float64Range(0, 1).Draw(t, "priority"), Status: rapid.SampledFrom([]string{Pending, Active, Completed}).Draw(t, "status"), More: m})
	}
	return r, b, hours(rapid.Float64Range(0, 100).Draw(t, "now"))
}

func environment(t *rapid.T) expr.Map {
	return expr.Map{
		"world": map[string]any{"a": rapid.Bool().Draw(t, "a")}, "self": map[string]any{"x": rapid.Int64Range(0, 5).Draw(t, "x")},
		"goals": []any{}, "now": NowValue(hours(rapid.Float64Range(0, 99).Draw(t, "hour"))),
	}
}

// Promise 3. A rank is a total order, whatever the order of the list; it never grows while
// nothing but patience passes.
func TestRankIsATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, b, now := drawn(t)
		want := r.Ranked(b.Goals, b.Met, now)
		turned := slices.Clone(b.Goals)
		slices.Reverse(turned)
		for i, g := range r.Ranked(turned, b.Met, now) {
			if g.ID != want[i].ID || g.Rank != want[i].Rank {
				t.Fatalf("%d: %s %d, want %s %d", i, g.ID, g.Rank, want[i].ID, want[i].Rank)
			}
			if i > 0 && (g.Rank > want[i-1].Rank || g.Rank == want[i-1].Rank && g.ID <= want[i-1].ID) {
				t.Fatalf("%s stands behind %s", g.ID, want[i-1].ID)
			}
		}
		r.Drives = nil
		last := int64(1 << 62)
		g := Goal{ID: "g", Priority: 1, Status: Active, More: &More{Moved: now}}
		for h := range 100 {
			rank := r.Rank(&g, nil, now.Add(time.Duration(h)*17*time.Minute))
			if rank > last {
				t.Fatalf("the rank grew from %d to %d", last, rank)
			}
			last = rank
		}
	})
}

// Promises 1, 2 and 4. Settling ends, and settled goals stay so until what Due names; no more
// than max_active are active, and no two of one resource; an end is told once.
func TestSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, b, now := drawn(t)
		env := environment(t)
		ends := map[string]int{}
		for range 6 {
			env["now"] = NowValue(now)
			rounds := 0
			for {
				changes := r.Settle(now, b, env)
				for i := range changes {
					if c := &changes[i]; c.Ends() {
						ends[c.Goal.ID]++
					}
					if changes[i].Cause == CauseRecurs {
						ends[changes[i].Goal.ID]--
					}
				}
				if len(changes) == 0 {
					break
				}
				if rounds++; rounds > 2*len(b.Goals)+4 {
					t.Fatalf("still changing after %d rounds: %+v", rounds, changes)
				}
			}
			checkChosen(t, r, b)
			for id, n := range ends {
				if n > 1 {
					t.Fatalf("%s ended %d times", id, n)
				}
			}
			due := r.Due(now, b, env)
			if due != 0 && due <= now {
				t.Fatalf("due at %s, which has come: it is %s", due, now)
			}
			quiet := now.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later")))
			if due == 0 || due > quiet {
				env["now"] = NowValue(quiet)
				for _, c := range r.Settle(quiet, &Book{Goals: b.Goals, Met: b.Met}, env) {
					if c.Cause != CauseConflict && c.Cause != CauseChosen && !(c.Cause == CauseCriterion && (c.Goal.Status == Pending || c.Goal.Status == Active)) {
						t.Fatalf("at %s, before %s, nothing was due: %+v", quiet, due, c)
					}
				}
			}
			if now = due; due == 0 {
				return
			}
		}
	})
}

// checkChosen: what is active may be.
func checkChosen(t *rapid.T, r *Rules, b *Book) {
	active, by := 0, map[string]string{}
	for i := range b.Goals {
		g := &b.Goals[i]
		if g.Status != Active {
			continue
		}
		if g.More.CompletesBy == "" {
			active++
		}
		for _, resource := range slices.Compact(slices.Sorted(slices.Values(g.More.Exclusive))) {
			if by[resource] != "" {
				t.Fatalf("%s and %s have %s", by[resource], g.ID, resource)
			}
			by[resource] = g.ID
		}
	}
	if active > r.MaxActive {
		t.Fatalf("%d goals are active, at most %d", active, r.MaxActive)
	}
}

// Promise 5. Goals without More watch nothing, are due at no time, and cost no memory.
func TestPlainGoalsCostNothing(t *testing.T) {
	goals := []Goal{{ID: "a", Status: Active}, {ID: "b", Status: Pending}}
	b := &Book{Goals: goals}
	if n := testing.AllocsPerRun(100, func() {
		if Watched(goals) != nil || (&Rules{}).Due(hours(1), b, nil) != 0 {
			t.Error("a plain goal is watched or due")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
