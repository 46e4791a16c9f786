package scripted

import (
	_ "embed"
	"math"
	"reflect"
	"slices"
	"strings"

	"tavernsim/internal/source"
)

//go:embed default.yaml
var defaultScript []byte

// Default is the embedded script: it echoes what an agent perceives, and makes
// no calls. It is parsed at each call; keep it.
func Default() (*Model, error) { return Load("default.yaml", defaultScript) }

// Load reads a script file, JSON with comments or YAML by the ending of its
// name. The error is a [*source.Error] over every fault.
func Load(file string, data []byte) (*Model, error) {
	report := &source.Report{}
	m := Read(file, data, report)
	if err := report.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// Read is Load for somebody who collects the faults of many files. The model is
// nil when the file has faults.
func Read(file string, data []byte, report *source.Report) *Model {
	before := report.Total()
	doc := source.Parse(file, data, source.Limits{}, report)
	if doc == nil {
		return nil
	}
	d := source.Decoder{Rules: Rules(), Shorthand: Shorthand(), Report: report}
	script := &Script{}
	d.Decode(doc, script)
	reported := report.Since(before)
	m, faults := Compile(script)
	for _, f := range faults {
		path := source.Path(f.Steps...)
		if !follows(path, reported) {
			node, _ := doc.Root.Find(f.Steps...)
			report.At(doc, node.Pos, path, f.Message, f.Suggestion)
		}
	}
	if report.Total() > before {
		return nil
	}
	return m
}

// follows reports that the part of the script at a path, a rule or a field of
// the top, could not be read as it stands: what else is wrong with it would be a
// consequence.
func follows(path string, reported []source.Fault) bool {
	return slices.ContainsFunc(reported, func(f source.Fault) bool { return part(f.Path) == part(path) })
}

func part(path string) string {
	if before, _, ok := strings.Cut(path, "]"); ok {
		return before
	}
	head, _, _ := strings.Cut(path, ".")
	return head
}

// Shorthand lets a bare text stand for an answer.
func Shorthand() map[reflect.Type]string {
	return map[reflect.Type]string{reflect.TypeFor[Answer](): "text"}
}

// Rules say about the fields of a script what their types do not.
func Rules() source.Rules {
	probability := &source.Range{Min: 0, Max: 1}
	finish := []string{"stop", "length", "tool_calls", "filtered"}
	rules := source.Rules{
		"scripted.Script.schema_version": {Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"scripted.Script.kind":           {Enum: []string{"scripted"}, Doc: "Kind of the model file."},
		"scripted.Script.name":           {Doc: "Name that answers give as their model.", Default: "scripted"},
		"scripted.Script.timeout":        {Doc: "Time-out of requests that have none.", Default: "30s", Range: &source.Range{Min: 0, Max: 86400, Open: true}},
		"scripted.Script.rules":          {MaxItems: 10_000, Doc: "The first rule that matches answers."},
		"scripted.Script.otherwise":      {Doc: "Answers when no rule does; without it the embedded default script is asked."},
		"scripted.Rule.answers":          {MaxItems: 1000, Doc: "Several answers, one of which is drawn by weight."},
		"scripted.Match.chance":          {Range: probability, Doc: "Probability of matching, drawn last."},
		"scripted.Match.round":           {Range: &source.Range{Min: 0, Max: 1e6}, Doc: "Answers with calls before this one."},
		"scripted.Match.variables":       {Doc: "Variables of the prompt by dotted path; a list holds when any element equals."},
		"scripted.Answer.weight":         {Range: &source.Range{Min: 0, Max: 1e9}, Doc: "Weight among several answers.", Default: int64(1)},
		"scripted.Answer.finish":         {Enum: finish, Doc: "Why the model stopped; default stop, or tool_calls with calls."},
		"scripted.Answer.fail":           {Enum: []string{"timeout", "server_error", "rate_limited", "bad_output"}, Doc: "Fails instead of answering."},
		"scripted.Answer.calls":          {MaxItems: 256, Doc: "Native tool calls."},
		"scripted.Call.tool":             {Required: true, Doc: "Tool id; a template."},
		"scripted.Latency.sigma":         {Range: &source.Range{Min: 0, Max: 5}, Doc: "Deviation of the latency's logarithm."},
		"scripted.Failures.timeout":      {Range: probability},
		"scripted.Failures.server_error": {Range: probability},
		"scripted.Failures.rate_limited": {Range: probability},
		"scripted.Failures.bad_output":   {Range: probability},
		"scripted.Failures.retry_after":  {Range: &source.Range{Max: math.Inf(1), Open: true}, Default: "1s", Strict: true},
	}
	for _, name := range []string{"agent", "profile", "scene", "model", "purpose", "events", "prompt_contains", "prompt_matches", "tools"} {
		rules["scripted.Match."+name] = source.Rule{Hint: "leave it out for any", Strict: true}
	}
	return rules
}
