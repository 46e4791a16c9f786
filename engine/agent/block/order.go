package block

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/protocol"
)

// None says of a step that it waits for no other.
const None = "none"

// Extensions takes x_after and x_timeout off the parameters of a step, but for those that
// its tool declares. The parameters are copied if some are taken.
func Extensions(c *protocol.Call, declares func(name string) bool) (timeout time.Duration, err error) {
	after, isAfter := c.Params["x_after"].(string)
	wait, isWait := c.Params["x_timeout"].(string)
	isAfter, isWait = isAfter && !declares("x_after"), isWait && !declares("x_timeout")
	if !isAfter && !isWait {
		return 0, nil
	}
	params := make(map[string]any, len(c.Params))
	for name, v := range c.Params {
		if !(isAfter && name == "x_after" || isWait && name == "x_timeout") {
			params[name] = v
		}
	}
	c.Params = params
	if isAfter {
		if c.After = strings.TrimSpace(after); c.After == "" {
			c.After = None
		}
	}
	if isWait {
		return readTimeout(strings.TrimSpace(wait))
	}
	return 0, nil
}

func readTimeout(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, protocol.Errorf(protocol.KindInvalid, "x_timeout: %q is no time; want a number of seconds or a duration such as 1m30s", protocol.Short(text, 80))
	}
	return d, nil
}

// after reads what a step says that it waits for: "none", or numbers of steps.
func after(text string) (steps []int, err error) {
	if strings.EqualFold(text, None) {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, protocol.Errorf(protocol.KindInvalid, `x_after: %q; want "none", or numbers of earlier steps such as "1, 2"`, protocol.Short(text, 80))
		}
		steps = append(steps, n)
	}
	return steps, nil
}

// Only is what a step says that it waits for, without the steps that are not among those
// given.
func Only(text string, steps []string) string {
	var kept []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); slices.Contains(steps, part) {
			kept = append(kept, part)
		}
	}
	if kept == nil {
		return None
	}
	return strings.Join(kept, ", ")
}

// Step is a call of a block, for its order.
type Step struct {
	Index  int
	After  string // "" = all before it
	Alone  bool   // it runs beside no other, whatever it says
	Refers []int  // steps that its parameters name
}

// Order says for which steps, by place, each step waits. A step whose After is wrong has
// an error and waits for all before it.
func Order(steps []Step) (waits [][]int, wrong []error) {
	waits, wrong = make([][]int, len(steps)), make([]error, len(steps))
	alone := -1 // the last step that runs alone
	for i := range steps {
		s := &steps[i]
		list, all, err := s.waits(steps[:i])
		if wrong[i] = err; all || err != nil || s.Alone {
			list = nil
			for k := range i {
				list = append(list, k)
			}
		} else if alone >= 0 && !slices.Contains(list, alone) {
			list = append(list, alone)
		}
		slices.Sort(list)
		if waits[i] = list; s.Alone {
			alone = i
		}
	}
	return waits, wrong
}

// waits are the places of the steps that a step names; all = it names none.
func (s *Step) waits(before []Step) (list []int, all bool, err error) {
	if s.After == "" {
		return nil, true, nil
	}
	named, err := after(s.After)
	if err != nil {
		return nil, false, err
	}
	for _, n := range named {
		k := slices.IndexFunc(before, func(o Step) bool { return o.Index == n })
		if k < 0 {
			return nil, false, protocol.Errorf(protocol.KindInvalid, "x_after: step %d does not stand before step %d in the block", n, s.Index)
		}
		list = append(list, k)
	}
	for _, n := range s.Refers {
		if k := slices.IndexFunc(before, func(o Step) bool { return o.Index == n }); k >= 0 && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list, false, nil
}
