package setup

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// OwnKinds are the kinds of requests that the program carries out itself. A host gives no
// executor of them: verify knows how their answers are made, and those of a host are not
// made so.
func OwnKinds() []string {
	return []string{effect.KindModel, effect.KindApproval, effect.KindPerson, KindTool}
}

// CheckHost refuses external tools that have the id of another tool, whose id the project
// was not loaded with, or whose kind is the program's own.
func CheckHost(p *project.Project, host []agent.External) error {
	own, given := agent.SceneTools(), p.Given()
	for i := range host {
		id, kind := host[i].Spec.Name, host[i].Kind
		fault := ""
		switch _, defined := p.Tool(id); {
		case id == "":
			fault = "it has no name (Spec.Name)"
		case slices.Contains(own, id):
			fault = "the program has a tool with this id; give yours another"
		case defined:
			fault = "the project has a tool with this id; give yours another"
		case slices.ContainsFunc(host[:i], func(x agent.External) bool { return x.Spec.Name == id }):
			fault = "two external tools have this id; give one of them another"
		case slices.Contains(OwnKinds(), kind):
			fault = "the program carries out requests of the kind " + strconv.Quote(kind) + " itself; give the tool and its executor another kind"
		case given != nil && !slices.Contains(given, id):
			fault = "the project was loaded without it, so no profile can have it; name it when you load the project"
			if near := source.Suggest(id, slices.DeleteFunc(given, func(name string) bool { return slices.Contains(own, name) })); near != "" {
				fault += "; " + near
			}
		default:
			continue
		}
		return protocol.Errorf(protocol.KindInvalid, "external tool %q: %s", id, fault)
	}
	return nil
}

// CheckNames refuses external tools and kinds of executors, of the program that embeds a run,
// which do not fit each other or the project.
func CheckNames(p *project.Project, host []agent.External, kinds []string) error {
	if err := CheckHost(p, host); err != nil {
		return err
	}
	names := append(agent.SceneTools(), ToolNames(host)...)
	for _, id := range p.Given() {
		if !slices.Contains(names, id) {
			return protocol.Errorf(protocol.KindInvalid, "the project was loaded with the external tool %q, and no external tool has this id (Options.External)", id)
		}
	}
	return CheckKinds(host, kinds)
}

// CheckKinds refuses executors of the program's own kinds, and external tools without an
// executor.
func CheckKinds(host []agent.External, kinds []string) error {
	for _, kind := range kinds {
		if slices.Contains(OwnKinds(), kind) {
			return protocol.Errorf(protocol.KindInvalid, "the program carries out requests of the kind %q itself; give the executor and its tools another kind (Options.Executors)", kind)
		}
	}
	for i := range host {
		if x := &host[i]; x.Kind != "" && !slices.Contains(kinds, x.Kind) {
			return protocol.Errorf(protocol.KindInvalid, "external tool %q has the kind %q, and no executor has it (Options.Executors)", x.Spec.Name, x.Kind)
		}
	}
	return nil
}

// ToolNames are those of external tools, sorted.
func ToolNames(external []agent.External) (names []string) {
	for i := range external {
		names = append(names, external[i].Spec.Name)
	}
	slices.Sort(names)
	return names
}

// SameTools refuses other external tools than a run has whose scenes are decided again
// or go on.
func SameTools(had []string, external []agent.External) error {
	names := ToolNames(external)
	if slices.Equal(had, names) {
		return nil
	}
	return protocol.Errorf(protocol.KindConflict, "the run has the external tools [%s] of the program that embeds it, and this program has [%s]; use that program (External in its options)", strings.Join(had, " "), strings.Join(names, " "))
}
