package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/cmd/simd/views"
	"tavernsim/internal/doctest"
)

// TestViewsOnTheirPages: each view is in the table of the command and has a section, and the page
// says of each flag which views take it, as the help does.
func TestViewsOnTheirPages(t *testing.T) {
	commands, pages := doctest.Page(t, "cli.md"), doctest.Page(t, "formats/inspect.md")
	for _, name := range views.Names() {
		if row := regexp.MustCompile(`(?m)^\| \[?` + name + `[] |]`); !row.MatchString(commands) {
			t.Errorf("docs/cli.md: the views of simd inspect lack %s", name)
		}
		if !strings.Contains(pages, "\n## simd inspect DIR "+name) {
			t.Errorf("docs/formats/inspect.md has no section of the view %s", name)
		}
	}
	_, section, _ := strings.Cut(commands, "\n## simd inspect\n")
	section, _, _ = strings.Cut(section, "\n## ")
	said := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`--.*?) \\| (.*?) \\| ").FindAllStringSubmatch(section, -1) {
		for _, flag := range regexp.MustCompile(`--([a-z]+)`).FindAllStringSubmatch(row[1], -1) {
			said[flag[1]] = append(said[flag[1]], strings.Split(row[2], ", ")...)
		}
	}
	for name, taken := range viewsOfFlags(t) {
		got := said[name]
		slices.Sort(got)
		if slices.Sort(taken); !slices.Equal(got, taken) {
			t.Errorf("docs/cli.md: --%s of simd inspect applies to %v, the page says %v", name, taken, got)
		}
	}
	lists := strings.Join(viewsOfFlags(t)["limit"], ", ")
	if !strings.Contains(pages, "Views that are lists ("+lists+")") {
		t.Errorf("docs/formats/inspect.md: views that are lists, which have --limit, are %s", lists)
	}
}

// viewsOfFlags are the views that take each flag of simd inspect, as its help names them.
func viewsOfFlags(t *testing.T) map[string][]string {
	t.Helper()
	taken := map[string][]string{}
	views.NewInspect(&cli.Env{}).Flags().VisitAll(func(f *pflag.Flag) {
		if i := strings.LastIndex(f.Usage, " ("); i >= 0 {
			taken[f.Name] = strings.Split(strings.TrimSuffix(f.Usage[i+2:], ")"), ", ")
		} else {
			taken[f.Name] = []string{"all"}
		}
	})
	return taken
}

// TestMCPServesEveryView: clients of simd mcp serve have each view and each flag of simd inspect, or a
// line here says why not.
func TestMCPServesEveryView(t *testing.T) {
	unserved := map[string]string{
		"artifact": "bytes of a file are no JSON", "orders": "a file of orders has secrets in it",
		"--json": "it is always given", "--quiet": "it is always given", "--against": "it names a file", "--follow": "a call ends",
		"--redeliver": "it writes", "--again": "of --redeliver", "--target": "another name of --receiver",
	}
	listed := askServed(t, []string{"../../scenes/examples/herbalist", "--runs", t.TempDir()}, "5 tools", "tools/list", "{}").Tools
	i := slices.IndexFunc(listed, func(x map[string]any) bool { return x["name"] == "simd_inspect" })
	properties := listed[i]["inputSchema"].(map[string]any)["properties"].(map[string]any)
	served := map[string]bool{}
	for _, name := range properties["view"].(map[string]any)["enum"].([]any) {
		served[name.(string)] = true
	}
	for name := range properties {
		served["--"+name] = true
	}
	all := views.Names()
	for name := range maps.Keys(viewsOfFlags(t)) {
		all = append(all, "--"+name)
	}
	for _, name := range slices.Sorted(slices.Values(all)) {
		if why := unserved[name]; served[name] == (why != "") {
			t.Errorf("%s of simd inspect: simd_inspect of simd mcp serve has it (scenes/run/served/runs.go: %t), or a line of unserved says why not (%q), and not both", name, served[name], why)
		}
	}
}
