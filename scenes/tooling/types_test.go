package tooling_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/manifest"
)

const typed = `
-- scenes/s.yaml --
id: s
name: Types
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: person}]
-- models/voices.yaml --
otherwise: "yes"
-- tools/sign.tool.yaml --
id: sign
implementation: {type: http, url: "https://example.org/"}
-- mcp/s.yaml --
id: s
url: "https://example.org/mcp"
`

// Every type that a definition may have is carried out by somebody, or its tools would have no
// executor when the first call comes; a type without one is named.
func TestEveryTypeIsCarriedOut(t *testing.T) {
	for _, typ := range append(manifest.Types(), "smoke") {
		p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(typed))), nil)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := p.Tool("sign")
		x.Definition.Implementation.Type, x.Definition.Implementation.Server = typ, "s"
		set, err := tooling.ForTries(tooling.Options{Project: p})
		if set != nil {
			_ = set.Close() // nothing was called
		}
		nobody := err != nil && protocol.KindOf(err) == protocol.KindInternal && strings.Contains(err.Error(), "the tool sign: nothing carries out the type "+typ)
		if nobody != (typ == "smoke") {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
