// Package collection measures the search of a knowledge base: it reads a collection of
// documents, queries and judgements in the format of the Cranfield collection (also
// CISI, MED and others), and rates the answers to the queries.
//
// You hold a [Collection], a plain value, and files that you have read. [Collection.Base]
// makes a base of the documents, and [Collection.Measure] the figures of an answer for
// each query.
//
// # Not here
//
// Files and durations: the caller measures the time of a query.
package collection

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// MaxQueries bounds the queries of a collection.
const MaxQueries = 100_000

// Collection is a set of documents with queries whose answers are known.
type Collection struct {
	Documents []Document
	Queries   []Query
}

// Document is a text with its number.
type Document struct {
	ID          string
	Title, Text string
}

// Query is a question, and the documents that are relevant to it. All of them are
// worth as much: collections disagree whether 1 is the best grade or the worst.
type Query struct {
	Text     string
	Relevant map[string]bool
}

// Files are the three files of a collection.
type Files struct{ Documents, Queries, Judgements string }

// Which says what a file of a collection has, by its name: "documents" (*.all*, *.ALL),
// "queries" (*.qry), "judgements" (*rel); "" for any other.
func Which(name string) string {
	switch name = strings.ToLower(name); {
	case strings.Contains(name, ".all"):
		return "documents"
	case strings.HasSuffix(name, ".qry"):
		return "queries"
	case strings.HasSuffix(name, "rel"):
		return "judgements"
	}
	return ""
}

// Read reads a collection. The error names the line.
func Read(f Files) (*Collection, error) {
	c := &Collection{}
	documents, err := records("documents", f.Documents, knowledge.MaxEntries)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(documents))
	for _, r := range documents {
		if known[r.id] {
			return nil, invalid("documents", r.line, "document %q is there twice", r.id)
		}
		known[r.id] = true
		c.Documents = append(c.Documents, Document{ID: r.id, Title: r.field('T'), Text: r.field('W')})
	}
	queries, err := records("queries", f.Queries, MaxQueries)
	if err != nil {
		return nil, err
	}
	for _, r := range queries {
		c.Queries = append(c.Queries, Query{Text: r.field('W'), Relevant: map[string]bool{}})
	}
	return c, c.judge(f.Judgements, known)
}

func invalid(file string, line int, format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "%s, line %d: %s", file, line, fmt.Sprintf(format, args...))
}

// record is what stands between two lines ".I".
type record struct {
	id     string
	line   int
	fields map[byte][]string // lines by the letter of the field
}

func (r *record) field(name byte) string {
	return strings.TrimSpace(strings.Join(r.fields[name], "\n"))
}

// records reads lines ".I NUMBER", ".X" (a field, one capital letter) and text.
func records(file, data string, most int) ([]*record, error) {
	if !utf8.ValidString(data) {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: no UTF-8", file)
	}
	var out []*record
	var field byte
	line := 0
	for text := range strings.Lines(data) {
		line++
		text = strings.TrimRight(text, "\r\n")
		if id, ok := strings.CutPrefix(text, ".I"); ok {
			if id = strings.TrimSpace(id); id == "" {
				return nil, invalid(file, line, "want a number after .I")
			}
			if len(out) == most {
				return nil, protocol.Errorf(protocol.KindLimit, "%s, line %d: more than %d", file, line, most)
			}
			out, field = append(out, &record{id: id, line: line, fields: map[byte][]string{}}), 0
			continue
		}
		if mark := strings.TrimRight(text, " \t"); len(mark) == 2 && mark[0] == '.' && mark[1] >= 'A' && mark[1] <= 'Z' {
			if field = mark[1]; len(out) == 0 {
				return nil, invalid(file, line, "%s before the first .I", mark)
			}
			continue
		}
		if strings.TrimSpace(text) == "" && field == 0 {
			continue
		}
		if len(out) == 0 || field == 0 {
			return nil, invalid(file, line, "text without a field; want .I NUMBER, then .T, .W or another field")
		}
		r := out[len(out)-1]
		r.fields[field] = append(r.fields[field], text)
	}
	if len(out) == 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: empty; want lines .I NUMBER", file)
	}
	return out, nil
}

