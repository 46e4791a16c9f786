package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Tool is a file *.tool.yaml or *.tool.json.
type Tool struct {
	ID             string           `json:"id"`
	SchemaVersion  string           `json:"schema_version,omitempty"`
	DisplayName    string           `json:"displayName,omitempty"`
	Description    string           `json:"description,omitempty"`
	Examples       []map[string]any `json:"examples,omitempty"` // parameters of calls
	Observe        string           `json:"observe,omitempty"`
	Parameters     map[string]any   `json:"parameters,omitempty"`
	OutputSchema   map[string]any   `json:"outputSchema,omitempty"`
	Implementation Implementation   `json:"implementation"`
	Execution      Execution        `json:"execution,omitzero"`
	Needs          []string         `json:"needs,omitempty"`
	Cost           float64          `json:"cost,omitempty"` // dollars a call
	Limits         Limits           `json:"limits,omitzero"`
	CustomMetadata map[string]any   `json:"custom_metadata,omitempty"`

	http      *request // of an http tool, after Check
	files     []File   // of a script
	ownSchema bool     // the file has parameters
	made      bool     // out of a pin: no file defines it

	secretOption bool // a secret option of its plugin is in its request
}

// Limits bound what becomes of an answer, in bytes; 0 = what all tools have.
type Limits struct {
	Output   int `json:"output,omitempty"`
	Artifact int `json:"artifact,omitempty"`
}

// Implementation says what carries the tool out. Which fields belong to which type,
// Check knows.
type Implementation struct {
	Type      string         `json:"type"`
	Method    string         `json:"method,omitempty"` // of http: default GET; of service
	URL       string         `json:"url,omitempty"`
	Query     map[string]any `json:"query,omitempty"`
	Headers   map[string]any `json:"headers,omitempty"`
	Body      any            `json:"body,omitempty"`
	Name      string         `json:"name,omitempty"`    // of a service
	ID        string         `json:"id,omitempty"`      // of a workflow
	Kind      string         `json:"kind,omitempty"`    // of a node
	Config    map[string]any `json:"config,omitempty"`  // of a node
	Command   string         `json:"command,omitempty"` // of a script
	Files     []string       `json:"files,omitempty"`
	Languages []string       `json:"languages,omitempty"` // of code
	Server    string         `json:"server,omitempty"`    // of mcp
	Tool      string         `json:"tool,omitempty"`      // of mcp
}

// Modes of execution.
const (
	Sync  = "sync"
	Async = "async"
)

// What the agent observes of calls.
const (
	Always   = "always"
	Failures = "failures"
)

// Execution says how calls are carried out.
type Execution struct {
	Mode        string            `json:"mode,omitempty"`
	Repeat      Repeat            `json:"repeat,omitempty"`
	Timeout     protocol.Duration `json:"timeout,omitempty"`
	Concurrency int               `json:"concurrency,omitempty"`
	Rate        int               `json:"rate,omitempty"`
	Latency     string            `json:"latency,omitempty"`
	Parallel    bool              `json:"parallel,omitempty"`
}

// Repeat says whether a call may be made a second time if the outcome of the first is
// not known.
type Repeat string

const (
	Free  Repeat = "free"   // yes: it reads, or computes
	ByKey Repeat = "by_key" // yes: it does its work once for each idempotency key
	Never Repeat = "never"
)

