package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/cmd/simd/run"
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

// TestEveryViewIsShown: a script of testdata/script or a golden file shows each view of a run.
func TestEveryViewIsShown(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	var shown strings.Builder
	for _, name := range scripts {
		text, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
		shown.Write(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range goldens() {
		shown.WriteString("\ncode 0 simd inspect run " + args)
	}
	for _, name := range views.Names() {
		if !regexp.MustCompile(`(?m)^(code 0|exec) simd inspect \S+ ` + name + `\b`).MatchString(shown.String()) {
			t.Errorf("no script of testdata/script has simd inspect RUN %s: write one whose run has something to show, or a line of goldens (inspect_test.go)", name)
		}
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
	properties := servedParameters(t, "simd_inspect")
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

// servedParameters are those of a tool of simd mcp serve, by name.
func servedParameters(t *testing.T, tool string) map[string]any {
	t.Helper()
	listed := askServed(t, []string{"../../scenes/examples/herbalist", "--runs", t.TempDir()}, "5 tools", "tools/list", "{}").Tools
	i := slices.IndexFunc(listed, func(x map[string]any) bool { return x["name"] == tool })
	return listed[i]["inputSchema"].(map[string]any)["properties"].(map[string]any)
}

// TestMCPServesFlagsOfRuns: clients of simd mcp serve have each flag of simd run, or a line here says why not; and
// docs/cli.md names those that go with --resume.
func TestMCPServesFlagsOfRuns(t *testing.T) {
	unserved := map[string]string{}
	for why, names := range map[string]string{
		"it names a file or folder":       "answers approvals grants orders out plugin-config plugins providers resume secrets store",
		"the operator says it":            "ask ask-timeout batch disk-wait durability keep metrics pprof schedule set snapshot-bytes snapshot-every snapshot-facts",
		"a person is wanted, or a moment": "clock interactive pace paused",
		"the call answers itself":         "estimate json output quiet repeat summary",
		"of --answers":                    "on-miss",
	} {
		for name := range strings.FieldsSeq(names) {
			unserved[name] = why
		}
	}
	served, page := servedParameters(t, "simd_run"), doctest.Page(t, "cli.md")
	_, resumable, _ := strings.Cut(page, "`--resume` accepts only these flags: ")
	resumable, _, _ = strings.Cut(resumable, "Everything else comes")
	commands := commands(newRoot(&cli.Env{}))
	i := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.CommandPath() == "simd run" })
	commands[i].Flags().VisitAll(func(f *pflag.Flag) {
		if why := unserved[f.Name]; f.Name != "help" && (served[f.Name] != nil) == (why != "") {
			t.Errorf("--%s of simd run: simd_run of simd mcp serve has it (runParameters in scenes/run/served/runs.go: %t), or a line of unserved says why not (%q), and not both", f.Name, served[f.Name] != nil, why)
		}
		if slices.Contains(run.Resumable(), f.Name) != strings.Contains(resumable, "`--"+f.Name+"`") {
			t.Errorf("--%s of simd run: Resumable (cmd/simd/run/run_options.go) and the list in docs/cli.md of what goes with --resume differ", f.Name)
		}
	})
}
