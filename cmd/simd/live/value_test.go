package live

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/panel"
)

// Whole numbers that a person gives are exact, also above 2^53.
func TestNumbersAreExact(t *testing.T) {
	const big = "9007199254740993"
	o := orderOptions{do: []string{`{"world": {"path": "x", "value": ` + big + `}}`}}
	list, err := o.orders(nil, nil)
	if err != nil || !strings.Contains(fmt.Sprint(list), big) {
		t.Errorf("--do: %v, %v", list, err)
	}
	q := &panel.Asked{}
	for line, want := range map[string]string{big: big, "/call pay {\"sum\": " + big + "}": big, "/event paid " + big: big} {
		v, _, _, err := actOf(q, line)
		if err != nil || !strings.Contains(fmt.Sprint(v), want) {
			t.Errorf("%s: %v, %v", line, v, err)
		}
	}
	if v, err := valueOf("[" + big + "]"); err != nil || fmt.Sprint(v) != "["+big+"]" {
		t.Errorf("%v, %v", v, err)
	}
}
