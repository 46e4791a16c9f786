package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/plugins"
)

func newValidate(e *env) *cobra.Command {
	var asJSON bool
	var more string
	c := &cobra.Command{
		Use:   "validate PROJECT",
		Short: "Check a project folder and list every fault",
		Long: `Check every definition of a project: syntax, fields, references, workflows,
expressions, schemas, initial states. Every fault is listed with file, line and
a suggestion.

Exit codes: 0 sound, 2 usage, 3 faults, 4 not found.`,
		Example: "  simd validate my-project\n  simd validate my-project --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return validate(e, args[0], more, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {project, faults, warnings} as JSON")
	pluginsFlag(c.Flags(), &more)
	return c
}

// validation is the JSON form of what validate found.
type validation struct {
	Project  string  `json:"project"`
	Sound    bool    `json:"sound"`
	Faults   []fault `json:"faults"`
	Total    int     `json:"total"` // faults found; the list stops at 200
	Warnings []fault `json:"warnings"`
}

// fault is a project.Fault under the names of the JSON form.
type fault struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Path       string `json:"path,omitempty"` // within the file
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

func faultsOf(list []project.Fault) []fault {
	out := make([]fault, len(list))
	for i, f := range list {
		out[i] = fault(f)
	}
	return out
}

func validate(e *env, dir, more string, asJSON bool) error {
	p, err := loadProject(dir, more, false)
	if err == nil {
		err = plugins.Broken(p)
	}
	v := validation{Project: dir, Sound: err == nil, Faults: []fault{}, Warnings: []fault{}}
	var faults *project.Error
	switch {
	case errors.As(err, &faults):
		v.Faults, v.Total, v.Warnings = faultsOf(faults.Faults), faults.Total, faultsOf(faults.Warnings)
	case err != nil:
		return err
	default:
		v.Warnings = faultsOf(p.Warnings)
	}
	if asJSON {
		if err := show.JSON(e.out, v); err != nil {
			return err
		}
	} else if v.Sound {
		for _, w := range p.Warnings {
			fmt.Fprintf(e.err, "warning: %s\n", w)
		}
		fmt.Fprintf(e.out, "%s is sound: %s, %s, %s, %s\n", dir, terminal.Plural(len(p.SceneIDs()), "scene"),
			terminal.Plural(len(p.ProfileIDs()), "profile"), terminal.Plural(len(p.WorkflowIDs()), "workflow"), terminal.Plural(len(p.KnowledgeBaseIDs()), "knowledge base"))
	}
	if v.Sound {
		return nil
	}
	if asJSON {
		return &exit{code: exitInvalid}
	}
	return err
}

func faultText(e *project.Error) string {
	var b strings.Builder
	for _, w := range e.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, f := range e.Faults {
		fmt.Fprintln(&b, f)
	}
	if more := e.Total - len(e.Faults); more > 0 {
		fmt.Fprintf(&b, "… and %d more\n", more)
	}
	fmt.Fprintf(&b, "%s; nothing was run", terminal.Plural(e.Total, "fault"))
	return b.String()
}
