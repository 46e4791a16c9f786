package plugin

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"tavernsim/engine/agent/hook"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Folder of a project that holds its plugins, each in a folder of its own.
const Folder = "plugins"

// Files are the names that a manifest may have.
func Files() []string { return []string{"plugin.yaml", "plugin.yml", "plugin.json", "plugin.jsonc"} }

// Manifest is a file plugins/NAME/plugin.yaml.
type Manifest struct {
	Name           string              `json:"name"`
	SchemaVersion  string              `json:"schema_version,omitempty"`
	DisplayName    string              `json:"displayName,omitempty"`
	Version        string              `json:"version"`
	Description    string              `json:"description,omitempty"`
	Requires       Requires            `json:"requires,omitzero"`
	Dependencies   map[string]string   `json:"dependencies,omitempty"`
	Nodes          *Entry              `json:"nodes,omitempty"`
	Tools          *Entry              `json:"tools,omitempty"`
	MCPServers     *Entry              `json:"mcp_servers,omitempty"`
	Services       map[string]*Service `json:"services,omitempty"`
	Hooks          []Hook              `json:"hooks,omitempty"`
	Overrides      []Override          `json:"overrides,omitempty"`
	ConfigOptions  []Option            `json:"configOptions,omitempty"`
	Permissions    Permissions         `json:"permissions,omitzero"`
	Frontend       *Frontend           `json:"frontend,omitempty"`
	CustomMetadata map[string]any      `json:"custom_metadata,omitempty"`
}

// Requires says which programs can load the plugin.
type Requires struct {
	Simd string `json:"simd,omitempty"`
}

// Entry is where the files of one kind lie.
type Entry struct {
	Entry string `json:"entry"`
}

// Node is a file *.node.yaml of the folder of node kinds: a node that makes one call.
type Node struct {
	Kind           string         `json:"kind"`
	Tool           string         `json:"tool"`
	Description    string         `json:"description,omitempty"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Check finds what is wrong beyond the types and rules of the fields.
func (n *Node) Check() (faults []manifest.Fault) {
	if n.Kind != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`).MatchString(n.Kind) {
		faults = append(faults, manifest.Fault{Steps: at("kind"), Message: fmt.Sprintf("%q is no name of a node kind: want letters, digits and _ . : -, at most 128", protocol.Short(n.Kind, 160))})
	}
	return faults
}

// Service is a program that stays and answers calls and hooks of the plugin.
type Service struct {
	Command     string   `json:"command"`
	Files       []string `json:"files,omitempty"`
	Needs       []string `json:"needs,omitempty"`
	Concurrency int      `json:"concurrency,omitempty"`
	Profile     string   `json:"profile,omitempty"`
	Description string   `json:"description,omitempty"`

	beside manifest.Tool // a script with the same command: it reads the words and keeps the files
}

// Script is the command as that of a tool: what goes with it is found and kept there.
func (s *Service) Script() *manifest.Tool { return &s.beside }

// Hook is a place where a service of the plugin is asked.
type Hook struct {
	Hook     string            `json:"hook"`
	Service  string            `json:"service"`
	Priority int               `json:"priority,omitempty"`
	Timeout  protocol.Duration `json:"timeout,omitempty"`
	Fail     string            `json:"fail"`
}

// What becomes of a call whose hook fails.
const (
	Open   = "open"   // it goes on
	Closed = "closed" // it is denied
)

// The places of hooks.
const (
	BeforeCall       = "tool:before-call"
	AfterCall        = "tool:after-call"
	BeforeExecute    = hook.BeforeExecute
	AfterExecute     = hook.AfterExecute
	BeforeDeliberate = hook.BeforeDeliberate
	SceneStart       = hook.SceneStart
	SceneEnd         = hook.SceneEnd
)

// Hooks are they.
func Hooks() []string {
	return []string{BeforeCall, AfterCall, BeforeExecute, AfterExecute, BeforeDeliberate, SceneStart, SceneEnd}
}

// Permissions are what the plugin asks for beside the needs of its tools.
type Permissions struct {
	Hooks    []string  `json:"hooks,omitempty"`
	UI       UI        `json:"ui,omitzero"`
	Services Overrides `json:"services,omitzero"`
}