// Defaults, and bounds.
const (
	DefaultTimeout     = 30 * time.Second
	MaxTimeout         = 60 * time.Second
	DefaultTaskTimeout = 10 * time.Minute
	MaxTaskTimeout     = 24 * time.Hour
	DefaultConcurrency = 8
	maxDescription     = 4096 // bytes
	maxExamples        = 8
	maxExample         = 1024 // bytes
	maxOutput          = 32 << 10
	maxArtifact        = 64 << 20

	// Measured is the latency of a tool whose answers take as long in the scene as in fact.
	Measured = "measured"
)

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	const tool, kinds, traits = "001 §6.3", "001 §4", "000 §3.2"
	rules := source.Rules{
		"manifest.Tool.id":              {Required: true, Section: tool, Doc: "Names the tool in calls and inventories: letters, digits and `_ . : / -`, at most 128 characters. Ids that differ only in case, punctuation and form (full-width letters) are one; those of the tools that come with the program are taken."},
		"manifest.Tool.schema_version":  {Section: tool, Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"manifest.Tool.displayName":     {Section: tool, Doc: "Name for people."},
		"manifest.Tool.description":     {Section: tool, Doc: "What the tool does, for models and people; at most 4,096 bytes, without control characters."},
		"manifest.Tool.examples":        {Section: tool, MaxItems: maxExamples, Doc: "Parameters of calls that models are shown behind the description, each as one line of JSON of at most 1,024 bytes. They must fit `parameters`."},
		"manifest.Tool.observe":         {Section: tool, Enum: []string{Always, Failures}, Default: Always, Doc: "What the agent observes of calls in its next turn: whatever came, or only what failed. In the rounds of one turn a model sees every result."},
		"manifest.Tool.parameters":      {Section: tool, Doc: "JSON Schema (2020-12) of the parameters, an object. `additionalProperties` is false unless it is given."},
		"manifest.Tool.outputSchema":    {Section: tool, Doc: "JSON Schema of the output; a call whose output breaks it has failed (`bad_output`)."},
		"manifest.Tool.implementation":  {Required: true, Section: kinds, Doc: "What carries the tool out."},
		"manifest.Tool.execution":       {Section: traits, Doc: "How calls are carried out. Of `workflow` and `node` nothing but `mode: sync`."},
		"manifest.Tool.needs":           {Section: "001 §9", MaxItems: 64, Doc: "What the tool asks for: `net:HOST:PORT` names a server that may have a private or local address, and of a `script` a server that it [may reach](../sandbox.md#network); `secret:NAME` a [secret](secrets.md), of `http` and `script`; `fs.read:MOUNT/PATTERN` files that [references](tool.md#references) may lead to; `exec`, of `script` and `code`, leave to run the program; `tool:ID`, of `workflow` and `node`, the [tools that it calls](tool.md#tools-that-a-tool-calls). The operator [grants](grants.md) all but `tool:`, and the server of an `http` tool."},
		"manifest.Tool.cost":            {Section: "001 §6.3", Range: &source.Range{Min: 0, Max: 1_000_000}, Doc: "What a call costs, in dollars, for [budgets](tool.md#budgets). A call that was refused costs nothing. Not of `workflow` and `node`: their models and tools cost."},
		"manifest.Tool.limits":          {Section: "001 §6.3", Doc: "Tighter [bounds](tool.md#output) of what becomes of an answer."},
		"manifest.Tool.custom_metadata": {Section: tool, Doc: "For your own use; simd does not check it."},

		"manifest.Implementation.type":      {Required: true, Section: kinds, Enum: Types(), Doc: meanings()},
		"manifest.Implementation.method":    {Section: kinds, Doc: "Of `http`: GET (default), HEAD, POST, PUT, PATCH or DELETE. Of `service`: what is called there."},
		"manifest.Implementation.url":       {Section: kinds, Doc: "Of `http`: the address. `{/pointer}` in path and query is the value of a parameter, escaped."},
		"manifest.Implementation.query":     {Section: kinds, Doc: "Of `http`: more parameters of the query, by name. A missing parameter leaves its entry out."},
		"manifest.Implementation.headers":   {Section: kinds, Doc: "Of `http`: headers, by name. A missing parameter leaves its header out."},
		"manifest.Implementation.body":      {Section: kinds, Doc: "Of `http`: the JSON value that is sent. Default of POST, PUT and PATCH: an object of the parameters that no other part uses."},
		"manifest.Implementation.name":      {Section: kinds, Doc: "Of `service`: the name of a [service](service.md), or that under which the program registered it."},
		"manifest.Implementation.id":        {Section: kinds, Doc: "Of `workflow`: the workflow, by id or path."},
		"manifest.Implementation.kind":      {Section: kinds, Doc: "Of `node`: the kind, as the `type` of a node names it."},
		"manifest.Implementation.config":    {Section: kinds, Doc: "Of `node`: its `configValues`."},
		"manifest.Implementation.command":   {Section: kinds, Doc: "Of `script`: a program and its arguments, in words as a shell reads them. Files beside the definition that it names go with it."},
		"manifest.Implementation.files":     {Section: kinds, MaxItems: 256, Doc: "Of `script`: more files or folders beside the definition that go with it."},
		"manifest.Implementation.languages": {Section: kinds, MaxItems: 3, Strict: true, Doc: "Of `code`: the languages that are allowed; default: `python`, `javascript`, `sh`."},
		"manifest.Implementation.server":    {Section: kinds, Doc: "Of `mcp`: the server, by the id of a file in `mcp/`."},
		"manifest.Implementation.tool":      {Section: kinds, Doc: "Of `mcp`: the name of the tool on the server."},

		"manifest.Limits.output":   {Section: "001 §6.3", Range: &source.Range{Min: 256, Max: maxOutput}, Default: int64(maxOutput), Doc: "Bytes of the output as JSON, in facts, for nodes and models. A longer one is cut, and an artifact has all of it. Models see at most 16 KiB."},
		"manifest.Limits.artifact": {Section: "001 §6.3", Range: &source.Range{Min: 1, Max: maxArtifact}, Default: int64(maxArtifact), Doc: "Bytes of a file in the answer. With a larger one the call fails as `limit`."},

		"manifest.Execution.mode":        {Section: traits, Enum: []string{Sync, Async}, Default: Sync, Doc: "`sync`: the turn waits for the answer. `async`: the call is a [task](tool.md#tasks) that outlives the turn."},
		"manifest.Execution.repeat":      {Section: traits, Enum: []string{string(Free), string(ByKey), string(Never)}, Default: string(Never), Doc: "Whether a call whose outcome is not known may be made again: it only reads; it honours the idempotency key; no."},
		"manifest.Execution.timeout":     {Section: traits, Range: &source.Range{Max: MaxTaskTimeout.Seconds(), Open: true}, Default: "30s", Doc: "Of one call with its repetitions: at most 60 s; of an `async` tool 10m by default, at most 24h."},
		"manifest.Execution.concurrency": {Section: traits, Range: &source.Range{Min: 1, Max: 1000}, Default: int64(DefaultConcurrency), Doc: "Calls of this tool at once, in one scene. Others wait."},
		"manifest.Execution.rate":        {Section: traits, Range: &source.Range{Min: 1, Max: 1_000_000}, Doc: "Calls of this tool that leave in a minute of the wall clock, in one scene. Others wait, at most an hour. Default: as many as come."},
		"manifest.Execution.latency":     {Section: traits, Duration: true, Default: "0s", Doc: "Scene time that a call takes on the virtual clock: a duration, or `measured`; a measured run cannot be repeated."},
		"manifest.Execution.parallel":    {Section: traits, Default: false, Doc: "Native calls of one answer run beside each other if all their tools say so. In a text each [step says it itself](tam.md#how-calls-are-carried-out)."},
	}
	maps.Copy(rules, serverRules())
	maps.Copy(rules, residentRules())
	return rules
}

