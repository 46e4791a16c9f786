package vector

import (
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Bounds of what is asked for at one moment.
const (
	MaxText  = 8 << 10 // bytes of a text whose vector is asked for; what is longer is cut
	MaxTexts = 64      // of one request
	MaxAsks  = 8       // requests
)

// Text is what is asked for in the place of a text: it, or its beginning; "" has no vector.
func Text(text string) string {
	if text = strings.TrimSpace(text); len(text) <= MaxText {
		return text
	}
	cut := MaxText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// Wanted is what a model is asked for at once: the vectors of the texts of some entries of one
// knowledge base.
type Wanted struct {
	KB, Model string
	Texts     []string
	Entries   [][]string // ids, for each text
}

// Plan gathers what is wanted. The zero Plan is empty.
type Plan struct {
	List []Wanted

	at map[[2]string][2]int // of a text of a base: in List, and in its texts
}

// Add adds the text of an entry; entries with one text share it. false = there is no room.
// Entries of one base come together.
func (p *Plan) Add(kb, model, text, id string) bool {
	if at, ok := p.at[[2]string{kb, text}]; ok {
		ids := &p.List[at[0]].Entries[at[1]]
		*ids = append(*ids, id)
		return true
	}
	n := len(p.List) - 1
	if n < 0 || p.List[n].KB != kb || len(p.List[n].Texts) == MaxTexts {
		if n++; n == MaxAsks {
			return false
		}
		p.List = append(p.List, Wanted{KB: kb, Model: model})
	}
	w := &p.List[n]
	if p.at == nil {
		p.at = map[[2]string][2]int{}
	}
	p.at[[2]string{kb, text}] = [2]int{n, len(w.Texts)}
	w.Texts, w.Entries = append(w.Texts, text), append(w.Entries, []string{id})
	return true
}

// Answer is what came, as a value: text has the vectors, or err says why there are none.
func (w *Wanted) Answer(text string, err error) map[string]any {
	var all [][]int8
	entries := []any{}
	list, broken := Unpack(text, len(w.Texts))
	if err == nil {
		err = broken
	}
	for i, ids := range w.Entries {
		for _, id := range ids {
			if entries = append(entries, id); err == nil {
				all = append(all, list[i].Components(Widest(list)))
			}
		}
	}
	v := map[string]any{"model": w.Model, "entries": entries, "vectors": Pack(all)}
	if err != nil {
		v["reason"], v["error"] = string(protocol.KindOf(err)), err.Error()
	}
	return v
}

// Answer is what Wanted.Answer says.
type Answer struct {
	Model   string
	Entries []string
	Vectors []Vector // of the entries in their order
	Reason  protocol.ErrorKind
	Error   string // "" = there are vectors
}

// ReadAnswer is the reverse of Wanted.Answer.
func ReadAnswer(v map[string]any) (a Answer, err error) {
	text := func(name string) string { s, _ := v[name].(string); return s }
	a = Answer{Model: text("model"), Reason: protocol.ErrorKind(text("reason")), Error: text("error")}
	ids, _ := v["entries"].([]any)
	for _, x := range ids {
		id, _ := x.(string)
		a.Entries = append(a.Entries, id)
	}
	if a.Error == "" {
		a.Vectors, err = Unpack(text("vectors"), len(ids))
	}
	return a, err
}