// judge reads lines "QUERY DOCUMENT GRADE …": the number of the query counts from 1 in
// the order of their file, whatever stands after its .I. Without a grade, or with one
// that is 0 (as other collections write it), the document is relevant; below 0 it is not.
func (c *Collection) judge(data string, known map[string]bool) error {
	const file = "judgements"
	line, relevant := 0, 0
	for text := range strings.Lines(data) {
		line++
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 {
			return invalid(file, line, "want QUERY DOCUMENT GRADE")
		}
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 1 || n > len(c.Queries) {
			return invalid(file, line, "query %q; there are 1 to %d", words[0], len(c.Queries))
		}
		if !known[words[1]] {
			return invalid(file, line, "no document %q", words[1])
		}
		grade := 1
		if len(words) > 2 {
			if grade, err = strconv.Atoi(words[2]); err != nil {
				return invalid(file, line, "grade %q; want a whole number", words[2])
			}
		}
		if grade = cmp.Or(grade, 1); grade > 0 {
			c.Queries[n-1].Relevant[words[1]] = true
			relevant++
		}
	}
	if relevant == 0 {
		return protocol.Errorf(protocol.KindInvalid, "%s: no document is relevant to any query", file)
	}
	return nil
}

// Base makes a base with an entry for each document. With sequence, each follows the
// one before it, as the lines of a dialogue do. embedding may be nil.
func (c *Collection) Base(sequence bool, embedding *knowledge.Embedding) (*knowledge.Base, error) {
	def := knowledge.KnowledgeBase{ID: "collection", Embedding: embedding, Entries: make([]knowledge.Entry, len(c.Documents))}
	for i, d := range c.Documents {
		e := &def.Entries[i]
		e.ID, e.EntryType, e.Title, e.Content = d.ID, "document", d.Title, d.Text
		if sequence && i > 0 {
			e.Follows = c.Documents[i-1].ID
		}
	}
	return knowledge.New(def)
}

// Depth is how many answers to a query are measured.
const Depth = 1000

// Figures say how good answers are, each the mean over the queries that have relevant
// documents.
type Figures struct {
	Documents int     `json:"documents"`
	Queries   int     `json:"queries"`      // with relevant documents
	MAP       float64 `json:"map"`          // mean average precision, of the first 1,000
	NDCG      float64 `json:"ndcg_at_10"`   // a relevant document is worth 1/log2(place+1)
	Recall    float64 `json:"recall_at_10"` // share of the relevant ones among the first 10
}

// Measure asks every query and says how good the answers are. answer gives the ids of
// documents, the best first.
func (c *Collection) Measure(answer func(text string) []string) Figures {
	f := Figures{Documents: len(c.Documents)}
	for _, q := range c.Queries {
		if len(q.Relevant) == 0 {
			continue
		}
		got := answer(q.Text)
		f.Queries++
		f.MAP += q.precision(got)
		f.NDCG += q.gain(got)
		f.Recall += float64(q.found(got[:min(10, len(got))])) / float64(len(q.Relevant))
	}
	n := float64(max(f.Queries, 1))
	f.MAP, f.NDCG, f.Recall = f.MAP/n, f.NDCG/n, f.Recall/n
	return f
}

func (q *Query) found(ids []string) (n int) {
	for _, id := range ids {
		if q.Relevant[id] {
			n++
		}
	}
	return n
}

// precision is the mean of the precision at each relevant document.
func (q *Query) precision(ids []string) float64 {
	sum, found := 0.0, 0
	for i, id := range ids[:min(len(ids), Depth)] {
		if q.Relevant[id] {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(len(q.Relevant))
}

// gain of the first ten answers, as a share of the best possible.
func (q *Query) gain(ids []string) float64 {
	sum, best := 0.0, 0.0
	for i := range 10 {
		worth := 1 / math.Log2(float64(i+2))
		if i < len(ids) && q.Relevant[ids[i]] {
			sum += worth
		}
		if i < len(q.Relevant) {
			best += worth
		}
	}
	return sum / best
}