// Fault is something wrong, at a place of the file.
type Fault struct {
	Steps      []string
	Message    string
	Suggestion string
	Strict     bool // older programs let it pass: the field has no effect
}

// reserved are the beginnings of ids that have another meaning.
func reserved() []string { return []string{"workflow:", "node:", "mcp:", "system:", "plugin:"} }

// Check fills in what is not written, makes texts harmless, and finds what is wrong beyond the types and rules
// of the fields.
func (t *Tool) Check() []Fault {
	c := checker{tool: t}
	c.within()
	t.fill()
	c.id()
	c.texts()
	c.parameters()
	c.uris()
	c.implementation()
	c.latency()
	c.mode()
	for i, need := range t.Needs {
		c.need(strconv.Itoa(i), need)
	}
	t.seal()
	return c.faults
}

func (t *Tool) fill() {
	x := &t.Execution
	if x.Repeat == "" {
		x.Repeat = Never
	}
	if x.Timeout <= 0 {
		if x.Timeout = protocol.Duration(DefaultTimeout); x.Mode == Async {
			x.Timeout = protocol.Duration(DefaultTaskTimeout)
		}
	}
	if x.Concurrency <= 0 {
		x.Concurrency = DefaultConcurrency
	}
	if t.Implementation.Type == Code {
		t.ownSchema = t.Parameters != nil || t.OutputSchema != nil
		t.code()
	}
	if t.Implementation.Type == HTTP && t.Implementation.Method == "" {
		t.Implementation.Method = "GET"
	}
	p := map[string]any{"type": "object", "additionalProperties": false}
	maps.Copy(p, t.Parameters)
	t.Parameters = p
}

