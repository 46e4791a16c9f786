package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// sharing is a scene with its base, and what is on its way to it: facts of others, in order.
type sharing struct {
	id    string
	state State
	codec *protocol.Codec
	mail  []letter
	facts []protocol.Fact
}

type letter struct {
	from string
	fact protocol.KindData
}

func sharingScenes(t rapid.TB, b *Base) []*sharing {
	var all []*sharing
	for _, id := range b.def.Scenes {
		s, err := NewState(b)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &sharing{id: id, state: s.Placed(id), codec: protocol.NewCodec(Facts())})
	}
	return all
}

// asks decides a request in a scene and sends what others hear of it.
func (s *sharing) asks(t rapid.TB, all []*sharing, q *Request, now protocol.Time) (facts []protocol.Fact) {
	t.Helper()
	sent, err := RequestOf(protocol.Encode(q.Value()))
	if err != nil {
		t.Fatal(err)
	}
	facts = Decide(s.state, Commit{Now: now, Requests: []Request{sent}})
	for _, f := range facts {
		s.state = Apply(s.state, f)
		s.facts = append(s.facts, f)
		kept, _, err := s.codec.Keep([]protocol.Fact{f}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range s.state.Hears(f.(Fact)) {
			i := slices.IndexFunc(all, func(x *sharing) bool { return x.id == to })
			all[i].mail = append(all[i].mail, letter{s.id, protocol.KindData{Kind: kept[0].Kind, Data: kept[0].Data}})
		}
	}
	return facts
}

// reads takes the oldest of its mail.
func (s *sharing) reads(t rapid.TB, all []*sharing, now protocol.Time) {
	l := s.mail[0]
	s.mail = s.mail[1:]
	s.asks(t, all, Told(l.from, "", l.fact), now)
}

func entriesOf(s *sharing) string {
	var b strings.Builder
	base, _ := s.state.Base("kb")
	for e := range base.Entries() {
		fmt.Fprintln(&b, e.Value())
	}
	for _, x := range s.state.Suggestions("kb") {
		fmt.Fprintf(&b, "%d %s %q\n", x.ID, x.Op, x.Entry)
	}
	return b.String()
}

// Whatever scenes ask of a base that they share, and however long it takes to be told: once all are told, all
// have the same base, and each request was answered in the scene that asked, by its own names.
func TestSharedBaseIsOneBase(t *testing.T) {
	shared := base(t, KnowledgeBase{Shared: SharedInProject, Scenes: []string{"valley", "coast", "hills"}, Learning: &Learning{Keep: 6}})
	rapid.Check(t, func(t *rapid.T) {
		all := sharingScenes(t, shared)
		now, asked := protocol.Time(0), map[string]string{} // scene and request: who
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Second)
			s := all[rapid.IntRange(0, 2).Draw(t, "scene")]
			if len(s.mail) > 0 && rapid.Bool().Draw(t, "reads") {
				s.reads(t, all, now)
				continue
			}
			by := rapid.SampledFrom([]string{"ada", "bo"}).Draw(t, "by")
			q := &Request{ID: fmt.Sprintf("%s/%d", by, i), KB: "kb", By: by, Permissions: []string{rapid.SampledFrom([]string{PermitWrite, PermitSuggest, "read"}).Draw(t, "permission")}}
			known := rapid.SampledFrom([]string{"nobody", "best_practice.valley/ada.1", "best_practice.coast/bo.2"}).Draw(t, "entry")
			switch op := rapid.SampledFrom([]Op{OpCreate, OpCreate, OpUpdate, OpArchive, OpUsed, OpReview}).Draw(t, "op"); op {
			case OpCreate:
				text := rapid.SampledFrom([]string{"the ford floods after rain", "bears sleep in winter", "salt keeps fish"}).Draw(t, "text")
				q.Entry = map[string]any{"entry_type": TypeBestPractice, "content": text + fmt.Sprint(" ", i%4)}
				if q.Permissions[0] == PermitSuggest {
					q.Mode = ModeSuggest
				}
			case OpUpdate:
				q.Op, q.Entry = op, map[string]any{"id": known, "title": fmt.Sprint("t", i)}
			case OpArchive:
				q.Op, q.Entry = op, map[string]any{"id": known}
			case OpUsed:
				q.Op, q.Entry = op, map[string]any{"ids": []any{known}, "helped": true}
			case OpReview:
				q.Op, q.Suggestion, q.Accept = op, uint64(rapid.IntRange(1, 3).Draw(t, "suggestion")), true
			}
			s.asks(t, all, q, now)
			if q.Op != OpUsed {
				asked[s.id+" "+q.ID] = by
			}
		}
		for slices.ContainsFunc(all, func(s *sharing) bool { return len(s.mail) > 0 }) {
			for _, s := range all {
				if len(s.mail) > 0 {
					now = now.Add(time.Second)
					s.reads(t, all, now)
				}
			}
		}
		for _, s := range all {
			if got, want := entriesOf(s), entriesOf(all[0]); got != want {
				t.Errorf("%s has\n%s\nand %s\n%s", s.id, got, all[0].id, want)
			}
			for _, f := range s.facts {
				by, request := "", ""
				switch x := f.(type) {
				case *Written:
					by, request = x.By, x.Request
				case *Suggested:
					by, request = x.By, x.Request
				case *Reviewed:
					by, request = x.By, x.Request
				case *Refused:
					by, request = x.By, x.Request
				}
				if asked[s.id+" "+request] == by {
					delete(asked, s.id+" "+request)
				}
			}
		}
		for q, by := range asked {
			t.Errorf("nobody answered %s of %s", q, by)
		}
	})
}

