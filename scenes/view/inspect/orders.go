package inspect

import (
	"tavernsim/engine/order"
	"tavernsim/scenes/history"
)

// OrderLine is one line of the view "orders": as a line of a file of orders, for the wave
// that it was.
type OrderLine struct {
	order.Entry
	at string
}

// Time is when it was carried out, in RFC 3339.
func (o *OrderLine) Time() string { return o.at }

// Orders hands over what somebody outside ordered, in order.
func (s *Scene) Orders(yield func(OrderLine) error) error {
	list, err := history.Orders(s.journal, s.codec)
	if err != nil {
		return err
	}
	for i := range list {
		e, err := order.EntryOf(s.ID, list[i].Wave, list[i].After, list[i].Intervened, list[i].Refused)
		if err == nil {
			err = yield(OrderLine{e, list[i].Time.String()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
