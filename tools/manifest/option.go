package manifest

import (
	"slices"

	"tavernsim/tools/manifest/places"
)

// Options are the names of the options in headers, query and body of an http tool, and in
// its url, where none can stand.
func (t *Tool) Options() (names []string) {
	x := &t.Implementation
	for _, v := range []any{x.Headers, x.Query, x.Body} {
		places.Rewrite(v, func(text string) string {
			names = append(names, places.Option.Names(text)...)
			return text
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Configured is the tool with values in the places of options; those that have none are
// empty. It is t itself if there are no such places. secret are the names of options that are
// secret.
func (t *Tool) Configured(values map[string]string, secret []string) *Tool {
	options := t.Options()
	if len(options) == 0 {
		return t
	}
	made := *t
	made.secretOption = slices.ContainsFunc(options, func(name string) bool { return slices.Contains(secret, name) })
	x := &made.Implementation
	fill := func(text string) string { return places.Option.Fill(text, values) }
	x.Headers, _ = places.Rewrite(x.Headers, fill).(map[string]any)
	x.Query, _ = places.Rewrite(x.Query, fill).(map[string]any)
	x.Body = places.Rewrite(x.Body, fill)
	(&checker{tool: &made}).http() // it was checked
	return &made
}
