package words

// automaton finds keywords wherever they stand (Aho and Corasick).
type automaton struct {
	nodes []node // the first is the root
	edges []edge // of each node together, by byte
	rows  [][256]int32
}

// node is what was read so far: the beginning of some keyword.
type node struct {
	from, to int32 // its edges
	row      int32 // of rows, of a node with many edges: where each byte leads; -1 = it has none
	fail     int32 // the longest proper end of it that is a node
	word     int32 // that it is; -1 = none
	out      int32 // the next node on the way of fail that is a word, or 0
}

type edge struct {
	by byte
	to int32
}

// manyEdges is from how many edges on a node has a row, which takes a kilobyte.
const manyEdges = 16

// newAutomaton takes the numbers of the words to find; they are sorted.
func newAutomaton(words []string, which []int32) automaton {
	k := automaton{}
	if len(which) == 0 {
		return k
	}
	k.nodes = []node{{word: -1}}
	type branch struct{ from, to, depth int } // which[from:to] begin with the node
	open := []branch{{0, len(which), 0}}
	for n := 0; n < len(open); n++ { // nodes in the order of their depth
		b := open[n]
		k.nodes[n].from = int32(len(k.edges))
		for b.from < b.to && len(words[which[b.from]]) == b.depth {
			k.nodes[n].word = which[b.from]
			b.from++
		}
		for i := b.from; i < b.to; {
			by, j := words[which[i]][b.depth], i
			for j < b.to && words[which[j]][b.depth] == by {
				j++
			}
			k.edges = append(k.edges, edge{by, int32(len(k.nodes))})
			k.nodes = append(k.nodes, node{word: -1})
			open = append(open, branch{i, j, b.depth + 1})
			i = j
		}
		k.nodes[n].to = int32(len(k.edges))
	}
	k.link()
	return k
}

// link finds fail, out and row of each node; those of shorter ones are known by then.
func (k *automaton) link() {
	for n := range k.nodes {
		at := &k.nodes[n]
		at.row = -1
		if list := k.edges[at.from:at.to]; n == 0 || len(list) >= manyEdges {
			row := [256]int32{}
			if n > 0 {
				for by := range row {
					row[by] = k.step(at.fail, byte(by))
				}
			}
			for _, e := range list {
				row[e.by] = e.to
			}
			at.row, k.rows = int32(len(k.rows)), append(k.rows, row)
		}
		for _, e := range k.edges[at.from:at.to] {
			child := &k.nodes[e.to]
			if n > 0 {
				child.fail = k.step(at.fail, e.by)
			}
			child.out = child.fail
			if k.nodes[child.fail].word < 0 {
				child.out = k.nodes[child.fail].out
			}
		}
	}
}

// step is the node after one more byte.
func (k *automaton) step(n int32, by byte) int32 {
	for {
		at := &k.nodes[n]
		if at.row >= 0 {
			return k.rows[at.row][by]
		}
		for _, e := range k.edges[at.from:at.to] {
			if e.by == by {
				return e.to
			}
		}
		n = at.fail
	}
}

// in says how each of its words occurs in a text.
func (k *automaton) in(words []string, text string) (hits Hits) {
	if len(k.nodes) == 0 {
		return nil
	}
	at := int32(0)
	for i := range len(text) {
		at = k.step(at, text[i])
		n := at
		if k.nodes[n].word < 0 {
			n = k.nodes[n].out
		}
		for ; n > 0; n = k.nodes[n].out {
			hit := Hit{k.nodes[n].word, Inside}
			if whole(text, i+1-len(words[hit.Word]), i+1) {
				hit.How |= Whole
			}
			hits = hits.add(hit)
		}
	}
	return hits
}
