package manifest

import (
	"regexp"

	"tavernsim/internal/source"
)

// Resident is a file services/NAME.yaml: a program that stays and answers calls of tools.
type Resident struct {
	ID             string         `json:"id"`
	SchemaVersion  string         `json:"schema_version,omitempty"`
	Description    string         `json:"description,omitempty"`
	Command        string         `json:"command"`
	Files          []string       `json:"files,omitempty"`
	Needs          []string       `json:"needs,omitempty"`
	Concurrency    int            `json:"concurrency,omitempty"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`

	beside Tool // a script with the same command: it reads the words and keeps the files
}

func residentRules() source.Rules {
	const service = "001 §4.2"
	return source.Rules{
		"manifest.Resident.id":              {Required: true, Section: service, Doc: "Names the service: letters, digits, `_` and `-`, at most 64 characters."},
		"manifest.Resident.schema_version":  {Section: service, Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"manifest.Resident.description":     {Section: service, Doc: "For people."},
		"manifest.Resident.command":         {Required: true, Section: service, Doc: "A program that speaks the protocol on its standard input and output, and its arguments, in words as a shell reads them."},
		"manifest.Resident.files":           {Section: service, MaxItems: 256, Doc: "More files or folders beside this file that go with it."},
		"manifest.Resident.needs":           {Section: "001 §9", MaxItems: 64, Doc: "`net:HOST:PORT` names a server that the program [may reach](../sandbox.md#network), once it is [granted](grants.md). `exec`: the program runs only if it is granted."},
		"manifest.Resident.concurrency":     ConcurrencyRule(),
		"manifest.Resident.custom_metadata": {Section: service, Doc: "For your own use; simd does not check it."},
	}
}

// ConcurrencyRule is that of the requests which a program that stays works on at once.
func ConcurrencyRule() source.Rule {
	return source.Rule{Section: "001 §4.2", Range: &source.Range{Min: 1, Max: 1000}, Default: int64(1), Doc: "Requests that the program [works on at once](service.md#one-after-the-other-or-at-once): calls, hooks, and calls of other services. Others wait."}
}

// Check finds what is wrong beyond the types and rules of the fields.
func (s *Resident) Check() []Fault {
	c := checker{tool: &Tool{}}
	if s.ID != "" && (len(s.ID) > maxName || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`).MatchString(s.ID)) {
		c.fault(at("id"), "", "the id %q is none: want a letter or digit, then letters, digits, _ and -, at most %d characters", s.ID, maxName)
	}
	if problem := Unsplit(s.Command); problem != "" && s.Command != "" {
		c.fault(at("command"), "no shell reads the command; put the rest into a file and name it", "%s", problem)
	}
	c.program(s.Needs)
	s.beside = Tool{Implementation: Implementation{Type: Script, Command: s.Command, Files: s.Files}, Needs: s.Needs}
	return c.faults
}

// Script is the command as that of a tool: what goes with it is found and kept there.
func (s *Resident) Script() *Tool { return &s.beside }
