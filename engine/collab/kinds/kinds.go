// Package kinds makes node kinds of workflows out of the rules of package collab
// (docs/formats/workflow.md): collab:Tally, collab:Auction and collab:Assign.
package kinds

import (
	"tavernsim/engine/collab"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Add adds the kinds to others.
func Add(kinds workflow.Kinds) workflow.Kinds {
	kinds["collab:Tally"] = workflow.KindFunc(tally)
	kinds["collab:Auction"] = workflow.KindFunc(auction)
	kinds["collab:Assign"] = workflow.KindFunc(assign)
	return kinds
}

func report(s *workflow.Setup, faults []collab.Fault) {
	for _, f := range faults {
		s.Faultf(f.Field, f.Hint, "%s", f.Message)
	}
}

// share reads a number from 0 to 1.
func share(s *workflow.Setup, field string) float64 {
	v := s.Number(field, 0)
	if !(v >= 0 && v <= 1) {
		s.Faultf(field, "", "%v: want 0 to 1", v)
	}
	return v
}

func tally(s *workflow.Setup) workflow.Body {
	ballots := s.In(workflow.In{Name: "ballots", Type: workflow.Array, Required: true})
	asked := s.In(workflow.In{Name: "asked", Type: workflow.Integer, Default: int64(0)})
	v := &collab.Voting{
		Method: s.OneOf("method", collab.Methods()...), Options: s.Texts("options"), Quorum: share(s, "quorum"), Majority: share(s, "majority"), Ties: s.OneOf("ties", collab.Ties()...),
	}
	report(s, v.Faults())
	winner, result := s.Out("winner", workflow.String), s.Out("result", workflow.Object)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		n, _ := protocol.Number(x.In(asked))
		t := v.Count(x.List(ballots), int(n), x.Draw())
		x.Set(result, t.Value())
		if t.Winner != "" {
			x.Set(winner, t.Winner)
		}
		return nil
	})
}

func auction(s *workflow.Setup) workflow.Body {
	bids := s.In(workflow.In{Name: "bids", Type: workflow.Array, Required: true})
	a := &collab.Auction{Price: s.OneOf("price", collab.Prices()...), Amount: s.Text("amount", "amount"), Ties: s.OneOf("ties", collab.Ties()...)}
	reserve := s.Number("reserve", 0)
	if a.Reserve = int64(reserve); reserve < 0 || float64(a.Reserve) != reserve {
		s.Faultf("reserve", "", "%v: want a whole number from 0", reserve)
	}
	report(s, a.Faults())
	winner, price, result := s.Out("winner", workflow.String), s.Out("price", workflow.Integer), s.Out("result", workflow.Object)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		var list []collab.Bid
		seen := map[string]bool{}
		for i, e := range x.List(bids) {
			fields, _ := e.(map[string]any)
			by, _ := fields["by"].(string)
			if by == "" || seen[by] {
				return protocol.Errorf(protocol.KindInvalid, "bids[%d].by %q: want the name of who bids, each once", i, by)
			}
			seen[by] = true
			list = append(list, collab.Bid{By: by, Value: e})
		}
		sale := a.Settle(list, x.Draw())
		x.Set(result, sale.Value())
		if len(sale.Trades) > 0 {
			x.Set(price, sale.Price)
		}
		if sale.Winner != "" {
			x.Set(winner, sale.Winner)
		}
		return nil
	})
}

func assign(s *workflow.Setup) workflow.Body {
	in := s.In(workflow.In{Name: "costs", Type: workflow.Array, Required: true})
	columns, total := s.Out("columns", workflow.Array), s.Out("total", workflow.Integer)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		costs, err := matrix(x.List(in))
		if err != nil {
			return err
		}
		found, sum, err := collab.Assign(costs)
		if err != nil {
			return err
		}
		list := make([]any, len(found))
		for i, j := range found {
			if j >= 0 {
				list[i] = int64(j)
			}
		}
		x.Set(columns, list)
		x.Set(total, sum)
		return nil
	})
}

// matrix reads rows of whole numbers.
func matrix(rows []any) ([][]int64, error) {
	costs := make([][]int64, len(rows))
	for i, row := range rows {
		list, _ := row.([]any)
		for j, v := range list {
			n, ok := collab.Whole(v)
			if !ok {
				return nil, protocol.Errorf(protocol.KindInvalid, "costs[%d][%d]: want a whole number", i, j)
			}
			costs[i] = append(costs[i], n)
		}
	}
	return costs, nil
}
