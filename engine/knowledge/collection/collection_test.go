package collection

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/knowledge"
)

func tiny() Files {
	return Files{
		Documents:  ".I 1\n.T\nthe mill\n.A\nsomebody\n.W\na mill by the ford\n.I 2\n.W\nthe road to the inn\n.I 3\n.W\nmills grind .\n.I 10\n.T\nthanks\n.W\n",
		Queries:    ".I 001\n.W\nwhere is the mill\n.I 7\n.W\nthe inn\n",
		Judgements: "1 1 2 \n1 3 4\n1 2 -1\n2 2 0\r\n\n",
	}
}

// The figures of a tiny collection, computed by hand.
func TestFigures(t *testing.T) {
	c, err := Read(tiny())
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Base(false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	got := c.Measure(func(text string) []string {
		asked = append(asked, text)
		var ids []string
		for _, h := range b.Query(knowledge.Query{Text: text}) {
			ids = append(ids, h.Entry.ID)
		}
		return ids
	})
	if want := (Figures{Documents: 4, Queries: 2, MAP: 1, NDCG: 1, Recall: 1}); got != want || !slices.Equal(asked, []string{"where is the mill", "the inn"}) {
		t.Errorf("%+v of %q, want %+v", got, asked, want)
	}
	got = c.Measure(func(text string) []string {
		if strings.HasSuffix(text, "inn") {
			return nil
		}
		return []string{"2", "1", "10", "3"}
	})
	gain := (1/math.Log2(3) + 1/math.Log2(5)) / (1 + 1/math.Log2(3))
	if want := (Figures{4, 2, (1.0/2 + 2.0/4) / 2 / 2, gain / 2, 0.5}); math.Abs(got.MAP-want.MAP)+math.Abs(got.NDCG-want.NDCG)+math.Abs(got.Recall-want.Recall) > 1e-12 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// With sequence, a document is found by what stands before and after it.
func TestSequence(t *testing.T) {
	c, err := Read(tiny())
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Base(true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if hits := b.Query(knowledge.Query{Text: "grind"}); len(hits) != 3 || hits[0].Entry.ID != "3" {
		t.Errorf("%v", hits)
	}
}

func TestFaults(t *testing.T) {
	for want, change := range map[string]func(*Files){
		"documents: empty":                                  func(f *Files) { f.Documents = "" },
		"documents, line 1: .T before the first .I":         func(f *Files) { f.Documents = ".T\n" },
		"documents, line 2: text without a field":           func(f *Files) { f.Documents = ".I 1\nx\n" },
		"documents, line 3: document \"1\" is there twice":  func(f *Files) { f.Documents = ".I 1\n.W\n.I 1\n" },
		"queries, line 1: want a number after .I":           func(f *Files) { f.Queries = ".I\n" },
		"queries: no UTF-8":                                 func(f *Files) { f.Queries = "\xff" },
		"judgements, line 1: query \"3\"; there are 1 to 2": func(f *Files) { f.Judgements = "3 1 1" },
		"judgements, line 2: no document \"9\"":             func(f *Files) { f.Judgements = "1 1 1\n1 9 1" },
		"judgements, line 1: grade \"x\"":                   func(f *Files) { f.Judgements = "1 1 x" },
		"judgements, line 1: want QUERY DOCUMENT":           func(f *Files) { f.Judgements = "1" },
		"judgements: no document is relevant":               func(f *Files) { f.Judgements = "1 1 -1" },
	} {
		f := tiny()
		change(&f)
		if _, err := Read(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(tiny().Documents, tiny().Queries, tiny().Judgements)
	f.Fuzz(func(t *testing.T, documents, queries, judgements string) {
		c, err := Read(Files{documents, queries, judgements})
		if err != nil {
			return
		}
		got := c.Measure(func(string) []string { return []string{c.Documents[0].ID} })
		if got.MAP < 0 || got.MAP > 1 || got.NDCG < 0 || got.NDCG > 1+1e-9 || got.Recall > 1 || math.IsNaN(got.NDCG) {
			t.Errorf("%+v", got)
		}
	})
}
