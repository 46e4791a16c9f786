package audit_test

import (
	"fmt"
	"slices"
	"testing"

	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
)

// Specification 003: the tags of a state command are for audit and search.
func TestTags(t *testing.T) {
	s := runOf(t, "testdata/tags.txtar", "", runner.Options{})
	for _, c := range []struct {
		q    audit.Query
		want []string
	}{
		{audit.Query{Tags: []string{"sale"}}, []string{"world.till applied [sale cash]", "world.till rejected [sale]"}},
		{audit.Query{Tags: []string{"opening"}}, []string{"world.open applied [opening]"}},
		{audit.Query{Tags: []string{"opening", "cash"}}, []string{"world.till applied [sale cash]", "world.open applied [opening]", "self.sold applied [cash]"}},
		{audit.Query{Tags: []string{"cash"}, Path: "sold"}, []string{"self.sold applied [cash]"}},
		{audit.Query{Tags: []string{"cash"}, What: []string{inspect.WhatCall}}, nil},
		{audit.Query{Tags: []string{"sal"}}, nil},
		{audit.Query{What: []string{inspect.WhatCommand}, Path: "plain"}, []string{"world.plain applied []"}},
	} {
		var got []string
		for _, c := range list(t, s, c.q) {
			got = append(got, fmt.Sprint(c.Path, " ", c.Status, " ", c.Tags))
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v gave %q, want %q", c.q, got, c.want)
		}
	}
}
