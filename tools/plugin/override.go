package plugin

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Override says which service of the plugin takes the place of a part of the program.
type Override struct {
	Interface string `json:"interface"`
	Service   string `json:"service"`
	Price     *Price `json:"price,omitempty"` // nil = nobody knows what an answer costs
}

// Price is what answers of a model cost, in dollars for a million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// maxPrice bounds a price, in dollars for a million tokens.
const maxPrice = 1e6

// The interfaces that a service of a plugin can take the place of.
const (
	OfModel       = "model"        // what answers requests to models
	OfEmbedder    = "embedder"     // what gives the vectors of texts
	OfApprover    = "approver"     // who is asked for leave
	OfSecretStore = "secret_store" // where the values of secrets come from
	OfExecutor    = "executor:"    // and a type of tools: what carries out tools of this type
)

// Interfaces are they.
func Interfaces() []string {
	list := []string{OfModel, OfEmbedder, OfApprover, OfSecretStore}
	for _, t := range executors() {
		list = append(list, OfExecutor+t)
	}
	return list
}

// executors are the types of tools whose executor can be replaced. Code of agents always has
// a sandbox of its own; sessions and files belong to the agent; secrets are asked of persons.
func executors() []string { return []string{manifest.HTTP, manifest.Script, manifest.MCP} }

// never are the parts of the program that no plugin replaces.
func never() []string {
	return []string{"journal", "world", "bus", "permission", "masker", "sandbox", "audit"}
}

// unreplaced says why a plugin does not replace a part of the program; "" = it can.
func unreplaced(name string) (why, suggestion string) {
	kind, executor := strings.CutPrefix(name, OfExecutor)
	switch {
	case slices.Contains(Interfaces(), name):
		return "", ""
	case slices.Contains(never(), name):
		return protocol.Short(name, 80) + " is never replaced by a plugin", "remove it"
	case executor && (kind == manifest.Code || kind == manifest.Shell || kind == manifest.Files || kind == manifest.Value):
		return "what carries out tools of the type " + kind + " is never replaced by a plugin", "remove it"
	}
	return protocol.Short(name, 80) + " is no interface that a plugin replaces; there are " + strings.Join(Interfaces(), ", "), source.Suggest(name, Interfaces())
}

// overrides checks what the plugin replaces, and that it asks for it.
func (c *checker) overrides() {
	seen := map[string]bool{}
	asked := c.m.Permissions.Services.Override
	for i := range c.m.Overrides {
		o, here := &c.m.Overrides[i], func(field string) []string { return at("overrides", strconv.Itoa(i), field) }
		if o.Interface == "" || o.Service == "" {
			continue // reported as missing
		}
		if why, suggestion := unreplaced(o.Interface); why != "" {
			c.fault(here("interface"), suggestion, "%s", why)
			continue
		}
		if seen[o.Interface] {
			c.fault(here("interface"), "remove one of them", "the plugin replaces %s twice", o.Interface)
		}
		seen[o.Interface] = true
		if !slices.Contains(asked, o.Interface) {
			c.fault(here("interface"), "add "+o.Interface+" to permissions.services.override", "the plugin does not ask for leave to replace %s", o.Interface)
		}
		if o.Price != nil && o.Interface != OfModel && o.Interface != OfEmbedder {
			c.fault(here("price"), "remove it; the cost of a tool stands in its definition", "answers of %s have no price", o.Interface)
		}
		if c.m.Services[o.Service] == nil {
			c.fault(here("service"), source.Suggest(o.Service, protocol.SortedKeys(c.m.Services)), "the plugin has no service %q", protocol.Short(o.Service, 80))
		}
	}
	for i, name := range asked {
		here := at("permissions", "services", "override", strconv.Itoa(i))
		if why, suggestion := unreplaced(name); why != "" {
			c.fault(here, suggestion, "%s", why)
		} else if !seen[name] {
			c.fault(here, "add it to overrides, with the service that does it, or remove it", "no service of the plugin replaces %s", name)
		}
	}
}

// override begins what an operator grants: that the plugin replaces an interface.
const override = "override:"
