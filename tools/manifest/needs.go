package manifest

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Exec is the need of a program to be run at all: without a grant it never is.
const Exec = "exec"

// callsTool begins a need that names a tool which the workflow of a tool may call: tool:ID.
const callsTool = "tool:"

// Calls are the ids of the tools, and of the skills as workflow:ID, that the workflow of the tool
// may call, sorted; nil = all that its caller may.
func (t *Tool) Calls() (ids []string) {
	for _, need := range t.Needs {
		if id, ok := Called(need); ok && t.Implementation.Within() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Called is the id of the tool that a need names; false = it is no such need.
func Called(need string) (id string, ok bool) { return strings.CutPrefix(need, callsTool) }

// otherNeed checks a need that names no secret, file or server.
func (c *checker) otherNeed(i, need string) {
	impl, shown := &c.tool.Implementation, protocol.Short(need, 80)
	_, tool := Called(need)
	switch {
	case need == Exec && (impl.Type == Script || impl.Type == Code || impl.Type == ""):
	case need == Exec && (impl.Type == Service || impl.Type == MCP):
		c.fault(at("needs", i), "write it among the needs of the file of the program, in services/ or mcp/", "%q: the program of a tool of the type %s has a file of its own", shown, impl.Type)
	case need == Exec:
		c.fault(at("needs", i), "remove it", "%q is for tools of the types script and code; a tool of the type %s has no program", shown, impl.Type)
	case tool && (impl.Within() || impl.Type == ""):
	case tool:
		c.fault(at("needs", i), "remove it", "%q is for tools of the types workflow and node; a tool of the type %s calls no tools", shown, impl.Type)
	case strings.HasPrefix(need, "fs.write:"):
		c.fault(at("needs", i), "remove it; what a program leaves in /work becomes artifacts, and the tool edit writes files of a mount",
			"%q cannot be granted: how many files a mount has, and whether there is a secret in one, is looked at for sessions and edit alone", shown)
	default:
		c.fault(at("needs", i), "remove it", "%q is no need; there are net:HOST:PORT, fs.read:MOUNT/PATTERN, secret:NAME for the types http and script, exec for script and code, and tool:ID for workflow and node", shown)
	}
}
