package criteria

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 1: the order of the entries in a set changes nothing.
func TestSetOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := []string{"ford", "rain", "mill", "Bo"}
		one := func(label string) []string {
			return rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(rt, label)
		}
		var list []*Compiled
		for i := range rapid.IntRange(1, 8).Draw(rt, "entries") {
			a := &Activation{Keywords: one("any"), AllKeywords: one("all"), ExcludeKeywords: one("none"), CaseSensitive: rapid.Bool().Draw(rt, "case"), Group: fmt.Sprint(i)}
			if rapid.Bool().Draw(rt, "scan") {
				a.Scan = &Scan{History: rapid.IntRange(1, 2).Draw(rt, "history")}
			}
			list = append(list, Compile(a, ""))
		}
		other := rapid.Permutation(list).Draw(rt, "order")
		s := &Situation{Text: "the ford in the rain", Sources: &Sources{History: []Line{{"Bo", "the mill"}, {"Ann", "ford"}}}}
		if a, b := held(list, s), held(other, s); a != b {
			rt.Fatalf("%s\n%s", a, b)
		}
	})
}

func held(list []*Compiled, s *Situation) string {
	found := map[string]string{}
	NewSet(list, nil).Each(func(i int32) *Compiled { return list[i] }, func(scan *Scan) (string, string) {
		text := s.ScanText(scan, 0)
		return text, strings.ToLower(text)
	}, func(f Found) {
		found[list[f.Entry].Group] = fmt.Sprint(f.Matches)
	})
	return fmt.Sprint(found)
}

// Promise 2: what is wrong with criteria has a place and a remedy.
func TestCheck(t *testing.T) {
	for want, a := range map[string]Activation{
		`/similar/above: 0; want more than 0 to 1, such as 0.5`:                                {Similar: &Similar{To: "x"}},
		`/scan: scans nothing; want some of events, history, goals, observations, self, world`: {Scan: &Scan{}},
		`/scan/history: 101; want 0 to 100`:                                                    {Scan: &Scan{History: 101}},
		`/scope: names nobody; want profiles, roles, agents or places`:                         {Scope: &Scope{Except: true}},
		`/purposes/0: "judge" is not known; want deliberate, reflect or skill`:                 {Purposes: []string{"judge"}},
		`/slot: "persona" is not known; want rules, constant, knowledge or instruction`:        {Slot: "persona"},
		`/choose: "best" is not known; want weight, priority or matches`:                       {Choose: "best"},
		`/woken_by: "all" is not known; want text`:                                             {WokenBy: "all"},
		`/level: 11; want 0 to 10`:                                                             {Level: 11},
		`/level: an entry that is not woken by entries has no level; remove level or woken_by`: {Level: 1, WokenBy: WokenByText},
		`/sticky: -1; want 0 to 1000000`:                                                       {Sticky: -1},
	} {
		var got []string
		a.Check(func(path, message string) { got = append(got, path+": "+message) })
		if strings.Join(got, "\n") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var got []string
	(&Defaults{Limit: 101, Tokens: -1, MinEntries: 101, MaxSteps: 11}).Check(func(path, _ string) { got = append(got, path) })
	if fmt.Sprint(got) != "[/limit /tokens /min_entries /max_steps]" {
		t.Error(got)
	}
}

// Promise 3: entries that scan nothing of their own are found in one text, made once.
func TestOneText(t *testing.T) {
	list := []*Compiled{Compile(&Activation{Keywords: []string{"a"}}, ""), nil, Compile(&Activation{Keywords: []string{"b"}}, ""), Compile(&Activation{Patterns: []string{"c"}}, "")}
	made := 0
	NewSet(list, nil).Each(func(i int32) *Compiled { return list[i] }, func(scan *Scan) (string, string) {
		if made++; scan != nil {
			t.Error("a scan that nobody has")
		}
		return "a", "a"
	}, func(Found) {})
	if made != 1 {
		t.Errorf("%d texts", made)
	}
}

// What is kept is bounded, replaced by its id, and over when it is over.
func TestKept(t *testing.T) {
	a := &Activation{Sticky: 2, Cooldown: 1}
	var k Kept
	for turn := range uint64(MaxKept + 9) {
		k = k.With(a.Begin("kb", fmt.Sprint("e", turn), turn))
	}
	if len(k) != MaxKept || k.of("e0") != nil || k.of(fmt.Sprint("e", MaxKept+8)) == nil {
		t.Errorf("%d are kept", len(k))
	}
	k = Kept{}.With(a.Begin("kb", "x", 1), a.Begin("other", "x", 4)).With(a.Begin("kb", "x", 3))
	if len(k) != 2 || k[0].Since != 3 || k[0].Stays != 5 || k[0].Rests != 6 || len(k.In("kb")) != 1 {
		t.Errorf("%+v", k)
	}
	if got := k.After(6); len(got) != 1 || got[0].KB != "other" || len(got.After(7)) != 0 {
		t.Errorf("%+v", got)
	}
}
