package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

// commands are root and all below it that run.
func commands(root *cobra.Command) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		if c.Hidden { // completion, which the library writes
			continue
		}
		if list = append(list, commands(c)...); c.Runnable() {
			list = append(list, c)
		}
	}
	return list
}

// TestBadValuesOfFlags: of every flag that is not text, a value that cannot be
// read says which flag, which value and what was expected, in no words of a
// library.
func TestBadValuesOfFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing runs at once here")
	}
	checked := 0
	for _, c := range commands(newRoot(&cli.Env{Out: io.Discard, Err: io.Discard})) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Value.Type(), "string") && f.Name != "help" {
				checked++
				for _, value := range []string{"x", "", "1.5y", "99999999999999999999", "-99999999999999999999"} {
					refused(t, c, f.Name, value)
				}
			}
		})
	}
	if checked < 50 {
		t.Errorf("%d flags", checked)
	}
}

// No line of a help is wider than a terminal, no last word is alone in one, and none is lost.
func TestHelpIsNarrow(t *testing.T) {
	for _, c := range commands(newRoot(&cli.Env{})) {
		said := &strings.Builder{}
		c.SetOut(said)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		if line := lonely(said.String()); line != "" {
			t.Errorf("%s: its last word is alone: %s", c.CommandPath(), line)
		}
		for line := range strings.Lines(said.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: this example is broken in two lines: %s", c.CommandPath(), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			if usage == "" || !strings.Contains(strings.Join(strings.Fields(said.String()), " "), strings.Join(strings.Fields(usage), " ")) && !f.Hidden {
				t.Errorf("%s: the help lacks what --%s is: %q", c.CommandPath(), f.Name, usage)
			}
		})
	}
	if indent := strings.Repeat(" ", 19); lonely("  -f, --flag int   some words\n"+indent+"end\n\n") == "" || lonely("  -f, --flag int   some words\n"+indent+"long\n"+indent+"the end\n\n") != "" {
		t.Error("a last word alone below a narrow line was not seen, or one in the middle was")
	}
	for page, want := range map[string]string{
		"Usage:\n  x\n": "Usage:\n  x\n",
		strings.Repeat("word ", 20) + "\nand more\n\nnext\n":          strings.TrimRight(strings.Repeat("word ", 16), " ") + "\n" + strings.Repeat("word ", 4) + " and more\n\nnext\n",
		"  -f, --flag int   " + strings.Repeat("word ", 13) + "end\n": "  -f, --flag int   " + strings.TrimRight(strings.Repeat("word ", 12), " ") + "\n" + strings.Repeat(" ", 19) + "word end\n",
		"  -f, --flag int   " + strings.Repeat("word ", 12) + "end\n": "  -f, --flag int   " + strings.TrimRight(strings.Repeat("word ", 11), " ") + "\n" + strings.Repeat(" ", 19) + "word end\n",
		"  " + strings.Repeat("x", 90) + "\n":                         "  " + strings.Repeat("x", 90) + "\n",
		"  agent ID   " + strings.Repeat("word ", 20) + "\n":          "  agent ID   " + strings.TrimRight(strings.Repeat("word ", 13), " ") + "\n" + strings.Repeat(" ", 13) + strings.Repeat("word ", 7) + "\n",
	} {
		if got := narrow(page); got != want {
			t.Errorf("%q\nbecame\n%q, want\n%q", page, got, want)
		}
	}
}

// lonely finds a last word that is alone in a line below one of several words, however narrow that line is; "" = there is none. A
// word is the last one if the line below it is empty or begins in another column.
func lonely(page string) string {
	lines := strings.Split(page, "\n")
	inner := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	for i := 1; i+1 < len(lines); i++ {
		before, word, next := lines[i-1], strings.TrimSpace(lines[i]), lines[i+1]
		last := strings.TrimSpace(next) == "" || inner(next) != inner(lines[i])
		if word != "" && !strings.Contains(word, " ") && !strings.HasPrefix(word, "-") && last && strings.Contains(strings.TrimSpace(before), " ") {
			return before + "\n" + lines[i]
		}
	}
	return ""
}

