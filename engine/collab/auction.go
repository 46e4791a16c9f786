package collab

import (
	"cmp"
	"slices"

	"tavernsim/protocol"
)

// Rules of price.
const (
	FirstPrice  = "first"  // the highest bid wins and pays what it says
	SecondPrice = "second" // it pays what the second highest says, or the reserve
	Double      = "double" // buyers and sellers meet at one price
)

// Prices lists them.
func Prices() []string { return []string{FirstPrice, SecondPrice, Double} }

// Why nothing was sold.
const (
	NoBids  = "no_bids"
	Reserve = "reserve" // no bid reaches it
	NoMatch = "no_match"
)

// Sides of a double auction.
const (
	buy  = "buy"
	sell = "sell"
)

// Auction says how bids are settled. A bid is an object with the amount and, in a double
// auction, the side.
type Auction struct {
	Price   string `json:"price,omitempty"`
	Amount  string `json:"amount,omitempty"`
	Reserve int64  `json:"reserve,omitempty"`
	Ties    string `json:"ties,omitempty"`
}

// Faults lists what does not go together.
func (a *Auction) Faults() (list []Fault) {
	if a.Price == Double && a.Reserve != 0 {
		list = append(list, Fault{"reserve", "in a double auction every seller says the least", "take reserve out"})
	}
	if a.Reserve > MaxAmount {
		list = append(list, Fault{"reserve", "want at most 2^53", ""})
	}
	return list
}

// Bid is the answer of one agent.
type Bid struct {
	By    string
	Value any
}

// Trade is one thing that changes hands.
type Trade struct {
	Buyer, Seller string // Seller "" = whoever holds the auction
	Price         int64
}

// Sale is what bids came to.
type Sale struct {
	Winner  string // "" = nobody, or a double auction
	Why     string // nothing was sold
	Price   int64
	Bids    int64 // that count
	Spoiled int64
	Highest int64    // amount; of a double auction 0
	Tied    []string // with the highest bid, by name; nil = one alone has it
	Trades  []Trade
}

// Value is the sale as expressions read it.
func (s *Sale) Value() map[string]any {
	trades := make([]any, len(s.Trades))
	for i, t := range s.Trades {
		trades[i] = map[string]any{"buyer": t.Buyer, "seller": orNull(t.Seller), "price": t.Price}
	}
	return map[string]any{"winner": orNull(s.Winner), "why": s.Why, "price": s.Price, "highest": s.Highest, "bids": s.Bids, "spoiled": s.Spoiled, "tied": protocol.ListOf(s.Tied), "trades": trades}
}

// To gives what was sold to the winner that is known, of those with the highest bid. A double auction
// has no winner, and stays.
func (s *Sale) To(winner string) {
	if s.Winner != "" && winner != "" {
		s.Winner, s.Trades[0].Buyer = winner, winner
	}
}

// offer is a bid that was read. Among equal amounts the lower lot is first.
type offer struct {
	by     string
	amount int64
	lot    uint64
}

// Settle settles bids, one of each agent at most.
func (a *Auction) Settle(bids []Bid, draw protocol.Draw) *Sale {
	s := &Sale{}
	var buyers, sellers []offer
	for _, b := range bids {
		o, side, ok := a.read(b, draw)
		switch {
		case !ok:
			s.Spoiled++
			continue
		case side == sell:
			sellers = append(sellers, o)
		default:
			buyers = append(buyers, o)
		}
		s.Bids++
	}
	order := func(sign int) func(x, y offer) int {
		return func(x, y offer) int {
			return cmp.Or(sign*cmp.Compare(x.amount, y.amount), cmp.Compare(x.lot, y.lot), cmp.Compare(x.by, y.by))
		}
	}
	slices.SortFunc(buyers, order(-1))
	slices.SortFunc(sellers, order(1))
	switch {
	case s.Bids == 0:
		s.Why = NoBids
	case a.Price == Double:
		match(s, buyers, sellers)
	default:
		a.single(s, buyers)
	}
	return s
}

func (a *Auction) read(b Bid, draw protocol.Draw) (o offer, side string, ok bool) {
	fields, _ := b.Value.(map[string]any)
	o.by = b.By
	o.amount, ok = Whole(fields[cmp.Or(a.Amount, "amount")])
	if a.Price == Double {
		side, _ = fields["side"].(string)
		ok = ok && (side == buy || side == sell)
	}
	lot := draw.Sub(protocol.HashString(b.By))
	o.lot = lot.Uint64()
	return o, side, ok
}

// single sells one thing to the first of the buyers.
func (a *Auction) single(s *Sale, buyers []offer) {
	best := buyers[0]
	s.Highest = best.amount
	var tied []string
	for _, o := range buyers {
		if o.amount == best.amount {
			tied = append(tied, o.by)
		}
	}
	if len(tied) > 1 {
		s.Tied = slices.Sorted(slices.Values(tied))
	}
	switch {
	case best.amount < a.Reserve:
		s.Why = Reserve
		return
	case len(tied) > 1 && a.Ties == None:
		s.Why = Tied
		return
	}
	if s.Price = best.amount; a.Price == SecondPrice {
		s.Price = a.Reserve
		if len(buyers) > 1 {
			s.Price = max(s.Price, buyers[1].amount)
		}
	}
	s.Winner, s.Trades = best.by, []Trade{{Buyer: best.by, Price: s.Price}}
}

// match lets as many trade as can: the price lies in the middle between the last buyer and
// the last seller that do, rounded down.
func match(s *Sale, buyers, sellers []offer) {
	n := 0
	for n < min(len(buyers), len(sellers)) && buyers[n].amount >= sellers[n].amount {
		n++
	}
	if n == 0 {
		s.Why = NoMatch
		return
	}
	low, high := sellers[n-1].amount, buyers[n-1].amount
	s.Price = low + (high-low)/2
	for i := range n {
		s.Trades = append(s.Trades, Trade{Buyer: buyers[i].by, Seller: sellers[i].by, Price: s.Price})
	}
}
