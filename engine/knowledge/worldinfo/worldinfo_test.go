package worldinfo

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

const world = `{"name": "Vale", "scan_depth": 4, "extra": [1, 2.5], "entries": {
 "10": {"uid": 10, "key": ["ford", "river, deep"], "keysecondary": [], "comment": "The ford", "content": "It floods.", "order": 100, "constant": false, "selective": true, "disable": false, "position": 0, "sticky": null},
 "2": {"uid": 2, "key": [], "content": "Be kind.", "constant": true, "order": 5},
 "3": {"uid": 3, "key": ["/dragons?/i", "/a(?=b)/", "wyrm"], "keysecondary": ["gold"], "selective": true, "selectiveLogic": 2, "content": "Dragons.", "caseSensitive": true, "matchWholeWords": false, "probability": 50, "useProbability": true, "sticky": 3, "vectorized": true},
 "4": {"uid": 4, "key": ["elf"], "keysecondary": ["tall", "old"], "selective": true, "selectiveLogic": 3, "content": "Elves.", "disable": true, "group": "folk", "groupWeight": 30, "groupOverride": true, "position": 4}
}}`

const book = `{"name": "Book", "extensions": {"x": true}, "token_budget": 500, "entries": [
 {"keys": ["inn"], "secondary_keys": ["night"], "selective": true, "content": "The inn.", "enabled": true, "insertion_order": 3, "extensions": {"depth": 4, "probability": 100}, "name": "Inn"},
 {"keys": ["road"], "content": "The road.", "enabled": false, "insertion_order": 1, "extensions": {}}
]}`

func mustImport(t *testing.T, data string, f Format) (*knowledge.KnowledgeBase, []string) {
	t.Helper()
	def, notes, err := Import([]byte(data), f, "kb")
	if err != nil {
		t.Fatal(err)
	}
	return def, notes
}

