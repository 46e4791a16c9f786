package project

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Server is an MCP server of the project, checked.
type Server struct {
	Definition *manifest.Server
	File       string
	Plugin     string        // that it is of; "" = the project's own
	Pin        *manifest.Pin // how it described its tools; nil = nobody has looked
	PinFile    string        // where the pin is, or belongs

	pinDoc *source.Document
}

// pinFile reports whether a file of mcp/ is a pin.
func pinFile(p string) bool { return strings.HasSuffix(strings.TrimSuffix(p, path.Ext(p)), ".pin") }

// LoadServers reads the MCP servers of a project alone: a project whose tools are not
// pinned yet has faults elsewhere.
func LoadServers(fsys fs.FS, opt Options) (map[string]*Server, error) {
	l := newLoader(fsys, opt)
	if err := l.tree.list(); err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project: load: %w", err)
	}
	if l.def = l.loadDefinition(); l.def != nil || opt.Alone {
		l.loadPlugins()
	}
	l.loadServers()
	return l.project.servers, l.report.Err()
}

func (l *loader) loadServers() {
	files := l.tree.definitions(mcpDir)
	for _, file := range files {
		if !pinFile(file) && strings.Count(l.tree.place(file), "/") == 1 {
			l.loadServer(file)
		}
	}
	for _, file := range files {
		if pinFile(file) {
			l.loadPin(file)
		}
	}
}

func (l *loader) loadServer(file string) {
	doc := l.tree.parse(file)
	if doc == nil {
		return
	}
	d := &manifest.Server{}
	l.decoder.Decode(doc, d)
	for _, f := range d.Check() {
		l.saying(f.Strict)(doc, f.Steps, f.Suggestion, "%s", f.Message)
	}
	if d.Command != "" {
		l.scriptFiles(doc, d.Script())
	}
	if l.claim("MCP server", d.ID, doc, at("id")) {
		l.project.servers[d.ID] = &Server{Definition: d, File: file, Plugin: pluginOf(file), PinFile: path.Dir(file) + "/" + d.ID + ".pin.json"}
	}
}

func (l *loader) loadPin(file string) {
	doc := l.tree.parse(file)
	if doc == nil {
		return
	}
	pin := &manifest.Pin{}
	l.decoder.Decode(doc, pin)
	s := l.project.servers[pin.Server]
	switch {
	case s == nil:
		l.fault(doc, at("server"), "", "the project has no MCP server %q; it has %s", pin.Server, cmp.Or(strings.Join(protocol.SortedKeys(l.project.servers), ", "), "none"))
	case s.Pin != nil:
		l.fault(doc, at("server"), "delete one of them", "the tools of the server %s are pinned in %s, too", pin.Server, s.pinDoc.File)
	default:
		s.Pin, s.pinDoc = pin, doc
	}
}

// pinned completes the definition of a tool of a server.
func (l *loader) pinned(doc *source.Document, d *manifest.Tool) {
	x := &d.Implementation
	s := l.project.servers[x.Server]
	switch {
	case x.Server == "" || x.Tool == "": // reported as missing
	case s == nil:
		l.fault(doc, at("implementation", "server"), suggestOr(x.Server, protocol.SortedKeys(l.project.servers)), "the project has no MCP server %q", x.Server)
	case s.Pin == nil:
		l.fault(doc, at("implementation", "server"), "run simd mcp pin PROJECT "+x.Server, "nobody has looked at the tools of the server %s: there is no %s", x.Server, s.PinFile)
	default:
		var names []string
		for i := range s.Pin.Tools {
			if s.Pin.Tools[i].Name == x.Tool {
				d.SetPinned(&s.Pin.Tools[i])
				return
			}
			names = append(names, s.Pin.Tools[i].Name)
		}
		l.fault(doc, at("implementation", "tool"), suggestOr(x.Tool, names), "the server %s has no tool %q in %s", x.Server, x.Tool, s.pinDoc.File)
	}
}

// loadPinned adds the tools of all servers under the ids mcp:SERVER/TOOL.
func (l *loader) loadPinned() {
	for _, id := range protocol.SortedKeys(l.project.servers) {
		s := l.project.servers[id]
		if s.Pin == nil {
			l.warns.Add(Fault{File: s.File, Message: "nobody has looked at the tools of this server; it is not used", Suggestion: "run simd mcp pin PROJECT " + id})
			continue
		}
		for i := range s.Pin.Tools {
			t := &Tool{Definition: manifest.NewMCPTool(id, &s.Pin.Tools[i]), File: s.pinDoc.File, Plugin: s.Plugin}
			l.checkTool(s.pinDoc, t, at("tools", i))
		}
		s.pinDoc = nil
	}
}

// Servers are the MCP servers of the project, by id.
func (p *Project) Servers() map[string]*Server { return p.servers }