// What a scene can tell by itself, it refuses at once; what did not reach the keeper is refused, too; and nobody but
// scenes tells a base what became of it.
func TestSharedBaseRefuses(t *testing.T) {
	all := sharingScenes(t, base(t, KnowledgeBase{Shared: SharedInProject, Scenes: []string{"valley", "coast"}}))
	coast := all[1]
	write := &Request{ID: "ada/1.1", KB: "kb", By: "ada", Permissions: []string{PermitWrite}, Entry: map[string]any{"entry_type": "note", "content": "x"}}
	reads := *write
	reads.Permissions = nil
	large := *write
	large.Entry = map[string]any{"entry_type": "note", "content": strings.Repeat("x", MaxEntryBytes)}
	forged := *write
	forged.Op = OpTold
	forged.Entry = Told("valley", "", protocol.KindData{Kind: FactRefused, Data: must(t, &Refused{KB: "kb"})}).Entry
	for name, c := range map[string]struct {
		q    *Request
		kind protocol.ErrorKind
		text string
	}{
		"without permission": {&reads, protocol.KindDenied, "may only read it"},
		"too large":          {&large, protocol.KindInvalid, "the limit to another scene"},
		"vectors":            {&Request{KB: "kb", Op: OpEmbed}, protocol.KindDenied, "scene valley keeps it"},
		"no suggestion":      {&Request{KB: "kb", Op: OpReview, Suggestion: 7}, protocol.KindNotFound, "no suggestion 7"},
		"forged":             {&forged, protocol.KindDenied, "scenes alone"},
	} {
		facts := coast.asks(t, all, c.q, 1)
		if x, ok := facts[0].(*Refused); !ok || x.Reason != c.kind || !strings.Contains(x.Message, c.text) {
			t.Errorf("%s: %+v; want %s: %s", name, facts[0], c.kind, c.text)
		}
	}
	facts := coast.asks(t, all, write, 1)
	sent, ok := facts[0].(*Forwarded)
	if !ok || sent.Keeper != "valley" {
		t.Fatalf("%+v", facts)
	}
	facts = coast.asks(t, all, Told("valley", "the scene valley has ended", protocol.KindData{Kind: FactForwarded, Data: must(t, sent)}), 2)
	if x, ok := facts[0].(*Refused); !ok || x.By != "ada" || x.Request != "ada/1.1" || x.Reason != protocol.KindUnknown || !strings.Contains(x.Message, "has ended") {
		t.Errorf("undelivered: %+v", facts[0])
	}
	if facts := all[0].asks(t, all, Told("coast", "", protocol.KindData{Kind: FactWritten, Data: must(t, &Written{KB: "kb"})}), 3); len(facts) > 0 {
		t.Errorf("the keeper took %+v from another scene", facts)
	}
}

// After the run whoever has the base reviews what waits in it, and the entry names who suggested it as the keeper
// would have.
func TestSharedBaseAlone(t *testing.T) {
	all := sharingScenes(t, base(t, KnowledgeBase{Shared: SharedInProject, Scenes: []string{"valley", "coast"}}))
	all[1].asks(t, all, &Request{ID: "ada/1.1", KB: "kb", By: "ada", Mode: ModeSuggest, Permissions: []string{PermitSuggest}, Entry: map[string]any{"id": "x", "entry_type": "note", "content": "Hum."}}, 1)
	all[0].reads(t, all, 2)
	all[1].reads(t, all, 3)
	for _, s := range all {
		bases := s.state.Alone()
		for _, f := range Decide(bases, Commit{Now: 4, Requests: []Request{{KB: "kb", Op: OpReview, Suggestion: 1, Accept: true}}}) {
			bases = Apply(bases, f)
		}
		b, _ := bases.Base("kb")
		if e, ok := b.Get("x"); !ok || e.Author != "coast/ada" {
			t.Errorf("in %s: %+v", s.id, e)
		}
	}
}

func must(t *testing.T, f protocol.Fact) protocol.Raw {
	t.Helper()
	kept, _, err := protocol.NewCodec(Facts()).Keep([]protocol.Fact{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return kept[0].Data
}

func TestSharingIsChecked(t *testing.T) {
	for want, def := range map[string]KnowledgeBase{
		"/scenes: scenes share a base with shared: project alone": {Scenes: []string{"a", "b"}},
		"/scenes: want the ids of two or more scenes":             {Shared: SharedInProject, Scenes: []string{"a"}},
		`/scenes/1: "a" is named twice`:                           {Shared: SharedInProject, Scenes: []string{"a", "a"}},
		"/scenes/0: is empty":                                     {Shared: SharedInProject, Scenes: []string{"", "a"}},
		`/shared: "world" is not known; want scene or project`:    {Shared: "world"},
	} {
		def.ID = "kb"
		if _, err := New(def); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
