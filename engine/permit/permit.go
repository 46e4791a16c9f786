// Package permit judges calls of tools by rules: those of a project's tool_policy, and
// those that answer questions about calls.
//
// A [Policy] is the content of a file; [New] compiles it, and [Judge.Judge] gives the [Verdict]
// about a [Call]. A nil Judge allows everything.
//
// # Promises
//
//  1. Deny has precedence over ask, and ask over allow; the order
//     of the rules changes no verdict.
//  2. A call without a matching rule gets the policy's verdict otherwise, which is deny by
//     default. A tool that comes with the program is allowed.
//  3. A parameter is compared in its given and in its canonical spelling
//     (.. resolved, hosts in lower case). A rule that denies or asks matches either; a rule
//     that allows matches only the canonical one. An address that programs read in different ways,
//     and the value behind a reference, match rules that deny or ask, and none that allow.
//  4. In a script (the tool command) each simple command is judged, as its words with one
//     blank between. The script is allowed if all are allowed. This is advisory: only the sandbox
//     bounds what a script really does.
//  5. Time is bounded by the product of the lengths of patterns and values.
//
// # Not here
//
// Who asks, and who answers (engine/agent, scenes/tooling).
package permit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/glob"
	"tavernsim/protocol"
)

// Do is what becomes of a call.
type Do string

// Verdicts, from the weakest.
const (
	Allow Do = "allow"
	Ask   Do = "ask"
	Deny  Do = "deny"
)

// Policy is the field tool_policy.
type Policy struct {
	Otherwise Do     `json:"otherwise,omitempty"`
	Rules     []Rule `json:"rules"`
}

// Rule is about the calls that it fits.
type Rule struct {
	ID       string         `json:"id"`
	Tools    []string       `json:"tools"`
	Profiles []string       `json:"profiles,omitempty"`
	Agents   []string       `json:"agents,omitempty"`
	Params   map[string]any `json:"params,omitempty"`
	Do       Do             `json:"do"`
	Reason   string         `json:"reason,omitempty"`
}

const maxPattern = 1024 // bytes

// Call is what is judged.
type Call struct {
	Tool    string // as in an inventory
	Own     bool   // it comes with the program
	Profile string
	Agent   string // instance id
	Params  map[string]any
	// Hidden are parameters of whose content only a reference is known: a rule about one fits
	// to deny and to ask, and does not to allow.
	Hidden []string
}

// Verdict is the one about a call.
type Verdict struct {
	Do     Do
	Rule   string // "" = none fits
	Reason string
}

// Judge is a compiled policy.
type Judge struct {
	rules     []rule
	otherwise Do
}

// Asks reports whether it may ask about a call at all.
func (j *Judge) Asks() bool {
	return j != nil && (j.otherwise == Ask || slices.ContainsFunc(j.rules, func(r rule) bool { return r.Do == Ask }))
}

type rule struct {
	Rule
	tools, profiles, agents glob.List
	params                  []param
}

type param struct {
	pointer  []string
	patterns glob.List
}

// Fault is something wrong, at a place of the policy.
type Fault struct {
	Steps   []string
	Message string
}

