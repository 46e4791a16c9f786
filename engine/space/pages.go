package space

import "slices"

// pages is a list of numbers of which a share can be given away: a page that was shared is
// copied before it changes. What was never set is 0.
type pages struct {
	list  []*page
	owned []bool // those that no share has; shorter than list = none of the rest
}

const (
	pageBits = 7 // who moves in a wave copies a page or two of each list
	pageSize = 1 << pageBits
)

type page [pageSize]uint32

func (p *pages) get(i uint32) uint32 {
	if n := i >> pageBits; int(n) < len(p.list) {
		if x := p.list[n]; x != nil {
			return x[i&(pageSize-1)]
		}
	}
	return 0
}

func (p *pages) set(i, v uint32) {
	n := int(i >> pageBits)
	for n >= len(p.list) {
		p.list = append(p.list, nil)
	}
	if len(p.owned) < len(p.list) {
		p.owned = append(p.owned, make([]bool, len(p.list)-len(p.owned))...)
	}
	if !p.owned[n] {
		own := new(page)
		if p.list[n] != nil {
			*own = *p.list[n]
		}
		p.list[n], p.owned[n] = own, true
	}
	p.list[n][i&(pageSize-1)] = v
}

// share gives what is kept now; later changes are not in it.
func (p *pages) share() pages {
	clear(p.owned)
	return pages{list: slices.Clone(p.list)}
}

// top is one more than the highest place that was ever set, or more.
func (p *pages) top() uint32 { return uint32(len(p.list)) << pageBits }
