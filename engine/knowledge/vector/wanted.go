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

	// MaxShared bounds the entries of one request, which share its texts: the fact about their vectors
	// fits into a letter to another scene, however many dimensions they have. The others come later.
	MaxShared = 128
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

// Hash tells a text that was asked for from what an entry says when the answer comes.
func Hash(text string) int64 { return int64(protocol.HashString(text)) }

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

	at      map[[2]string][2]int // of a text of a base: in List, and in its texts
	entries []int                // of each in List
}

// Add adds the text of an entry; entries with one text share it, up to [MaxShared]. false = there is no
// room.
// Entries of one base come together.
func (p *Plan) Add(kb, model, text, id string) bool {
	if at, ok := p.at[[2]string{kb, text}]; ok {
		if p.entries[at[0]] < MaxShared {
			ids := &p.List[at[0]].Entries[at[1]]
			*ids = append(*ids, id)
			p.entries[at[0]]++
		}
		return true
	}
	n := len(p.List) - 1
	if n < 0 || p.List[n].KB != kb || len(p.List[n].Texts) == MaxTexts || p.entries[n] == MaxShared {
		if n++; n == MaxAsks {
			return false
		}
		p.List, p.entries = append(p.List, Wanted{KB: kb, Model: model}), append(p.entries, 0)
	}
	w := &p.List[n]
	if p.at == nil {
		p.at = map[[2]string][2]int{}
	}
	p.at[[2]string{kb, text}] = [2]int{n, len(w.Texts)}
	w.Texts, w.Entries = append(w.Texts, text), append(w.Entries, []string{id})
	p.entries[n]++
	return true
}

// Answer is what came, as a value: text has the vectors, or err says why there are none.
func (w *Wanted) Answer(text string, err error) map[string]any {
	var all [][]int8
	entries, asked := []any{}, []any{}
	list, broken := Unpack(text, len(w.Texts))
	if err == nil {
		err = broken
	}
	for i, ids := range w.Entries {
		for _, id := range ids {
			asked = append(asked, Hash(w.Texts[i]))
			if entries = append(entries, id); err == nil {
				all = append(all, list[i].Components(Widest(list)))
			}
		}
	}
	v := map[string]any{"model": w.Model, "entries": entries, "asked": asked, "vectors": Pack(all)}
	if err != nil {
		v["reason"], v["error"] = string(protocol.KindOf(err)), err.Error()
	}
	return v
}

// Answer is what Wanted.Answer says.
type Answer struct {
	Model   string
	Entries []string
	Asked   []int64  // hashes of the texts that were asked for, by entry
	Vectors []Vector // of the entries in their order
	Reason  protocol.ErrorKind
	Error   string // "" = there are vectors
}

// ReadAnswer is the reverse of Wanted.Answer.
func ReadAnswer(v map[string]any) (a Answer, err error) {
	text := func(name string) string { s, _ := v[name].(string); return s }
	a = Answer{Model: text("model"), Reason: protocol.ErrorKind(text("reason")), Error: text("error")}
	ids, _ := v["entries"].([]any)
	asked, _ := v["asked"].([]any)
	for i, x := range ids {
		id, _ := x.(string)
		hash, ok := int64(0), i < len(asked)
		if ok {
			hash, ok = asked[i].(int64)
		}
		if !ok {
			return a, protocol.Errorf(protocol.KindInvalid, "asked[%d]: want the hash of the text that was asked for", i)
		}
		a.Entries, a.Asked = append(a.Entries, id), append(a.Asked, hash)
	}
	if a.Error == "" {
		a.Vectors, err = Unpack(text("vectors"), len(ids))
	}
	return a, err
}
