package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tam/answer"
	"tavernsim/tools/manifest/places"
)

// Server is a file mcp/NAME.yaml: a server of the Model Context Protocol whose tools the
// project uses.
type Server struct {
	ID             string            `json:"id"`
	SchemaVersion  string            `json:"schema_version,omitempty"`
	Description    string            `json:"description,omitempty"`
	Command        string            `json:"command,omitempty"`
	Files          []string          `json:"files,omitempty"`
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Needs          []string          `json:"needs,omitempty"`
	CustomMetadata map[string]any    `json:"custom_metadata,omitempty"`

	beside Tool // a script with the same command: it reads the words and keeps the files
}

// Pin is a file mcp/NAME.pin.json: how a server described its tools when somebody looked.
type Pin struct {
	Server string   `json:"server"`
	Tools  []Pinned `json:"tools"`
}

// Pinned is one tool of a pin.
type Pinned struct {
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	InputSchema  map[string]any `json:"inputSchema,omitempty"`
	OutputSchema map[string]any `json:"outputSchema,omitempty"`
}

// Hash is the same for the same description.
func (p *Pinned) Hash() string {
	b, _ := json.Marshal(p) // a value; keys are sorted
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Bounds of a server.
const (
	MaxPinned = 1000 // tools of a server
	maxName   = 64   // of a server, in bytes
)

// MCPTool is the id of a tool of a server that no file defines.
func MCPTool(server, tool string) string { return "mcp:" + server + "/" + tool }

func serverRules() source.Rules {
	const mcp = "001 §4.3"
	return source.Rules{
		"manifest.Server.id":              {Required: true, Section: mcp, Doc: "Names the server: letters, digits, `_` and `-`, at most 64 characters."},
		"manifest.Server.schema_version":  {Section: mcp, Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"manifest.Server.description":     {Section: mcp, Doc: "For people."},
		"manifest.Server.command":         {Section: mcp, Doc: "A program that speaks the protocol on its standard input and output, and its arguments, in words as a shell reads them. This or `url`."},
		"manifest.Server.files":           {Section: mcp, MaxItems: 256, Doc: "Of `command`: more files or folders beside this file that go with it."},
		"manifest.Server.url":             {Section: mcp, Doc: "Address of a server that speaks the protocol over HTTP (streamable HTTP)."},
		"manifest.Server.headers":         {Section: mcp, MaxItems: 64, Doc: "Of `url`: headers of every request, by name. `$KARYI{NAME}` stands for a [secret](secrets.md)."},
		"manifest.Server.needs":           {Section: "001 §9", MaxItems: 64, Doc: "Of `url`: `net:HOST:PORT` names a server that may have a private or local address; `secret:NAME` a secret. Of `command`: `net:HOST:PORT` names a server that the program [may reach](../sandbox.md#network); `exec`: it runs only if that is [granted](grants.md). `fs.read:` and `fs.write:` have no meaning: a server with a `url` has no folders of this machine, and a program has its own."},
		"manifest.Server.custom_metadata": {Section: mcp, Doc: "For your own use; simd does not check it."},

		"manifest.Pin.server":          {Required: true, Section: mcp, Doc: "The server, by id."},
		"manifest.Pin.tools":           {Required: true, Section: mcp, MaxItems: MaxPinned, Doc: "Its tools."},
		"manifest.Pinned.name":         {Required: true, Section: mcp, Doc: "The name of the tool on the server."},
		"manifest.Pinned.description":  {Section: mcp, Doc: "What the tool does, in the words of the server."},
		"manifest.Pinned.inputSchema":  {Section: mcp, Doc: "JSON Schema of its parameters."},
		"manifest.Pinned.outputSchema": {Section: mcp, Doc: "JSON Schema of what it answers as a value."},
	}
}

// Check finds what is wrong beyond the types and rules of the fields.
func (s *Server) Check() []Fault {
	c := checker{tool: &Tool{}}
	if s.ID != "" && (len(s.ID) > maxName || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`).MatchString(s.ID)) {
		c.fault(at("id"), "", "the id %q is none: want a letter or digit, then letters, digits, _ and -, at most %d characters", s.ID, maxName)
	}
	switch {
	case (s.Command == "") == (s.URL == ""):
		c.fault(nil, "", "a server has a command or a url, one of both")
	case s.URL != "" && s.Files != nil:
		c.fault(at("files"), "remove it", "files go with a command; this server has a url")
	case s.Command != "" && s.Headers != nil:
		c.fault(at("headers"), "remove it", "headers go with a url; this server has a command")
	case s.Command != "":
		if _, problem := split(s.Command); problem != "" {
			c.fault(at("command"), "no shell reads the command; put the rest into a file and name it", "%s", problem)
		}
	default:
		if problem := address(s.URL); problem != "" {
			c.fault(at("url"), "", "%s", problem)
		} else if u, err := url.Parse(s.URL); err == nil {
			c.dialled(u.Hostname(), "url")
		}
		c.headers(s)
	}
	if s.Command != "" {
		c.program(s.Needs)
	} else {
		for i, need := range s.Needs {
			if strings.HasPrefix(need, fsRead+":") || strings.HasPrefix(need, "fs.write:") {
				c.fault(at("needs", strconv.Itoa(i)), "remove it; what the server shall read goes into a parameter, such as uri_text in a call",
					"%q: a server with a url runs on another machine, and no folder of this one can be mounted there", protocol.Short(need, 80))
				continue
			}
			if need == Exec || strings.HasPrefix(need, callsTool) {
				c.fault(at("needs", strconv.Itoa(i)), "remove it", "%q: a server with a url runs on another machine, with what it has there", protocol.Short(need, 80))
				continue
			}
			c.need(strconv.Itoa(i), need)
		}
	}
	s.beside = Tool{Implementation: Implementation{Type: Script, Command: s.Command, Files: s.Files}, Needs: s.Needs}
	return c.faults
}

// headers checks those of a server.
func (c *checker) headers(s *Server) {
	texts := map[string]any{}
	for _, name := range protocol.SortedKeys(s.Headers) {
		texts[name] = s.Headers[name]
		switch {
		case !headerName(name):
			c.fault(at("headers", name), "", "%q is no name of a header", protocol.Short(name, 80))
		case slices.Contains(forbidden(), http.CanonicalHeaderKey(name)) || strings.HasPrefix(strings.ToLower(name), "mcp-"):
			c.fault(at("headers", name), "remove it", "the header %s is set by simd", name)
		case strings.ContainsFunc(s.Headers[name], unsendable):
			c.fault(at("headers", name), "", "the text has characters that a header cannot have")
		}
	}
	if len(places.Secret.Names(s.URL)) > 0 {
		c.fault(at("url"), "put it into a header", "a secret cannot be a part of the url")
	}
	c.secrets(texts, s.Needs, "headers")
	c.unused(s.Needs, texts)
}

func address(text string) (problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "want an address that begins with http:// or https://"
	case u.User != nil:
		return "an address has no user or password"
	case u.Fragment != "":
		return "an address of a server has no fragment"
	}
	return ""
}

// Words are those of the command.
func (s *Server) Words() []string { return s.beside.Words() }

// Script is the command as that of a tool: what goes with it is found and kept there.
func (s *Server) Script() *Tool { return &s.beside }

// MayDial reports whether the server names an address, "host:port", among its needs.
func (s *Server) MayDial(server string) bool { return names(s.Needs, server) }

// Where says in errors what the server is.
func (s *Server) Where() string {
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		if u.Port() == "" {
			return u.Hostname()
		}
		return net.JoinHostPort(u.Hostname(), u.Port())
	}
	program, _, _ := strings.Cut(s.Command, " ")
	return program
}

// NewMCPTool makes the definition of a pinned tool that no file defines.
func NewMCPTool(server string, p *Pinned) *Tool {
	t := &Tool{ID: MCPTool(server, p.Name), Implementation: Implementation{Type: MCP, Server: server, Tool: p.Name}}
	t.SetPinned(p)
	t.made = true
	return t
}

// SetPinned gives a tool of a server what its file does not say.
func (t *Tool) SetPinned(p *Pinned) {
	if t.Description == "" {
		t.Description = plain(p.Description)
	}
	if t.Parameters == nil {
		t.Parameters = p.InputSchema
	}
	if t.OutputSchema == nil && p.OutputSchema != nil {
		t.OutputSchema = p.OutputSchema
	}
}

// plain is a text of a server as a description: harmless and bounded.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, answer.Clean(text))
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription-len("…")], "") + "…"
	}
	return text
}
