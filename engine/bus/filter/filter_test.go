package filter_test

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/bus/filter"
	"tavernsim/protocol"
)

// rooms are places by ordinal; "" = none.
type rooms []string

func (r rooms) PlaceOf(o uint32) string { return r[o] }

func envOf(payload any) *filter.Env {
	return &filter.Env{Event: protocol.NewSharedEvent(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "x", Source: "a"}, Body: protocol.Body{Raw: protocol.Encode(payload)}})}
}

// Promises 1 and 2: what a filter asks about its listener, and whom it names.
func TestShapes(t *testing.T) {
	for text, want := range map[string]struct {
		self, whole bool
		names       filter.Name
	}{
		"payload.n > 1":                                       {},
		"self.profile_id === 'p'":                             {self: true},
		"payload.to === self.instance_id":                     {self: true, whole: true, names: filter.NamesAgent},
		"self.instance_id === payload.to && payload.n > 1":    {self: true, names: filter.NamesAgent},
		"payload.at === self.place":                           {self: true, whole: true, names: filter.NamesPlace},
		"self.place === payload.at && self.instance_id > 'a'": {self: true, names: filter.NamesPlace},
		"payload.at == self.place":                            {self: true},
		"payload.at === self.place || payload.n":              {self: true},
	} {
		f, err := filter.Compile(text, 0)
		if err != nil {
			t.Fatal(text, err)
		}
		if f.Self != want.self || f.Whole != want.whole || f.Names != want.names {
			t.Errorf("%s: self %t, whole %t, names %d; want %+v", text, f.Self, f.Whole, f.Names, want)
		}
	}
}

// The place of a listener is its name, null in none, and undefined without space.
func TestPlace(t *testing.T) {
	at := rooms{"inn", ""}
	for _, c := range []struct {
		text string
		in   filter.Places
		want []bool // by ordinal
	}{
		{"payload.at === self.place", at, []bool{true, false}},
		{"self.place === null", at, []bool{false, true}},
		{"self.place === undefined", at, []bool{false, false}},
		{"self.place === undefined", nil, []bool{true, true}},
		{"'place' in self", nil, []bool{false, false}},
		{"'place' in self", at, []bool{true, true}},
		{"self.instance_id === 'b'", at, []bool{false, true}},
	} {
		f, err := filter.Compile(c.text, 0)
		if err != nil {
			t.Fatal(c.text, err)
		}
		e, got := envOf(map[string]any{"at": "inn"}), []bool{}
		for o, id := range []string{"a", "b"} {
			ok, err := f.Hears(e, &filter.Self{ID: id, Profile: "p"}, c.in, uint32(o))
			if err != nil {
				t.Fatal(c.text, err)
			}
			got = append(got, ok)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.text, got, c.want)
		}
	}
}

// Promise 3: a filter ends by its budget of steps.
func TestSteps(t *testing.T) {
	f, err := filter.Compile("payload.list.some(x => x > 1)", 20)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Repeat([]any{int64(1)}, 1000)
	if _, err := f.Hears(envOf(map[string]any{"list": list}), nil, nil, 0); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	if _, err := filter.Compile("payload.(", 0); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
}