// New compiles a policy; nil for none.
func New(p *Policy) (*Judge, []Fault) {
	if p == nil {
		return nil, nil
	}
	j, seen := &Judge{otherwise: cmp.Or(p.Otherwise, Deny)}, map[string]bool{}
	var faults []Fault
	for i := range p.Rules {
		at := func(steps ...string) []string { return append([]string{"rules", fmt.Sprint(i)}, steps...) }
		r := rule{Rule: p.Rules[i]}
		r.tools, r.profiles, r.agents = glob.NewList(r.Tools), glob.NewList(r.Profiles), glob.NewList(r.Agents)
		if seen[r.ID] {
			faults = append(faults, Fault{at("id"), fmt.Sprintf("another rule has the id %q", protocol.Short(r.ID, 80))})
		}
		seen[r.ID] = true
		for field, list := range map[string][]string{"tools": r.Tools, "profiles": r.Profiles, "agents": r.Agents} {
			if list != nil && len(list) == 0 {
				faults = append(faults, Fault{at(field), "an empty list fits nothing; leave it out, or write a pattern"})
			}
		}
		for _, name := range protocol.SortedKeys(r.Params) {
			patterns := texts(r.Params[name])
			x := param{pointer: protocol.Pointer(name), patterns: glob.NewList(patterns)}
			if x.pointer == nil {
				faults = append(faults, Fault{at("params", name), "want a JSON pointer such as /name"})
			}
			if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return len(p) > maxPattern }) {
				faults = append(faults, Fault{at("params", name), fmt.Sprintf("want a pattern, or a list of them, each of at most %d bytes", maxPattern)})
			}
			r.params = append(r.params, x)
		}
		j.rules = append(j.rules, r)
	}
	slices.SortStableFunc(j.rules, func(a, b rule) int { return cmp.Or(cmp.Compare(weight(b.Do), weight(a.Do)), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(faults, func(a, b Fault) int { return slices.Compare(a.Steps, b.Steps) })
	return j, faults
}

func weight(d Do) int { return slices.Index([]Do{Allow, Ask, Deny}, d) }

// texts are patterns as they may be written; numbers and truth values are texts.
func texts(v any) (list []string) {
	if l, ok := v.([]any); ok {
		for _, e := range l {
			one := texts(e)
			if len(one) != 1 {
				return nil
			}
			list = append(list, one...)
		}
		return list
	}
	if _, ok := v.(map[string]any); ok || v == nil {
		return nil
	}
	return []string{textOf(v)}
}

// Judge judges a call: the first rule that fits, since the strictest come first.
func (j *Judge) Judge(c *Call) Verdict {
	if j == nil {
		return Verdict{Do: Allow}
	}
	if script, is := c.Params[scriptParam].(string); is && c.Tool == scriptTool {
		return j.judgeScript(c, script)
	}
	return j.judge(c)
}

// judge judges a call as a whole.
func (j *Judge) judge(c *Call) Verdict {
	for i := range j.rules {
		if r := &j.rules[i]; r.fits(c) {
			return Verdict{r.Do, r.ID, r.Reason}
		}
	}
	if c.Own {
		return Verdict{Do: Allow}
	}
	return Verdict{Do: j.otherwise}
}

func (r *rule) fits(c *Call) bool {
	if len(r.tools) == 0 || !r.tools.Match(c.Tool) || !r.profiles.Match(c.Profile) || !r.agents.Match(c.Agent) {
		return false
	}
	for i := range r.params {
		if !r.params[i].fits(c, r.Do == Allow) {
			return false
		}
	}
	return true
}

// fits reports whether a parameter fits. Of several values, as of a list, one is enough to
// deny, and all are needed to allow.
func (p *param) fits(c *Call, allow bool) bool {
	if slices.Contains(c.Hidden, p.pointer[0]) {
		return !allow
	}
	found, all := walk(nil, c.Params, p.pointer)
	if allow {
		return all && len(found) > 0 && !slices.ContainsFunc(found, func(v any) bool { return !p.fitsOne(v, true) })
	}
	return slices.ContainsFunc(found, func(v any) bool { return p.fitsOne(v, false) || p.fitsInside(v) })
}

func (p *param) fitsOne(v any, allow bool) bool {
	text := textOf(v)
	canonical, sound := Canonical(text)
	if allow {
		return sound && p.patterns.Match(canonical)
	}
	return !sound || p.patterns.Match(text) || p.patterns.Match(canonical)
}

// fitsInside reports whether something within an object is what a rule denies or asks about.
func (p *param) fitsInside(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for _, e := range m {
		if found, _ := walk(nil, e, nil); slices.ContainsFunc(found, func(v any) bool { return p.fitsOne(v, false) || p.fitsInside(v) }) {
			return true
		}
	}
	return false
}

// walk appends what a pointer leads to: in a list the element of a number, or what all of
// them have; and of a list the elements. all is false if one of the places is not there.
func walk(found []any, v any, pointer []string) (list []any, all bool) {
	switch x := v.(type) {
	case []any:
		if len(pointer) > 0 {
			if i, err := strconv.Atoi(pointer[0]); err == nil {
				if i < 0 || i >= len(x) {
					return found, false
				}
				return walk(found, x[i], pointer[1:])
			}
		}
		all = true
		for _, e := range x {
			var there bool
			found, there = walk(found, e, pointer)
			all = all && there
		}
		return found, all
	case map[string]any:
		if len(pointer) > 0 {
			e, ok := x[pointer[0]]
			if !ok {
				return found, false
			}
			return walk(found, e, pointer[1:])
		}
	}
	if len(pointer) > 0 {
		return found, false
	}
	return append(found, v), true
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	w := json.NewEncoder(&b) // keys of objects are sorted
	w.SetEscapeHTML(false)
	if err := w.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Canonical is a text in which . and .. of paths are resolved. Of an address, scheme and host
// are in lower case, and the path is decoded; user, blanks around it and the port that the
// scheme has anyway are left out. A path below /fam/ is its reference, fam://. ok is false for an address that programs read in different
// ways: one that cannot be decoded, whose host is not written in ASCII or is a number, or
// that has control characters, or backslashes before its path.
func Canonical(text string) (canonical string, ok bool) {
	trimmed := strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	scheme, rest, address := strings.Cut(trimmed, "://")
	switch {
	case !address && likeAddress(trimmed):
		return "", false
	case !address && dotted(text):
		if clean := path.Clean(strings.ReplaceAll(text, `\`, "/")); clean != text {
			return Canonical(clean)
		}
		return text, true
	case !address && strings.HasPrefix(text, insideSession):
		return Canonical("fam://" + text[len(insideSession):])
	case !address || strings.ContainsAny(scheme, " /?#"):
		return text, true
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if strings.Contains(rest[:end], `\`) || strings.ContainsFunc(scheme, control) {
		return "", false
	}
	host := rest[strings.LastIndexByte(rest[:end], '@')+1 : end]
	rest, _, _ = strings.Cut(rest[end:], "#")
	place, query, asks := strings.Cut(rest, "?")
	if asks {
		query = "?" + query
	}
	scheme = strings.ToLower(scheme)
	decoded, sound := unescape(place)
	host = canonicalHost(scheme, strings.ToLower(host))
	if !sound || host == "" && scheme != "file" || strings.ContainsFunc(rest, control) {
		return "", false
	}
	p := strings.ReplaceAll(decoded, `\`, "/")
	if p == "" && ports(scheme) != "" {
		p = "/"
	}
	if slash := strings.HasSuffix(p, "/"); p != "" {
		if p = path.Clean(p); slash && p != "/" {
			p += "/"
		}
	}
	return scheme + "://" + host + p + query, true
}

// insideSession is where programs of a session see what fam:// names; read and edit know both.
const insideSession = "/fam/"

// likeAddress reports whether a text is an address for programs that forgive a lot: https:/x,
// HTTPS:\x, or with blanks in the scheme.
func likeAddress(text string) bool {
	scheme, rest, ok := strings.Cut(strings.ToLower(text), ":")
	scheme = strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, scheme)
	rest = strings.TrimLeft(rest, " \t\r\n")
	return ok && ports(scheme) != "" && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, `\`))
}

// ports is the port that addresses of a scheme have if they name none.
func ports(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// canonicalHost is a host in lower case without the port of its scheme; "" = it is none, or
// programs read it in different ways.
func canonicalHost(scheme, host string) string {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name, port = host[:i], host[i+1:]
	}
	name = strings.TrimRight(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case strings.HasPrefix(name, "["):
		ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if err != nil || ip.Zone() != "" {
			return ""
		}
		if name = ip.Unmap().String(); !ip.Unmap().Is4() {
			name = "[" + name + "]"
		}
	case strings.ContainsFunc(name, odd):
		return ""
	case last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")):
		ip, err := netip.ParseAddr(name)
		if err != nil {
			return ""
		}
		name = ip.String()
	}
	if strings.Trim(port, "0123456789") != "" {
		return ""
	}
	if port = strings.TrimLeft(port, "0"); port == "" || port == ports(scheme) {
		return name
	}
	return name + ":" + port
}

// odd are characters that no host has, as simd compares them.
func odd(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r))
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// unescape decodes the percent signs of a path; false = one of them is none.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), true
}

// dotted reports whether a text is a path with something to resolve.
func dotted(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), func(s string) bool { return s == "." || s == ".." }) ||
		strings.HasPrefix(text, "/") && strings.Contains(text, "//")
}
