package mask

// run is a part of a pattern that stands in a text, so far.
type run struct {
	place  int // of its last letter
	length int // squeezed bytes
	end    int // in the text
}

// runs are those that may go on, from the last place on.
type runs struct {
	open, room []run
	at         int // count of squeezed bytes at their ends
}

// finder finds runs at the pieces of a text, which come one after the other.
type finder struct {
	*Masker
	found, inBits runs
	done          []run  // long enough to be hits
	packed        uint64 // the bits up to a piece
	bits          int    // how many of them are in a row
	at            int    // count of squeezed bytes at their end
}

// piece looks up the piece that ends with the n-th squeezed byte, and the piece of bits that does.
func (f *finder) piece(w uint64, n, end int) {
	if place := f.pieces[w]; place > 0 {
		f.follow(&f.found, place, gram, n, end)
	}
	const zeros, ones = 0x3030303030303030, 0x0101010101010101
	if w&^ones != zeros {
		return
	}
	if f.at != n-1 {
		f.packed, f.bits = 0, gram-1
		for i := gram - 1; i > 0; i-- {
			f.packed = f.packed<<1 | w>>(8*i)&1
		}
	}
	f.packed, f.bits, f.at = f.packed<<1|w&1, f.bits+1, n
	if place := f.pieces[f.packed&(1<<bitGram-1)]; place > 0 && f.bits >= bitGram {
		f.follow(&f.inBits, place, bitGram, n, end)
	}
}

// all gives the runs of the whole text that are long enough to be hits.
func (f *finder) all() []run {
	f.close(f.found.open)
	f.close(f.inBits.open)
	return f.done
}

// follow extends the runs that go on at the n-th squeezed byte, and begins others: at a place and all before it at which the same piece
// ends. Runs and places are both in order, so that it passes each once.
func (f *finder) follow(r *runs, place, piece, n, end int) {
	open, next := r.open, r.room[:0]
	if r.at != n-1 {
		f.close(open)
		open = nil
	}
	for ; place > 0; place = f.places[place].before {
		here := run{place, piece, end}
		for ; len(open) > 0 && open[0].place >= place-1; open = open[1:] {
			if open[0].place == place-1 {
				here.length = open[0].length + 1
			} else {
				f.close(open[:1])
			}
		}
		next = append(next, here)
	}
	f.close(open)
	r.open, r.room, r.at = next, r.open, n
}

// close keeps those runs that are hits.
func (f *finder) close(ended []run) {
	for _, o := range ended {
		p := f.patternOf(o.place)
		if last := o.place - p.first; o.length >= p.least && p.has(last+1-o.length, last) >= p.need {
			f.done = append(f.done, o)
		}
	}
}