// UI is for user interfaces; it is kept and means nothing here.
type UI struct {
	Wrap     []string `json:"wrap,omitempty"`
	Inject   []string `json:"inject,omitempty"`
	Override []string `json:"override,omitempty"`
}

// Overrides are the interfaces of the program that the plugin asks to replace.
type Overrides struct {
	Override []string `json:"override,omitempty"`
}

// Frontend is for user interfaces; it is kept and means nothing here.
type Frontend struct {
	Build Build `json:"build,omitzero"`
}

// Build are the files of a frontend.
type Build struct {
	Entry  string   `json:"entry,omitempty"`
	Styles []string `json:"styles,omitempty"`
}

// Use is how a project lists a plugin.
type Use struct {
	Name    string         `json:"name"`
	Version string         `json:"version,omitempty"`
	Config  map[string]any `json:"config,omitempty"`
}

// MaxPlugins bounds the plugins of one project.
const MaxPlugins = 1000

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	const man, conf, sec, ext = "001 §6.2", "001 §6.4", "001 §9", "001 §7"
	return source.Rules{
		"plugin.Manifest.name":            {Required: true, Section: man, Doc: "Names the plugin, and its folder: letters and digits, with single `_` or `-` between them, at most 64 characters."},
		"plugin.Manifest.schema_version":  {Section: man, Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"plugin.Manifest.displayName":     {Section: man, Doc: "Name for people, at most 4,096 bytes, without control characters."},
		"plugin.Manifest.version":         {Required: true, Section: man, Doc: "Semantic version of the plugin, such as 1.0.0."},
		"plugin.Manifest.description":     {Section: man, Doc: "What the plugin is for; at most 4,096 bytes, without control characters."},
		"plugin.Manifest.requires":        {Section: man, Doc: "What can load it."},
		"plugin.Manifest.dependencies":    {Section: man, MaxItems: 100, Doc: "Other plugins that it needs, with the versions that do, such as `^1.2` or `>=1.2 <3`. The project lists them, too."},
		"plugin.Manifest.nodes":           {Section: "001 §4.1.2", Doc: "[Node kinds](#node). Default: the folder `nodes`."},
		"plugin.Manifest.tools":           {Section: man, Doc: "Tools. Default: the folder `tools`."},
		"plugin.Manifest.mcp_servers":     {Section: "001 §4.3", Doc: "MCP servers. Default: the folder `mcp`."},
		"plugin.Manifest.services":        {Section: "001 §4.2", MaxItems: 100, Doc: "Programs that stay and answer calls, by name."},
		"plugin.Manifest.hooks":           {Section: ext + ".2", MaxItems: 100, Doc: "Where services of the plugin are asked."},
		"plugin.Manifest.overrides":       {Section: ext + ".3", MaxItems: 20, Doc: "Parts of the program that services of the plugin [replace](#override)."},
		"plugin.Manifest.configOptions":   {Section: conf, MaxItems: 200, Doc: "Its [options](#option)."},
		"plugin.Manifest.permissions":     {Section: sec, Doc: "What it asks for beside the `needs` of its tools."},
		"plugin.Manifest.frontend":        {Section: man, Doc: "For user interfaces: kept, and without a meaning here."},
		"plugin.Manifest.custom_metadata": {Section: man, Doc: "For your own use; simd does not check it."},

		"plugin.Requires.simd": {Section: man, Doc: "Versions of simd, such as `>=0.5 <1`. A simd that was built without a version takes all."},
		"plugin.Entry.entry":   {Required: true, Section: man, Doc: "A folder of the plugin, such as `./tools`."},

		"plugin.Node.kind":            {Required: true, Section: "001 §4.1.2", Doc: "The `type` of such a node in workflows, such as `tides:next`; no other kind has it."},
		"plugin.Node.tool":            {Required: true, Section: "001 §4.1.2", Doc: "The tool that it calls, by exact id. The parameters of the tool are the inputs of the node, and `result` and `status` its outputs."},
		"plugin.Node.description":     {Section: "001 §4.1.2", Doc: "For people."},
		"plugin.Node.custom_metadata": {Section: "001 §4.1.2", Doc: "For your own use; simd does not check it."},

		"plugin.Service.command":     {Required: true, Section: "001 §4.2", Doc: "A program and its arguments, in words as a shell reads them."},
		"plugin.Service.files":       {Section: "001 §4.2", MaxItems: 256, Doc: "More files or folders of the plugin that go with it."},
		"plugin.Service.needs":       {Section: sec, MaxItems: 64, Doc: "`net:HOST:PORT` names a server that the program [may reach](../sandbox.md#network), once it is [granted](grants.md). `exec`: the program runs only if it is granted."},
		"plugin.Service.concurrency": manifest.ConcurrencyRule(),
		"plugin.Service.profile":     {Section: sec, Enum: []string{"strict"}, Default: "strict", Doc: "The profile of the [sandbox](../sandbox.md)."},
		"plugin.Service.description": {Section: "001 §4.2", Doc: "For people."},

		"plugin.Hook.hook":     {Required: true, Section: ext + ".2", Enum: Hooks(), Doc: "When the service is asked."},
		"plugin.Hook.service":  {Required: true, Section: ext + ".2", Doc: "One of the services of the plugin."},
		"plugin.Hook.priority": {Section: ext + ".2", Range: &source.Range{Min: -1000, Max: 1000}, Default: int64(0), Doc: "Hooks of higher priority are asked first, then by the name of the plugin."},
		"plugin.Hook.timeout":  {Section: ext + ".2", Range: &source.Range{Max: 60, Open: true}, Default: "100ms", Doc: "How long the answer may take."},
		"plugin.Hook.fail":     {Required: true, Section: ext + ".2", Enum: []string{Open, Closed}, Doc: "What becomes of the act if the hook fails: it goes on, or is denied. Of `scene:start` and `scene:end` it is `open`."},

		"plugin.Override.interface": {Required: true, Section: ext + ".3", Doc: "What is replaced: `model`, `embedder`, `approver`, `secret_store`, or `executor:` and a type of tools (`http`, `script`, `mcp`)."},
		"plugin.Override.service":   {Required: true, Section: ext + ".3", Doc: "One of the services of the plugin."},
		"plugin.Override.price":     {Section: ext + ".3", Doc: "Of `model` and `embedder`: what their answers cost. Without it a [budget](scene.md#budget) in dollars lets no request leave."},
		"plugin.Price.input":        {Required: true, Section: ext + ".3", Range: &source.Range{Max: maxPrice}, Doc: "Dollars for a million tokens of questions; 0 = nothing."},
		"plugin.Price.output":       {Required: true, Section: ext + ".3", Range: &source.Range{Max: maxPrice}, Doc: "Dollars for a million tokens of answers."},

		"plugin.Permissions.hooks":    {Section: man, MaxItems: 100, Doc: "`hook:NAME` for each of its hooks. What begins with `hook:client:` is for user interfaces."},
		"plugin.Permissions.ui":       {Section: man, Doc: "For user interfaces: kept, and without a meaning here."},
		"plugin.Permissions.services": {Section: man, Doc: "Services of the program."},
		"plugin.UI.wrap":              {Section: man, MaxItems: 1000, Doc: "Components."},
		"plugin.UI.inject":            {Section: man, MaxItems: 1000, Doc: "Places."},
		"plugin.UI.override":          {Section: ext + ".3", MaxItems: 1000, Doc: "Components."},
		"plugin.Overrides.override":   {Section: ext + ".3", MaxItems: 100, Doc: "The interfaces that its `overrides` name, for whoever reviews the plugin."},

		"plugin.Frontend.build": {Section: man, Doc: "Its files."},
		"plugin.Build.entry":    {Section: man, Doc: "A script."},
		"plugin.Build.styles":   {Section: man, MaxItems: 1000, Doc: "Style sheets."},

		"plugin.Option.key":         {Required: true, Section: conf, Doc: "`extensions.PLUGIN.OPTION`; an option has letters and digits, with single `_` between them, begins with a letter, and has at most 64 characters."},
		"plugin.Option.type":        {Required: true, Section: conf, Enum: []string{"string", "integer", "number", "boolean"}, Doc: "Type of the value."},
		"plugin.Option.displayName": {Section: conf, Doc: "Name for people."},
		"plugin.Option.description": {Section: conf, Doc: "What it does."},
		"plugin.Option.default":     {Section: conf, Doc: "The value if nobody gives one. Without it, and without a value, the option is not set."},
		"plugin.Option.min":         {Section: conf, Doc: "Of a number: the smallest. Of a text: how many characters it has at least."},
		"plugin.Option.max":         {Section: conf, Doc: "Of a number: the largest. Of a text: how many characters it has at most."},
		"plugin.Option.enum":        {Section: conf, MaxItems: 1000, Doc: "The values that it may have."},
		"plugin.Option.secret":      {Section: conf, Default: false, Doc: "Only the operator gives the value, and it is taken out of what tools answer."},

		"plugin.Use.name":    {Required: true, Section: man, Doc: "The plugin: a folder of `plugins/`."},
		"plugin.Use.version": {Section: man, Doc: "The versions that do, such as `^1.2`. Default: any."},
		"plugin.Use.config":  {Section: conf, MaxItems: 200, Doc: "Values of its options, by their names."},
	}
}

