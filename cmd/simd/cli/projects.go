package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/plugins"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/plugin"
)

const grantsUsage = "`FILE` with what tools may reach (default: $SIMD_GRANTS, then simd/grants.json of your configuration folder)"

// GrantsFlag is the flag --grants.
func GrantsFlag(f *pflag.FlagSet, file *string) { f.StringVar(file, "grants", "", grantsUsage) }

// SecretsFlag is the flag --secrets.
func SecretsFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "secrets", "", "`FILE` with values that tools may have (mode 0600)")
}

// PluginsFlag is the flag --plugins.
func PluginsFlag(f *pflag.FlagSet, folder *string) {
	f.StringVar(folder, "plugins", "", "folder `DIR` of more plugins that the project may list, beside those in its own plugins/")
}

// ConfigFlags are those by which an operator gives values to options of plugins.
func ConfigFlags(f *pflag.FlagSet, s *plugin.Sources) {
	f.StringVar(&s.File, "plugin-config", "", "`FILE` with values of options of plugins (default: $SIMD_PLUGIN_CONFIG, then simd/plugins.yaml of your configuration folder)")
	f.StringArrayVar(&s.Flags, "set", nil, "give an option of a plugin a value, `KEY=VALUE` = extensions.PLUGIN.OPTION=VALUE; repeat it for more")
}

// CheckSet refuses values of --set that no option of a plugin of the project can have, as faults of the command line.
func CheckSet(s plugin.Sources, p *project.Project) error {
	_, err := plugin.Sources{Flags: s.Flags}.Read(tooling.Manifests(p))
	return Given(err)
}

// LoadProject reads a project folder, or that of a plugin alone.
func LoadProject(dir, more string, stops bool) (*project.Project, error) {
	return plugins.Load(dir, plugins.Loading{Stops: stops, Plugins: more, Version: Version().Version})
}

// Quietly is an error without the warnings of the project, if they are not wanted.
func Quietly(err error, quiet bool) error {
	if e, ok := errors.AsType[*project.Error](err); ok && quiet {
		bare := *e
		bare.Warnings = nil
		return &bare
	}
	return err
}

// AuditFlag is the flag --audit.
func AuditFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "audit", "", "`FILE` in which calls are noted, or off (default: $SIMD_AUDIT, then simd/audit.jsonl of your data folder)")
}

// Validation is the JSON form of what validate found.
type Validation struct {
	Project  string  `json:"project"`
	Sound    bool    `json:"sound"`
	Faults   []Fault `json:"faults"`
	Total    int     `json:"total"` // faults found; the list stops at 200
	Warnings []Fault `json:"warnings"`
}

// Fault is a project.Fault under the names of the JSON form.
type Fault struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Path       string `json:"path,omitempty"` // within the file
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// FaultsOf gives faults of a project their JSON form.
func FaultsOf(list []project.Fault) []Fault {
	out := make([]Fault, len(list))
	for i, f := range list {
		out[i] = Fault(f)
	}
	return out
}

// FaultText is what people read of the faults of a project.
func FaultText(e *project.Error) string {
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
