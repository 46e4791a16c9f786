package bound

// Posting is an entry with a term, and the weight of the term there.
type Posting struct{ Doc, Weight int32 }

// Places are where the postings of each block begin in a list, and its end.
type Places []int32

// PlacesOf takes a list by entries. It gives nil for one with few entries in each block, which is
// sought through as fast, and no more room than the list takes.
func PlacesOf(list []Posting, blocks int) Places {
	if len(list) < 2*blocks || blocks == 1 {
		return nil
	}
	at := make(Places, blocks+1)
	for _, x := range list {
		at[x.Doc/Block+1]++
	}
	for b := range blocks {
		at[b+1] += at[b]
	}
	return at
}

// Seek finds the first posting that is not before an entry, in steps that double.
func Seek(list []Posting, at int32) int {
	if len(list) == 0 || list[0].Doc >= at {
		return 0
	}
	below, step := 0, 1 // list[below] is before the entry
	for below+step < len(list) && list[below+step].Doc < at {
		below, step = below+step, step*2
	}
	end := min(below+step, len(list))
	for below+1 < end {
		if middle := int(uint(below+end) >> 1); list[middle].Doc < at {
			below = middle
		} else {
			end = middle
		}
	}
	return end
}