type checker struct {
	m      *Manifest
	name   string // that of the folder, which is right if the manifest says another
	faults []manifest.Fault
}

func (c *checker) fault(steps []string, suggestion, format string, args ...any) {
	c.faults = append(c.faults, manifest.Fault{Steps: steps, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func at(steps ...string) []string { return steps }

// Check finds what is wrong beyond the types and rules of the fields. folder is the name of
// the folder; program is the version of simd, "" = it has none.
func (m *Manifest) Check(folder, program string) []manifest.Fault {
	c := &checker{m: m, name: cmp.Or(folder, m.Name)}
	c.names(folder)
	c.versions(program)
	for _, e := range []struct {
		field string
		entry *Entry
	}{{"nodes", m.Nodes}, {"tools", m.Tools}, {"mcp_servers", m.MCPServers}} {
		if e.entry != nil && e.entry.Entry != "" && folderOf(e.entry) == "" {
			c.fault(at(e.field, "entry"), "write ./"+e.field, "%q is no folder of the plugin", protocol.Short(e.entry.Entry, 80))
		}
	}
	c.services()
	c.hooks()
	c.permissions()
	for i := range m.ConfigOptions {
		c.option(i)
	}
	c.overrides()
	c.faults = append(append(c.faults, manifest.Text(m.DisplayName, "displayName")...), manifest.Text(m.Description, "description")...)
	return c.faults
}

// IsName reports whether a text can name a plugin, or a service of one. A variable of the
// environment names plugin and option with two underscores between them: neither has two in a
// row, nor one at an end.
func IsName(s string) bool {
	return len(s) <= maxName && regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`).MatchString(s)
}

// isOption is IsName for options.
func isOption(s string) bool {
	return len(s) <= maxName && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$`).MatchString(s)
}

const maxName = 64

// NameRule is what IsName asks for.
const NameRule = "letters and digits, with single _ or - between them, at most 64 characters"

func (c *checker) names(folder string) {
	m := c.m
	switch {
	case m.Name == "": // reported as missing
	case !IsName(m.Name):
		c.fault(at("name"), "", "the name %q is none: want "+NameRule, protocol.Short(m.Name, 80))
	case folder != "" && m.Name != folder:
		c.fault(at("name"), "rename one of them", "the plugin %s lies in a folder %s", m.Name, protocol.Short(folder, 80))
	}
}

func (c *checker) versions(program string) {
	m := c.m
	if m.Version != "" {
		if _, err := semver.StrictNewVersion(m.Version); err != nil {
			c.fault(at("version"), "", "%q is no semantic version; want major.minor.patch", protocol.Short(m.Version, 80))
		}
	}
	if m.Requires.Simd != "" {
		if ok, err := Fits(m.Requires.Simd, program); err != nil {
			c.fault(at("requires", "simd"), "", "%s", err)
		} else if !ok {
			c.fault(at("requires", "simd"), "", "this is simd %s", program)
		}
	}
	for _, name := range protocol.SortedKeys(m.Dependencies) {
		switch _, err := Fits(m.Dependencies[name], ""); {
		case !IsName(name) || name == m.Name:
			c.fault(at("dependencies", name), "", "%q is no other plugin", protocol.Short(name, 80))
		case err != nil:
			c.fault(at("dependencies", name), "", "%s", err)
		}
	}
}

// Fits reports whether a version is one of those that a constraint names. A version that is
// none, such as that of a program that was built without one, fits all.
func Fits(constraint, version string) (bool, error) {
	want, err := semver.NewConstraint(constraint)
	if err != nil {
		return false, fmt.Errorf("%q names no versions; want something like ^1.2 or >=1.2 <3", protocol.Short(constraint, 80))
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return true, nil
	}
	want.IncludePrerelease = true // a build between two releases
	return want.Check(v), nil
}

// folderOf is the folder of an entry; "" = it is none.
func folderOf(e *Entry) string {
	clean := path.Clean(e.Entry)
	if strings.ContainsAny(e.Entry, "\\:\x00") || !fs.ValidPath(clean) || clean == "." || strings.HasPrefix(path.Base(clean), ".") {
		return ""
	}
	return clean
}

// In is the folder of a field of the manifest, or the default.
func In(e *Entry, otherwise string) string {
	if e == nil || folderOf(e) == "" {
		return otherwise
	}
	return folderOf(e)
}

func (c *checker) services() {
	for _, name := range protocol.SortedKeys(c.m.Services) {
		s := c.m.Services[name]
		if s == nil {
			continue // reported
		}
		if !IsName(name) {
			c.fault(at("services", name), "", "%q is no name of a service: want "+NameRule, protocol.Short(name, 80))
		}
		s.beside = manifest.Tool{Implementation: manifest.Implementation{Type: manifest.Script, Command: s.Command, Files: s.Files}, Needs: s.Needs}
		for _, f := range manifest.CheckServers(s.Needs) {
			c.fault(append(at("services", name), f.Steps...), f.Suggestion, "%s", f.Message)
		}
		if problem := manifest.Unsplit(s.Command); problem != "" && s.Command != "" {
			c.fault(at("services", name, "command"), "no shell reads the command; put the rest into a file and name it", "%s", problem)
		}
	}
}

func (c *checker) hooks() {
	for i := range c.m.Hooks {
		h := &c.m.Hooks[i]
		if c.m.Services[h.Service] == nil && h.Service != "" {
			c.fault(at("hooks", strconv.Itoa(i), "service"), source.Suggest(h.Service, protocol.SortedKeys(c.m.Services)), "the plugin has no service %q", protocol.Short(h.Service, 80))
		}
		if slices.Contains(Hooks(), h.Hook) && !slices.Contains(c.m.Permissions.Hooks, permission+h.Hook) {
			c.fault(at("hooks", strconv.Itoa(i), "hook"), "add "+permission+h.Hook+" to permissions.hooks", "the plugin does not ask for this hook")
		}
		if h.Fail == Closed && (h.Hook == SceneStart || h.Hook == SceneEnd) {
			c.fault(at("hooks", strconv.Itoa(i), "fail"), "write "+Open, "%s only tells the service; nothing waits for its leave", h.Hook)
		}
	}
}

const (
	permission = "hook:"        // begins a permission for a hook
	ofClients  = "hook:client:" // of a user interface
)

func (c *checker) permissions() {
	for i, p := range c.m.Permissions.Hooks {
		name, ok := strings.CutPrefix(p, permission)
		switch {
		case strings.HasPrefix(p, ofClients):
		case !ok || !slices.Contains(Hooks(), name):
			c.fault(at("permissions", "hooks", strconv.Itoa(i)), "", "%q is no hook; want %sNAME with one of %s, or %sNAME", protocol.Short(p, 80), permission, strings.Join(Hooks(), ", "), ofClients)
		}
	}
}

// Asks are the permissions that the plugin itself asks an operator for: its hooks, what it
// replaces, and secrets among its options.
func (m *Manifest) Asks() (list []string) {
	for i := range m.Overrides {
		list = append(list, override+m.Overrides[i].Interface)
	}
	for i := range m.Hooks {
		list = append(list, permission+m.Hooks[i].Hook)
	}
	for _, name := range m.Secrets() {
		list = append(list, "config:"+name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
