package collab

import (
	"math"

	"tavernsim/protocol"
)

// Assign gives each row at most one column and each column to at most one row, as many as
// there can be, so that the sum of their costs is the least; -1 = a row has none. It is the
// Hungarian method (Kuhn 1955) with potentials: rows² × columns steps.
func Assign(costs [][]int64) (columns []int, total int64, err error) {
	rows, cols := len(costs), 0
	for i, row := range costs {
		if i == 0 {
			cols = len(row)
		}
		if len(row) != cols || cols == 0 || cols > MaxAssign || rows > MaxAssign {
			return nil, 0, protocol.Errorf(protocol.KindInvalid, "row %d of the costs has %d numbers; want equally many in each, 1 to %d, in at most %d rows", i, len(row), MaxAssign, MaxAssign)
		}
		for j, c := range row {
			if c < 0 || c > MaxAmount>>10 {
				return nil, 0, protocol.Errorf(protocol.KindInvalid, "the cost %d in row %d, column %d: want 0 to 2^43", c, i, j)
			}
		}
	}
	at, n, m := func(i, j int) int64 { return costs[i][j] }, rows, cols
	if rows > cols {
		at, n, m = func(i, j int) int64 { return costs[j][i] }, cols, rows
	}
	columns = make([]int, rows)
	for i := range columns {
		columns[i] = -1
	}
	for j, i := range hungarian(n, m, at) {
		switch {
		case i < 0:
			continue
		case rows > cols:
			columns[j] = i
		default:
			columns[i] = j
		}
		total += at(i, j)
	}
	return columns, total, nil
}

// hungarian finds for each of m columns its row of n ≤ m, or -1. Rows and columns count from
// one within.
func hungarian(n, m int, cost func(i, j int) int64) []int {
	u, v, row, way := make([]int64, n+1), make([]int64, m+1), make([]int, m+1), make([]int, m+1)
	for i := 1; i <= n; i++ {
		row[0] = i
		least, used := make([]int64, m+1), make([]bool, m+1)
		for j := range least {
			least[j] = math.MaxInt64
		}
		j0 := 0
		for row[j0] != 0 {
			used[j0] = true
			delta, next := int64(math.MaxInt64), 0
			for j := 1; j <= m; j++ {
				if used[j] {
					continue
				}
				if c := cost(row[j0]-1, j-1) - u[row[j0]] - v[j]; c < least[j] {
					least[j], way[j] = c, j0
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := range used {
				switch {
				case used[j]:
					u[row[j]] += delta
					v[j] -= delta
				case j > 0:
					least[j] -= delta
				}
			}
			j0 = next
		}
		for j0 != 0 {
			row[j0] = row[way[j0]]
			j0 = way[j0]
		}
	}
	found := make([]int, m)
	for j := range found {
		found[j] = row[j+1] - 1
	}
	return found
}