type checker struct {
	tool   *Tool
	faults []Fault
}

func (c *checker) fault(steps []string, suggestion, format string, args ...any) {
	c.faults = append(c.faults, Fault{Steps: steps, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func at(steps ...string) []string { return steps }

func (c *checker) id() {
	id := c.tool.ID
	if id == "" {
		return // the missing field was reported
	}
	if !isID(id) {
		c.fault(at("id"), "", "the id %q is none: want a letter or digit, then letters, digits and _ . : / -, at most 128 characters", protocol.Short(id, 160))
	}
	for _, prefix := range reserved() {
		if strings.HasPrefix(strings.ToLower(id), prefix) && !c.tool.made {
			c.fault(at("id"), "", "the id %q begins with %s, which is kept for something else", id, prefix)
		}
	}
}

// isID reports whether a text is an id. It is asked for each of thousands of tools, and
// an expression with the classes of letters takes milliseconds to compile.
func isID(id string) bool {
	for i, r := range id {
		letter := unicode.In(r, unicode.L, unicode.N)
		if r == utf8.RuneError || !letter && (i == 0 || !strings.ContainsRune("_.:/-", r)) {
			return false
		}
	}
	return id != "" && utf8.RuneCountInString(id) <= 128
}

// Shown is the description with the examples, as models are told of the tool.
func (t *Tool) Shown() string {
	text := t.Description
	for _, e := range t.Examples {
		text = strings.TrimPrefix(text+"\nExample: "+exampleLine(e), "\n")
	}
	return text
}

// exampleLine has the names in byte order.
func exampleLine(params map[string]any) string {
	line, _ := json.Marshal(params) // a decoder made it of a file
	return string(line)
}

func (c *checker) texts() {
	for _, f := range [][2]string{{"displayName", c.tool.DisplayName}, {"description", c.tool.Description}} {
		c.faults = append(c.faults, Text(f[1], f[0])...)
	}
	for i, e := range c.tool.Examples {
		if n := len(exampleLine(e)); n > maxExample {
			c.fault(at("examples", strconv.Itoa(i)), "shorten its texts", "the example has %d bytes; the limit is %d", n, maxExample)
		}
	}
}

// Text finds what is wrong with a text for models and people, at a place of its file.
func Text(text string, steps ...string) (faults []Fault) {
	if strings.ContainsFunc(text, control) {
		faults = append(faults, Fault{Steps: steps, Message: "the text has a control character; only line breaks and tabs may be there"})
	}
	if len(text) > maxDescription {
		faults = append(faults, Fault{Steps: steps, Message: fmt.Sprintf("the text has %d bytes; the limit is %d", len(text), maxDescription), Suggestion: "say what a model needs to know; the rest belongs into a file"})
	}
	return faults
}

// control characters, and those that turn the order of a text around.
func control(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

func (c *checker) parameters() {
	if typ := c.tool.Parameters["type"]; typ != "object" {
		c.fault(at("parameters", "type"), `write type: object`, "parameters are an object; their type is %v", typ)
	}
}

// within refuses what nobody would look at if the turn itself carries the tool out. It comes
// before what is not written is filled in.
func (c *checker) within() {
	t, x := c.tool, &c.tool.Execution
	given := map[string]bool{"execution.mode": x.Mode == Async, "execution.repeat": x.Repeat != "", "execution.timeout": x.Timeout != 0, "execution.concurrency": x.Concurrency != 0,
		"execution.rate": x.Rate != 0, "execution.latency": x.Latency != "", "execution.parallel": x.Parallel, "limits": t.Limits != (Limits{}), "cost": t.Cost != 0}
	for _, name := range protocol.SortedKeys(given) {
		if given[name] && t.Implementation.Within() {
			c.fault(strings.Split(name, "."), "remove it", "a %s is carried out within the turn, which has no use for it", t.Implementation.Type)
			c.faults[len(c.faults)-1].Strict = name != "execution.mode" && name != "limits"
		}
	}
}

// mode checks what an asynchronous tool has otherwise.
func (c *checker) mode() {
	x := &c.tool.Execution
	switch {
	case x.Mode != Async && x.Timeout.Std() > MaxTimeout && !c.tool.Implementation.Within(): // else within has said it
		c.fault(at("execution", "timeout"), "write mode: async, and the turn does not wait", "a turn waits at most 60s for a call, not %s", x.Timeout.Std())
	case x.Mode == Async && x.Latency == Measured:
		c.fault(at("execution", "latency"), "write a duration", "an async tool ends at a moment that is known before; its latency cannot be measured")
	}
}

func (c *checker) latency() {
	l := c.tool.Execution.Latency
	if l == "" || l == Measured {
		return
	}
	if d, err := time.ParseDuration(l); err != nil || d < 0 || d > 24*time.Hour {
		c.fault(at("execution", "latency"), source.Units, "%q is no latency; want a duration up to 24h such as 2s, or %s", protocol.Short(l, 80), Measured)
	}
}

// Latency is the scene time that a call takes; measured = as long as it took.
func (t *Tool) Latency() (fixed time.Duration, measured bool) {
	fixed, _ = time.ParseDuration("0" + t.Execution.Latency) // it was checked; "" would be an error, for each call
	return fixed, t.Execution.Latency == Measured
}

// need checks one permission that the tool asks for.
func (c *checker) need(i, need string) {
	kind, what, _ := strings.Cut(need, ":")
	may := typeOf(c.tool.Implementation.Type)
	switch {
	case kind == "secret" && may.secrets:
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString(what) {
			c.fault(at("needs", i), "", "%q names no secret; want secret:NAME, with letters, digits and _", protocol.Short(need, 80))
		}
		return
	case kind == fsRead && may.files:
		if m, name, _ := strings.Cut(what, "/"); !slices.Contains([]string{"project", "run", "agent"}, m) && !strings.HasPrefix(m, "plugin-") || name == "" || len(what) > 256 {
			c.fault(at("needs", i), "", "%q names no files; want fs.read:MOUNT/PATTERN, such as fs.read:run/reports/*, with the mounts project, run, agent and plugin-NAME", protocol.Short(need, 80))
		}
		return
	case kind == "net":
		if !may.dials {
			c.fault(at("needs", i), "remove it", "%q is for tools of the types %s; a tool of the type %s has no network of its own", protocol.Short(need, 80), strings.Join(dialling(), ", "), may.name)
			return
		}
	default:
		c.otherNeed(i, need)
		return
	}
	host, port, err := net.SplitHostPort(what)
	if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 1 || n > 65535 || strings.ContainsAny(host, "*/ ") {
		c.fault(at("needs", i), "", "%q names no server; want net:HOST:PORT, such as net:127.0.0.1:8080", protocol.Short(need, 80))
	} else {
		c.dialled(host, "needs", i)
	}
}

// dialled refuses a host that is dialled under another name than the one that is written, and that people grant.
func (c *checker) dialled(host string, steps ...string) {
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		c.fault(steps, "", "%q: write the host as it is on the wire, in ASCII (xn--…)", protocol.Short(host, 80))
		c.faults[len(c.faults)-1].Strict = steps[0] != "needs"
	}
}

// Secrets are the names of the secrets among the needs of the tool.
func (t *Tool) Secrets() []string { return secretNames(t.Needs) }

// NamesSecrets reports whether texts of its parameters may name secrets, $KARYI{NAME}.
func (t *Tool) NamesSecrets() bool { return t.Implementation.Type == Shell || t.ID == Edit }

// SendsSecrets reports whether a request of the tool has a secret: one of its needs, or an option.
func (t *Tool) SendsSecrets() bool { return t.secretOption || len(t.Secrets()) > 0 }

// MayDial reports whether the tool names a server, "host:port", among its needs.
func (t *Tool) MayDial(server string) bool { return names(t.Needs, server) }

// implementation checks that the fields fit the type.
func (c *checker) implementation() {
	x := &c.tool.Implementation
	given := x.given()
	row := typeOf(x.Type)
	if row.name == "" {
		return // reported by the rules
	}
	for _, name := range protocol.SortedKeys(given) {
		switch {
		case given[name] && !slices.Contains(row.wants, name) && !slices.Contains(row.may, name):
			c.fault(at("implementation", name), "remove it", "%s is not a field of the type %s", name, x.Type)
		case !given[name] && slices.Contains(row.wants, name):
			c.fault(at("implementation"), "", "the type %s wants %s", x.Type, name)
		}
	}
	if row.check != nil && !slices.ContainsFunc(row.wants, func(name string) bool { return !given[name] }) {
		row.check(c)
	}
}
