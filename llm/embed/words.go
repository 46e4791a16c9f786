package embed

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/knowledge/words"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// MaxWords bounds a file of word vectors.
const MaxWords = 1_000_000

// Words gives a text the mean of the vectors of its words, out of a file. It is immutable.
type Words struct {
	name string
	by   map[string][]int32 // components in millionths of the longest vector's largest
	size int
}

// Load reads one of the files, by path.
func Load(name, file string, files map[string][]byte) (*Words, error) {
	data, ok := files[file]
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "there is no file %s; vectors of words lie in the folder models of the project, for example models/words/small.txt", file)
	}
	return Read(name, file, data)
}

// Read reads a file of word vectors: in each line a word and its components, with blanks
// between them, as GloVe and word2vec write them; a first line of two numbers is skipped. name
// is the model's.
func Read(name, file string, data []byte) (*Words, error) {
	w := &Words{name: name, by: map[string][]int32{}}
	bad := func(n int, format string, args ...any) error {
		return protocol.Errorf(protocol.KindInvalid, file+": line "+strconv.Itoa(n)+": "+format, args...)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	var raw [][]float64
	var names []string
	n, most := 0, 0.0
	for lines.Scan() {
		n++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || n == 1 && len(fields) == 2 && isNumber(fields[0]) {
			continue
		}
		if len(fields)-1 > vector.MaxDimensions || len(fields) < 2 {
			return nil, bad(n, "%d components; want a word and 1 to %d numbers", len(fields)-1, vector.MaxDimensions)
		}
		if w.size == 0 {
			w.size = len(fields) - 1
		}
		if len(fields)-1 != w.size {
			return nil, bad(n, "%d components; the vectors before have %d", len(fields)-1, w.size)
		}
		at := make([]float64, w.size)
		for i, text := range fields[1:] {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(x) || math.Abs(x) > 1e6 {
				return nil, bad(n, "component %d is %q; want a number from -1e6 to 1e6", i+1, text)
			}
			at[i], most = x, max(most, math.Abs(x))
		}
		if raw, names = append(raw, at), append(names, words.Fold(fields[0])); len(raw) > MaxWords {
			return nil, bad(n, "more than %d words", MaxWords)
		}
	}
	if err := lines.Err(); err != nil || len(raw) == 0 || most == 0 {
		return nil, bad(n, "no vectors of words; want in each line a word and its numbers")
	}
	for i, at := range raw {
		if w.by[names[i]] != nil {
			continue // the first of a word counts
		}
		whole := make([]int32, w.size)
		for k, x := range at {
			whole[k] = int32(math.Round(x / most * 1e6))
		}
		w.by[names[i]] = whole
	}
	return w, nil
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// Name implements llm.Provider.
func (w *Words) Name() string { return w.name }

// Close implements llm.Provider.
func (w *Words) Close() error { return nil }

// Complete implements llm.Provider.
func (w *Words) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	if err := llm.Stopped(ctx, w.name); err != nil {
		return protocol.ModelAnswer{}, err
	}
	a, err := w.Answer(q)
	if err != nil {
		return a, err
	}
	return a, llm.Deliver(&a, sink)
}

// Answer implements llm.Instant.
func (w *Words) Answer(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	texts, err := textsOf(w.name, q)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	list := make([][]int8, len(texts))
	for i, text := range texts {
		list[i] = w.Of(text)
	}
	return protocol.ModelAnswer{Model: w.name, Text: vector.Pack(list), Finish: protocol.FinishStop}, nil
}

// Of is the mean of the vectors of the words of a text. Stop words count if there are no
// others. Words without a vector do not count.
func (w *Words) Of(text string) []int8 {
	sum, found := make([]int64, w.size), false
	for _, common := range []bool{false, true} {
		words.Each(words.Fold(text), func(word string, script bool) {
			if script && w.by[word] == nil { // a run of characters without blanks between words
				words.Pairs(word, true, func(pair string) { found = w.add(sum, pair, common) || found })
				return
			}
			found = w.add(sum, word, common) || found
		})
		if found {
			break
		}
	}
	return vector.Sum(sum)
}

// add adds the vector of a word, if it has one and is as common as said.
func (w *Words) add(sum []int64, word string, common bool) bool {
	at := w.by[word]
	if at == nil || words.Common(word) != common {
		return false
	}
	for i, x := range at {
		sum[i] += int64(x)
	}
	return true
}