func shape(def *knowledge.KnowledgeBase) string {
	var b strings.Builder
	for i := range def.Entries {
		e := &def.Entries[i]
		fmt.Fprintf(&b, "%s %q %v %v disabled=%v", e.ID, e.Title, e.Content, e.Priority, e.Disabled)
		if a := e.ActivationCriteria; a != nil {
			if a.Chance != 0 || a.Group != "" {
				fmt.Fprintf(&b, " chance=%v group=%q %d %s", a.Chance, a.Group, a.Weight, a.Choose)
			}
			fmt.Fprintf(&b, " always=%v any=%q also=%q all=%q none=%q notall=%q patterns=%q case=%v", a.Always, a.Keywords, a.AlsoKeywords, a.AllKeywords, a.ExcludeKeywords, a.NotAllKeywords, a.Patterns, a.CaseSensitive)
			if a.WholeWords != nil {
				fmt.Fprintf(&b, " whole=%v", *a.WholeWords)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Promise 2, minds §11: what each field becomes, and what is said of those that have no
// place here.
func TestImport(t *testing.T) {
	def, notes := mustImport(t, world, "")
	want := `2 "" Be kind. 5 disabled=false always=true any=[] also=[] all=[] none=[] notall=[] patterns=[] case=false
3 "" Dragons. 0 disabled=false chance=50 group="" 0  always=false any=["wyrm"] also=[] all=[] none=["gold"] notall=[] patterns=["(?i)dragons?"] case=true whole=false
4 "" Elves. 0 disabled=true chance=0 group="folk" 30 priority always=false any=["elf"] also=[] all=["tall" "old"] none=[] notall=[] patterns=[] case=false
10 "The ford" It floods. 100 disabled=false always=false any=["ford" "river, deep"] also=[] all=[] none=[] notall=[] patterns=[] case=false
`
	if got := shape(def); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	wantNotes := `entry 3: key /a(?=b)/: not applied: no regular expression of RE2 of at most 1024 bytes
entry 3: vectorized: not applied: with keys of its own it would be active by either; write another entry with similar
entry 4: position 4 (depth 0, role 0): nothing stands among what was said; it stands before the instruction (slot: instruction)`
	if got := strings.Join(notes, "\n"); got != wantNotes {
		t.Errorf("got\n%s\nwant\n%s", got, wantNotes)
	}
	def, notes = mustImport(t, book, "")
	want = `0 "Inn" The inn. 3 disabled=false always=false any=["inn"] also=["night"] all=[] none=[] notall=[] patterns=[] case=false
1 "" The road. 1 disabled=true always=false any=["road"] also=[] all=[] none=[] notall=[] patterns=[] case=false
`
	if got := shape(def); got != want || len(notes) > 0 || def.Activation.Tokens != 500 {
		t.Errorf("got\n%s%q\nwant\n%s", got, notes, want)
	}
	card, notes := mustImport(t, `{"spec": "chara_card_v2", "data": {"character_book": `+book+`}}`, "")
	if shape(card) != want || len(notes) != 1 || !strings.Contains(notes[0], "only its character_book") {
		t.Errorf("card: %s%q", shape(card), notes)
	}
	plain, _ := mustImport(t, "{\"text\": \"a\"}\n\n{\"id\": \"x\", \"entry_type\": \"goal\", \"content\": \"b\", \"tags\": [\"t\"]}\n", JSONL)
	if got := shape(plain); got != "line-1 \"\" a 0 disabled=false\nx \"\" b 0 disabled=false\n" {
		t.Error(got)
	}
}

const timed = `{"scan_depth": 3, "token_budget": 400, "recursive_scanning": true, "entries": [
 {"keys": ["a"], "content": "A", "extensions": {"sticky": 2, "cooldown": 3, "delay": 4, "scan_depth": 7, "exclude_recursion": true, "use_group_scoring": true, "group": "g"}},
 {"keys": ["b"], "content": "B", "position": "after_char", "extensions": {"delay_until_recursion": 2, "prevent_recursion": true, "ignore_budget": true}},
 {"keys": ["c"], "content": "C", "extensions": {"delay_until_recursion": true, "characterFilter": {"isExclude": true, "names": ["Ann"], "tags": ["x"]}, "triggers": ["quiet"], "sticky": -1}}
]}`

// Minds §11: the rest of the table, from a book and back.
func TestImportTimed(t *testing.T) {
	def, notes := mustImport(t, timed, "")
	a, b, c := def.Entries[0].ActivationCriteria, def.Entries[1].ActivationCriteria, def.Entries[2].ActivationCriteria
	scan := func(depth int) *criteria.Scan { return &criteria.Scan{Events: true, Goals: true, History: depth} }
	for name, x := range map[string][2]any{
		"book": {def.Activation, &criteria.Defaults{Tokens: 400, Scan: scan(3)}},
		"a":    {a, &criteria.Activation{Keywords: []string{"a"}, Sticky: 2, Cooldown: 3, Delay: 4, Scan: scan(7), WokenBy: "text", Wakes: true, Group: "g", Choose: "matches"}},
		"b":    {b, &criteria.Activation{Keywords: []string{"b"}, Level: 2, OutsideBudget: true, Slot: "constant"}},
		"c":    {c, &criteria.Activation{Keywords: []string{"c"}, Level: 1, Wakes: true, Scope: &criteria.Scope{Agents: []string{"Ann"}, Except: true}}},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("%s: got %+v, want %+v", name, x[0], x[1])
		}
	}
	if got := strings.Join(notes, "\n"); got != "entry 2: sticky -1: not applied: want a whole number from 0 to 1000000\nentry 2: characterFilter.tags: not applied\nentry 2: triggers: not applied" {
		t.Error(got)
	}
	mustEqual(t, def, CharBook, timed)
	*a = criteria.Activation{Keywords: []string{"a"}, Wakes: true, Cooldown: 9, Scan: scan(8), Level: 3, Scope: &criteria.Scope{Agents: []string{"Bo"}}, OutsideBudget: true}
	def.Activation = &criteria.Defaults{Tokens: 9, Scan: scan(4)}
	out, _, err := Export(def, CharBook)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := mustImport(t, string(out), "")
	if !reflect.DeepEqual(back.Entries[0].ActivationCriteria, a) || !reflect.DeepEqual(back.Activation, def.Activation) {
		t.Errorf("%+v, %+v of\n%s", back.Entries[0].ActivationCriteria, back.Activation, out)
	}
}

const placed = `{"name": "Places", "entries": {
 "0": {"key": ["a"], "content": "A", "position": 4, "depth": 2, "role": 1},
 "1": {"key": ["b"], "content": "B", "position": 2, "matchScenario": true, "matchPersonaDescription": false},
 "2": {"key": ["c"], "content": "@@depth 4\nC", "position": 5},
 "3": {"key": ["d"], "content": "D", "position": 7, "outletName": "lore"},
 "4": {"key": ["e"], "content": "E", "position": 9},
 "5": {"key": ["f"], "content": "F", "position": 1}
}}`

const regexes = `{"entries": [
 {"keys": ["drag(on|oon)s?", "/Elf/"], "use_regex": true, "content": "D", "position": "after_char", "extensions": {"position": 4, "depth": 3, "match_creator_notes": true}}
]}`

// Promise 2, minds §11: positions, sources and forms of keys that are not built are carried as far as
// there is a place for them, and named.
func TestImportPlaces(t *testing.T) {
	def, notes := mustImport(t, placed, "")
	var slots []string
	for i := range def.Entries {
		slots = append(slots, def.Entries[i].ActivationCriteria.Slot)
	}
	if got := strings.Join(slots, ","); got != "instruction,instruction,,,,constant" {
		t.Error(got)
	}
	want := `entry 0: position 4 (depth 2, role 1): nothing stands among what was said; it stands before the instruction (slot: instruction)
entry 1: position 2 (author's note): there is no such note; it stands before the instruction (slot: instruction)
entry 1: matchScenario: not applied: a scan names its sources
entry 2: position 5 (examples): not applied: a prompt has no examples of talk
entry 2: content: the decorator @@depth 4 is text here
entry 3: position 7 (outlet lore): not applied: no prompt names an outlet; it stands in the section of its criteria
entry 4: position 9: not applied: want 0 to 7, before_char or after_char`
	if got := strings.Join(notes, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	def.Entries[5].ActivationCriteria.Slot = "instruction"
	out, _, err := Export(def, WorldInfo)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := mustImport(t, string(out), ""); again.Entries[5].ActivationCriteria.Slot != "instruction" {
		t.Errorf("a slot that was changed is lost: %s", out)
	}
	def, notes = mustImport(t, regexes, "")
	a := def.Entries[0].ActivationCriteria
	if !reflect.DeepEqual(a.Patterns, []string{"drag(on|oon)s?", "(?-i)Elf"}) || a.Keywords != nil || a.Slot != "instruction" || len(notes) != 2 || !strings.Contains(notes[1], "matchCreatorNotes") {
		t.Errorf("%+v %q", a, notes)
	}
	a.Keywords, a.Slot = []string{"x.y"}, "constant"
	if out, _, err = Export(def, CharBook); err != nil {
		t.Fatal(err)
	}
	if again, _ := mustImport(t, string(out), ""); !reflect.DeepEqual(again.Entries[0].ActivationCriteria.Keywords, a.Keywords) || again.Entries[0].ActivationCriteria.Slot != "constant" {
		t.Errorf("%s", out)
	}
}

// Promise 1, minds §14 row 12: import and export again is the same value.
func TestRoundTrip(t *testing.T) {
	for _, data := range []string{world, book, timed, placed, regexes} {
		def, _ := mustImport(t, data, "")
		f := WorldInfo
		if data != world && data != placed {
			f = CharBook
		}
		mustEqual(t, def, f, data)
		loaded := *def // as a project reads it from the file of an import
		for i := range loaded.Entries {
			e, err := knowledge.EntryOf(loaded.Entries[i].Value())
			if err != nil {
				t.Fatal(err)
			}
			loaded.Entries[i] = *e
		}
		mustEqual(t, &loaded, f, data)
	}
}

func mustEqual(t *testing.T, def *knowledge.KnowledgeBase, f Format, data string) {
	t.Helper()
	out, _, err := Export(def, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(out)
	want, _ := decode([]byte(data))
	if err != nil || !protocol.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", out, data)
	}
}

// What was changed or learnt here is written, and read again.
func TestExportOfChanges(t *testing.T) {
	def, _ := mustImport(t, world, "")
	def.Entries[3].Content, def.Entries[3].ActivationCriteria.Keywords = "It is dry.", []string{"ford"}
	def.Entries = append(def.Entries,
		knowledge.Entry{ID: "failed_lesson.ann.1", EntryType: "failed_lesson", Content: map[string]any{"way": "bridge"}, Source: knowledge.SourceAgent},
		knowledge.Entry{ID: "gone", EntryType: "failed_lesson", Content: "x", SupersededBy: "y"},
		knowledge.Entry{ID: "k", EntryType: "lore", Content: "K", ActivationCriteria: &criteria.Activation{Chance: 20, Group: "g", Weight: 5, Keywords: []string{"a"}, Patterns: []string{"b/c"}, NotAllKeywords: []string{"d"}}},
		knowledge.Entry{ID: "two", EntryType: "lore", Content: "T", ActivationCriteria: &criteria.Activation{Keywords: []string{"a"}, AllKeywords: []string{"b"}, ExcludeKeywords: []string{"c"}, Condition: "true"}})
	out, notes, err := Export(def, WorldInfo)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := mustImport(t, string(out), "")
	want := `0 "" {"way":"bridge"} 0 disabled=false
1 "" K 0 disabled=false chance=20 group="g" 5  always=false any=["a"] also=[] all=[] none=[] notall=["d"] patterns=["(?i)b/c"] case=false
2 "" Be kind. 5 disabled=false always=true any=[] also=[] all=[] none=[] notall=[] patterns=[] case=false
3 "" Dragons. 0 disabled=false chance=50 group="" 0  always=false any=["wyrm"] also=[] all=[] none=["gold"] notall=[] patterns=["(?i)dragons?"] case=true whole=false
4 "" Elves. 0 disabled=true chance=0 group="folk" 30 priority always=false any=["elf"] also=[] all=["tall" "old"] none=[] notall=[] patterns=[] case=false
5 "" T 0 disabled=false always=false any=["a"] also=[] all=[] none=["c"] notall=[] patterns=[] case=false
10 "The ford" It is dry. 100 disabled=false always=false any=["ford"] also=[] all=[] none=[] notall=[] patterns=[] case=false
`
	if got := shape(back); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := strings.Join(notes, "\n"); got != "entry two: only its exclude_keywords are written; the other form has one list beside the keys\nentry two: condition, tags and event_types have no place in the other form" {
		t.Error(got)
	}
	if _, _, err := Export(def, CharBook); err != nil {
		t.Error(err)
	}
	lines, _, _ := Export(def, JSONL)
	if again, _ := mustImport(t, string(lines), JSONL); len(again.Entries) != len(def.Entries) || shape(again) != shape(def) {
		t.Errorf("%s", shape(again))
	}
}

// Promise 3: what is refused.
func TestImportRefuses(t *testing.T) {
	for data, want := range map[string]string{
		`nothing`:          "no JSON",
		`{} {}`:            "something follows",
		`{"a": 1}`:         "entries is missing",
		`{"entries": 5}`:   "entries is missing",
		`{"entries": [5]}`: "entries 0: want an object",
		`{"entries": [{"keys": 5, "content": "x"}]}`:                          "entries 0: keys: want a list of texts",
		`{"entries": {"0": {"key": ["a"], "content": 1}}}`:                    "content: want text",
		`{"entries": {"0": {"key": ["a"], "content": "x", "order": "high"}}}`: "order: want a number",
	} {
		if _, _, err := Import([]byte(data), "", "kb"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", data, err)
		}
	}
	for data, want := range map[string]string{"": "no line has an entry", "5": "line 1: want an object", "{\"text\":\"a\",\"content\":\"b\"}": "line 1: text and content", "{\"colour\":1}": "unknown field"} {
		if _, _, err := Import([]byte(data), JSONL, "kb"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", data, err)
		}
	}
	if _, _, err := Import([]byte(world), CharBook, "kb"); err == nil || !strings.Contains(err.Error(), "not of the format charbook") {
		t.Error(err)
	}
	if _, _, err := Export(&knowledge.KnowledgeBase{}, "zip"); err == nil {
		t.Error("a format that there is not")
	}
}

// Promise 1: of every file that is read.
func FuzzImport(f *testing.F) {
	f.Add([]byte(world), false)
	f.Add([]byte(book), false)
	f.Add([]byte(timed), false)
	f.Add([]byte(placed), false)
	f.Add([]byte(regexes), false)
	f.Add([]byte("{\"text\": \"a\"}\n"), true)
	f.Add([]byte(`{"entries": {"a": {"key": "x, y", "content": ""}}}`), false)
	f.Fuzz(func(t *testing.T, data []byte, isLines bool) {
		format := Format("")
		if isLines {
			format = JSONL
		}
		def, _, err := Import(data, format, "kb")
		if err != nil {
			return
		}
		if _, err := knowledge.New(*def); err != nil {
			t.Fatalf("not valid: %v", err)
		}
		out := WorldInfo
		v, _ := decode(data)
		m, _ := v.(map[string]any)
		if isLines {
			out = JSONL
		} else if _, isList := m["entries"].([]any); isList {
			out = CharBook
		}
		back, _, err := Export(def, out)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Import(back, out, "kb")
		if err != nil {
			t.Fatalf("%v of\n%s", err, back)
		}
		if got, want := len(again.Entries), len(def.Entries); got != want && out == JSONL {
			t.Fatalf("%d entries, then %d", want, got)
		}
		if out != JSONL && m["entries"] != nil {
			got, _ := decode(back)
			if numbered(m["entries"]) && !protocol.Equal(got, v) {
				t.Fatalf("%s\nof\n%s", back, data)
			}
		}
	})
}

// numbered reports entries that keep their keys: a list, or an object with numbers.
func numbered(entries any) bool {
	m, ok := entries.(map[string]any)
	for k := range m {
		if strings.Trim(k, "0123456789") != "" || k == "" || len(k) > 1 && k[0] == '0' || len(k) > 18 {
			return false
		}
	}
	list, isList := entries.([]any)
	return ok || isList && len(list) > 0
}

func TestMacro(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a {{char}} b {{user}}": "{{char}}", "see {{{ford}}}": "", "see {{{ford}}} with {{user}}": "{{user}}", "{{random:a,b}}": "{{random:a,b}}",
		"{{": "", "}} {{": "", "{{a\nb}}": "", "{{a {{b}}": "",
	} {
		if got := macro(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Never active, in two groups, found by its vector alone: each is what it was when it is exported.
func TestImportChosen(t *testing.T) {
	text := `{"entries": {
 "0": {"uid": 0, "key": ["a"], "content": "A", "probability": 0, "useProbability": true, "group": " g, h "},
 "1": {"uid": 1, "key": [], "content": "B", "vectorized": true},
 "2": {"uid": 2, "key": ["c"], "content": "C", "vectorized": true}
}}`
	def, notes := mustImport(t, text, "")
	never, near := def.Entries[0], def.Entries[1].ActivationCriteria
	if !never.Disabled || never.ActivationCriteria.Group != "g, h" || near == nil || near.Similar == nil || *near.Similar != (criteria.Similar{Above: 0.5}) {
		t.Errorf("%+v %+v", never, near)
	}
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "entry 1: vectorized: it has no bound") || !strings.HasPrefix(notes[1], "entry 2: vectorized: not applied") {
		t.Errorf("%q", notes)
	}
	mustEqual(t, def, WorldInfo, text)
}

// Promise 2: notes beyond the bound are not left out silently.
func TestManyNotes(t *testing.T) {
	var n notes
	for i := range MaxNotes + 10 {
		n.add("note %d", i)
	}
	if len(n) != MaxNotes+1 || n[MaxNotes-1] != fmt.Sprintf("note %d", MaxNotes-1) || !strings.Contains(n[MaxNotes], "there are more notes") {
		t.Errorf("%d notes, the last %q", len(n), n[len(n)-1])
	}
}