// TestCommandsOnTheirPage: docs/cli.md has a section for every command, with exactly its flags in the first cells
// of its tables, and names no other flag there.
func TestCommandsOnTheirPage(t *testing.T) {
	page, names := doctest.Page(t, "cli.md"), []string{}
	for _, c := range commands(newRoot(&cli.Env{})) {
		if shows := c.HasSubCommands() && !strings.Contains(c.Use, " "); shows {
			continue // its help
		}
		names = append(names, c.CommandPath())
		_, section, some := strings.Cut(page, "\n## "+c.CommandPath()+"\n")
		if !some {
			t.Errorf("docs/cli.md has no section about %s", c.CommandPath())
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, problem := range flagsOnPage(c.Flags(), section) {
			t.Errorf("docs/cli.md, %s: %s", c.CommandPath(), problem)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (simd .*)$`).FindAllStringSubmatch(page, -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("docs/cli.md: there is no command %s", m[1])
		}
	}
	f := pflag.NewFlagSet("made", pflag.ContinueOnError)
	f.Bool("seen", false, "")
	f.Bool("unseen", false, "")
	if got := flagsOnPage(f, "| `--seen` | is |\nand --unseen, --none"); len(got) != 2 {
		t.Errorf("a flag without a row, and a row without a flag: %q", got)
	}
}

// flagsOnPage finds the flags that no row of a section names, and those that it names and that are none.
func flagsOnPage(f *pflag.FlagSet, section string) (problems []string) {
	flag, known, listed := regexp.MustCompile(`--[a-z][a-z-]*`), []string{"--help"}, []string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(section, -1) {
		listed = append(listed, flag.FindAllString(row[1], -1)...)
	}
	f.VisitAll(func(x *pflag.Flag) {
		known = append(known, "--"+x.Name)
		if !x.Hidden && x.Name != "help" && !slices.Contains(listed, "--"+x.Name) {
			problems = append(problems, "no row of a table has the flag --"+x.Name)
		}
	})
	for _, name := range flag.FindAllString(section, -1) {
		if !slices.Contains(known, name) {
			problems = append(problems, "there is no flag "+name)
		}
	}
	return problems
}

// TestExitCodes: the help of every command ends with its exit codes; 0 and 2 are
// among them, and docs/cli.md explains each.
func TestExitCodes(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands(newRoot(&cli.Env{})) {
		if c.HasSubCommands() && !strings.Contains(c.Use, " ") {
			continue // it shows its help
		}
		_, codes, _ := strings.Cut(c.Long, "\nExit codes: ")
		named := regexp.MustCompile(`(?:^|,\s+)(\d+) `).FindAllStringSubmatch(codes, -1)
		for _, code := range named {
			if !strings.Contains(string(page), "\n| "+code[1]+" | ") {
				t.Errorf("%s: docs/cli.md does not explain the exit code %s", c.CommandPath(), code[1])
			}
		}
		if list := fmt.Sprint(named); !strings.Contains(list, " 0]") || !strings.Contains(list, " 2]") {
			t.Errorf("%s: the help does not end with the exit codes 0, 2 and those of its own: %q", c.CommandPath(), codes)
		}
	}
}

// A command that reads a run directory calls it DIR in Use: damaged knows by that
// which commands tell of simd doctor.
func TestRunDirectoriesAreCalledDIR(t *testing.T) {
	checked := 0
	for _, c := range commands(newRoot(&cli.Env{})) {
		_, wanted, some := strings.Cut(c.Use, " ")
		aRun := some && regexp.MustCompile(`(?i)\bruns?\b`).MatchString(c.Short+" "+wanted)
		if !aRun || c.Name() == "doctor" || strings.Contains(wanted, "PROJECT") || wanted == "[FOLDER]" || wanted == "[FILE]" {
			continue
		}
		if checked++; !damaged(c, protocol.Errorf(protocol.KindCorrupt, "a block")) {
			t.Errorf("%s wants a run directory, and does not tell of simd doctor if it is damaged: call it DIR in Use: %q", c.CommandPath(), c.Use)
		}
	}
	if checked < 5 {
		t.Errorf("%d commands", checked)
	}
}

func refused(t *testing.T, c *cobra.Command, name, value string) {
	t.Helper()
	var errs strings.Builder
	args := append(strings.Fields(c.CommandPath())[1:], "--"+name+"="+value)
	code := execute(context.Background(), args, strings.NewReader(""), io.Discard, &errs)
	line, hint, _ := strings.Cut(errs.String(), "\n")
	if want := "simd: --" + name + ` "` + value + `": want `; code != cli.ExitUsage || !strings.HasPrefix(line, want) || strings.Contains(line, "parsing") || strings.Contains(line, "invalid") {
		t.Errorf("%v: code %d, %s", args, code, line)
	}
	if want := "Run '" + c.CommandPath() + " --help' for usage.\n"; hint != want {
		t.Errorf("%v: hint %q, want %q", args, hint, want)
	}
}

func TestNumbersOutOfReach(t *testing.T) {
	for args, want := range map[string]string{
		"run p --seed -1":                             `--seed "-1": want a whole number from 0 on`,
		"run p --seed 18446744073709551616":           `--seed "18446744073709551616": want a whole number from 0 to 9223372036854775807`,
		"run p --ticks 9223372036854775808":           `--ticks "9223372036854775808": want a whole number from 1 to 9223372036854775807`,
		"run p --snapshot-facts 9223372036854775808":  `--snapshot-facts "9223372036854775808": want a whole number from -9223372036854775808 to 9223372036854775807`,
		"run p --ticks=-3":                            `--ticks -3: want a whole number from 1 on`,
		"run p --agents 0":                            `--agents 0: want a whole number from 1 on`,
		"run p --batch 0":                             `--batch 0: want a whole number from 1 on`,
		"run p --repeat 0":                            `--repeat 0: want a whole number from 1 on`,
		"run p --for 3":                               `--for "3": want a time above 0, for example 90s or 90m`,
		"run p --for=-3s":                             `--for -3s: want a time above 0, for example 90s or 90m`,
		"run p --snapshot-every=-3s":                  `--snapshot-every -3s: want a time from 0 on, for example 90s or 90m`,
		"run p --snapshot-bytes 0":                    `--snapshot-bytes "0": want a size, for example 500MB, 64MiB or 1000000`,
		"run p --disk-wait=-1s":                       `--disk-wait "-1s": want a time, for example 10m, 0 to end at once, or forever`,
		"run p --json=perhaps":                        `--json "perhaps": want true or false`,
		"run p --seed":                                `--seed has no value: want a whole number from 0 on`,
		"fork a b --at 3s --seed=-1":                  `--seed "-1": want a whole number from 0 on`,
		"inspect d --limit=-7":                        `--limit -7: want a whole number from 0 on`,
		"bench deliberation --ticks=0":                `--ticks 0: want a whole number from 1 on`,
		"bench deliberation --agents 5,0":             `--agents 0: want whole numbers from 1 on, with commas between them, for example 10,1000`,
		"bench deliberation --agents 5,x":             `--agents "5,x": want whole numbers from 1 on, with commas between them, for example 10,1000`,
		"bench deliberation --workers=-2 --agents 10": `--workers -2: want a whole number from 0 on`,
		"state apply --now 3":                         `--now "3": want a time, for example 2026-01-01T08:00:00Z`,
	} {
		var errs strings.Builder
		code := execute(context.Background(), strings.Fields(args), strings.NewReader(""), io.Discard, &errs)
		if line, _, _ := strings.Cut(errs.String(), "\n"); code != cli.ExitUsage || line != "simd: "+want {
			t.Errorf("%s: code %d, %s", args, code, line)
		}
	}
}
