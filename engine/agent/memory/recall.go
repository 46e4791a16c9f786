package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// Names by which workflows and tools know episodes.
const (
	Base = "episodes" // the agent's own base, for QueryKnowledgeBaseTool; the input of a core workflow
	Type = "episode"  // entry type
)

// Hit is an episode with its score, comparable within one answer only.
type Hit struct {
	*Episode
	Score int64
}

// rise is what the rank of an episode is multiplied by, in millionths.
func (e *Episode) rise(r *Rules, now protocol.Time) int64 {
	sum := score.Million + e.Importance*(score.Million/10)
	if r.HalfLife > 0 {
		sum += score.Halved(max(now.Sub(e.At), 0).Microseconds(), max(r.HalfLife.Microseconds(), 1))
	}
	return sum
}

// Recall finds the episodes that a turn is shown, oldest first.
func (m *Mind) Recall(r *Rules, text string, now protocol.Time) []Hit {
	if m == nil {
		return nil
	}
	hits := m.rank(r, text, now)
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Noted }) // its note speaks for it
	hits = hits[:min(r.Recall, len(hits))]
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Turn, b.Turn) })
	return hits
}

// never reports whether a query asks for what no episode has.
func never(q *knowledge.Query) bool {
	other := len(q.EntryTypes) > 0 && !slices.Contains(q.EntryTypes, Type)
	return other || len(q.Tags)+len(q.AllTags)+len(q.Metadata) > 0 || q.Source != "" || q.Author != "" || q.Status != "" ||
		q.MinPriority != nil && *q.MinPriority > 0
}

// meets reports whether an episode is one of those that a query asks for.
func (e *Episode) meets(q *knowledge.Query) bool {
	if len(q.IDs) > 0 && !slices.Contains(q.IDs, e.ID()) {
		return false
	}
	if len(q.Keywords)+len(q.AllKeywords) == 0 {
		return true
	}
	text := words.Fold(e.Text)
	lacks := func(word string) bool { return !strings.Contains(text, words.Fold(word)) }
	return !slices.ContainsFunc(q.AllKeywords, lacks) &&
		(len(q.Keywords) == 0 || slices.ContainsFunc(q.Keywords, func(word string) bool { return !lacks(word) }))
}

// Query answers a search as a knowledge base does: by rank, or without text the newest first.
func (m *Mind) Query(r *Rules, q *knowledge.Query) []Hit {
	if m == nil || never(q) {
		return nil
	}
	limit := min(cmp.Or(q.Limit, knowledge.DefaultLimit), knowledge.MaxLimit)
	var hits []Hit
	if strings.TrimSpace(q.Text) != "" {
		hits = m.rank(r, q.Text, q.Now)
	} else {
		for _, e := range slices.Backward(m.episodes) {
			hits = append(hits, Hit{Episode: e})
		}
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return !h.meets(q) })
	return hits[:min(limit, len(hits))]
}

// rank finds the episodes with a word of the text, the highest score first.
func (m *Mind) rank(r *Rules, text string, now protocol.Time) (hits []Hit) {
	terms := words.OfQuery(text)
	if len(m.episodes) == 0 || len(terms) == 0 {
		return nil
	}
	weights, rarities := m.weights(terms)
	lengths := make([]int64, len(m.episodes))
	for i, e := range m.episodes {
		lengths[i] = e.length
	}
	lengths, all := spread(lengths)
	for i, e := range m.episodes {
		sum, penalty := int64(0), score.Penalty(lengths[i], int64(len(m.episodes)), max(all, 1))
		for k := range terms {
			if n := weights[k][i]; n > 0 {
				sum += score.Contribution(rarities[k], n, penalty)
			}
		}
		if sum > 0 {
			hits = append(hits, Hit{e, score.Scaled(sum, e.rise(r, now))})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Turn, a.Turn)) })
	return hits
}

// near sums up something of an episode and, at 0.4, of its neighbours, in fifths.
func near(list []int64, i int) int64 {
	sum := score.InBody * list[i]
	if i > 0 {
		sum += score.InNeighbour * list[i-1]
	}
	if i+1 < len(list) {
		sum += score.InNeighbour * list[i+1]
	}
	return sum
}

// spread is near for all of a list, and its sum.
func spread(list []int64) (out []int64, sum int64) {
	out = make([]int64, len(list))
	for i := range list {
		out[i] = near(list, i)
		sum += out[i]
	}
	return out, sum
}

// weights are those of sorted terms in each episode, in fifths, and how rare the terms are.
func (m *Mind) weights(terms []string) (weights [][]int64, rarities []int64) {
	for range terms {
		weights = append(weights, make([]int64, len(m.episodes)))
	}
	for i, e := range m.episodes {
		next := 0
		e.terms.All(func(term string, n int32) {
			for next < len(terms) && terms[next] < term {
				next++
			}
			if next < len(terms) && terms[next] == term {
				weights[next][i] = int64(n)
			}
		})
	}
	for k := range weights {
		holding := 0
		weights[k], _ = spread(weights[k])
		for _, n := range weights[k] {
			if n > 0 {
				holding++
			}
		}
		rarities = append(rarities, score.Rarity(len(m.episodes), holding))
	}
	return weights, rarities
}

// ID names an episode in its agent's base.
func (e *Episode) ID() string {
	if e.Of > 0 { // one that begins at the same episode is in no other note
		return "note-" + strconv.FormatUint(e.Turn, 10)
	}
	return "turn-" + strconv.FormatUint(e.Turn, 10)
}

// Value is an episode as workflows and tools see it.
func (e *Episode) Value() map[string]any {
	return map[string]any{"id": e.ID(), "kb": Base, "entry_type": Type, "content": e.Text, "importance": float64(e.Importance), "time": e.At.String()}
}

// Values are hits as the tool shows them.
func Values(hits []Hit) []any {
	list := make([]any, 0, len(hits))
	for _, h := range hits {
		v := h.Value()
		v["score"] = h.Score
		list = append(list, v)
	}
	return list
}
