package protocol

// EditDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b. It gives up at limit and returns it. Every
// "did you mean" of the program rests on it; what counts as near is the
// asker's business.
func EditDistance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if len(s)-len(t) >= limit || len(t)-len(s) >= limit || len(s) > maxEditWord || len(t) > maxEditWord {
		return limit
	}
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i, x := range s {
		row[0] = i + 1
		least := row[0]
		for j, y := range t {
			cost := 1
			if x == y {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x == t[j-1] && s[i-1] == y {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			least = min(least, row[j+1])
		}
		if least >= limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return min(last[len(t)], limit)
}

// maxEditWord bounds the words that are compared: longer ones are nobody's typo.
const maxEditWord = 256
