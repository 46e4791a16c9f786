package manifest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tools/manifest/places"
)

// request is the compiled request of an http tool.
type request struct {
	address        *url.URL // without what parameters fill in
	path, query    []part
	names, headers []named // of the query and the headers, sorted by name
	body           any
	used           []string // names of parameters that something uses
}

// part is a piece of a text: fixed, or the value of a parameter.
type part struct {
	text    string
	pointer []string // nil = text
}

type named struct {
	name  string
	value any // a text, or a reference
}

// refKey is the one field of an object that stands for the value of a parameter.
const refKey = "from"

func methods() []string { return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} }

// forbidden are headers that belong to the engine or to the connection.
func forbidden() []string {
	return []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Idempotency-Key", "X-Idempotency-Key", "Proxy-Authorization", "Accept-Encoding"}
}

func (c *checker) http() {
	x, r := &c.tool.Implementation, &request{}
	if !slices.Contains(methods(), x.Method) {
		c.fault(at("implementation", "method"), "", "%q is no method; want one of %s", x.Method, strings.Join(methods(), ", "))
	}
	if len(places.Option.Names(x.URL)) > 0 {
		c.fault(at("implementation", "url"), "put it into a header, query or body", "an option cannot be a part of the url: the server is what the operator grants")
		return
	}
	if len(places.Secret.Names(x.URL)) > 0 {
		c.fault(at("implementation", "url"), "put it into a header, or into query", "a secret cannot be a part of the url")
		return
	}
	if problem := r.locate(x.URL); problem != "" {
		c.fault(at("implementation", "url"), "", "%s", problem)
		return
	}
	c.dialled(r.address.Hostname(), "implementation", "url")
	c.secrets(x.Headers, c.tool.Needs, "implementation", "headers")
	c.secrets(x.Query, c.tool.Needs, "implementation", "query")
	c.secrets(x.Body, c.tool.Needs, "implementation", "body")
	c.unused(c.tool.Needs, x.Headers, x.Query, x.Body)
	r.names = c.entries("query", x.Query)
	r.headers = c.entries("headers", x.Headers)
	for _, h := range r.headers {
		switch {
		case !headerName(h.name):
			c.fault(at("implementation", "headers", h.name), "", "%q is no name of a header", h.name)
		case slices.Contains(forbidden(), http.CanonicalHeaderKey(h.name)):
			c.fault(at("implementation", "headers", h.name), "remove it", "the header %s is set by simd", h.name)
		}
	}
	if x.Body != nil && (x.Method == "GET" || x.Method == "HEAD") {
		c.fault(at("implementation", "body"), "use POST, or query", "a request with the method %s has no body", x.Method)
	}
	r.body = x.Body
	c.references(x.Body, []string{"implementation", "body"})
	for _, p := range slices.Concat(r.path, r.query) {
		if p.pointer != nil {
			c.known(p.pointer, "implementation", "url")
			r.used = append(r.used, p.pointer[0])
		}
	}
	for _, n := range slices.Concat(r.names, r.headers) {
		if p := reference(n.value); p != nil {
			r.used = append(r.used, p[0])
		}
	}
	c.tool.http = r
}

// entries checks texts and references by name.
func (c *checker) entries(field string, m map[string]any) (list []named) {
	for _, name := range protocol.SortedKeys(m) {
		v := m[name]
		if _, text := v.(string); !text && reference(v) == nil {
			c.fault(at("implementation", field, name), "", "want a text, or {%s: /pointer} for the value of a parameter", refKey)
			continue
		}
		c.references(v, []string{"implementation", field, name})
		list = append(list, named{name, v})
	}
	return list
}

// references checks every reference within a value.
func (c *checker) references(v any, steps []string) {
	if p := reference(v); p != nil {
		c.known(p, steps...)
		return
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range protocol.SortedKeys(x) {
			c.references(x[name], append(slices.Clone(steps), name))
		}
	case []any:
		for _, e := range x {
			c.references(e, steps)
		}
	}
}

// known refuses a pointer whose first step is no declared parameter.
func (c *checker) known(pointer []string, steps ...string) {
	properties, _ := c.tool.Parameters["properties"].(map[string]any)
	if _, ok := properties[pointer[0]]; !ok && c.tool.Parameters["additionalProperties"] == false {
		c.fault(steps, "", "/%s points to no parameter; there are %s", strings.Join(pointer, "/"), cmp.Or(strings.Join(protocol.SortedKeys(properties), ", "), "none"))
	}
}

// reference is the pointer of an object {from: /pointer}; nil = it is none.
func reference(v any) []string {
	m, ok := v.(map[string]any)
	text, isText := m[refKey].(string)
	if !ok || len(m) != 1 || !isText {
		return nil
	}
	return protocol.Pointer(text)
}

// locate reads the address; the problem says what is wrong with it.
func (r *request) locate(text string) (problem string) {
	head, query, _ := strings.Cut(text, "?")
	scheme, rest, ok := strings.Cut(head, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case !ok || scheme != "http" && scheme != "https":
		return "want an address that begins with http:// or https://"
	case strings.ContainsAny(host, "{}"):
		return "a parameter cannot be a part of the host"
	case strings.Contains(text, "#"):
		return "an address of a server has no fragment"
	}
	var err error
	if r.address, err = url.Parse(scheme + "://" + host); err != nil || r.address.Hostname() == "" {
		return "the address has no host that can be read"
	}
	if r.address.User != nil {
		return "an address has no user or password"
	}
	if r.path, problem = parts(path); problem == "" {
		r.query, problem = parts(query)
	}
	return problem
}

// parts cuts a text at its {/pointer}s.
func parts(text string) (list []part, problem string) {
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			list = append(list, part{text: before})
		}
		if !found {
			return list, ""
		}
		inside, after, closed := strings.Cut(rest, "}")
		p := protocol.Pointer(inside)
		if !closed || p == nil {
			return nil, "{" + protocol.Short(inside, 40) + "} is no place of a parameter; want {/name}"
		}
		list, text = append(list, part{pointer: p}), after
	}
	return list, ""
}

// Request is what an http tool sends for a call.
type Request struct {
	Method string
	URL    string
	Server string // host:port
	Header http.Header
	Body   []byte // nil = none
}

// Request makes the request of an http tool, with its secrets. A value that cannot stand in
// its place is invalid; no error has a secret.
func (t *Tool) Request(params map[string]any, secrets map[string]string) (*Request, error) {
	r := t.http
	q := &Request{Method: t.Implementation.Method, Header: http.Header{}, Server: t.Server()}
	path, err := fill(r.path, params, url.PathEscape)
	if err != nil {
		return nil, err
	}
	query, err := fill(r.query, params, url.QueryEscape)
	if err != nil {
		return nil, err
	}
	for _, n := range r.names {
		text, given, err := textOf(n.value, params, secrets)
		if err != nil {
			return nil, err
		}
		if given {
			query = strings.TrimPrefix(query+"&"+url.QueryEscape(n.name)+"="+url.QueryEscape(text), "&")
		}
	}
	for _, h := range r.headers {
		text, given, err := textOf(h.value, params, secrets)
		switch {
		case err != nil:
			return nil, err
		case given && strings.ContainsFunc(text, unsendable):
			if len(places.Secret.Names(h.value)) > 0 {
				text = "the secret"
			}
			return nil, protocol.Errorf(protocol.KindInvalid, "%s for the header %s has characters that a header cannot have", protocol.Short(text, 80), h.name)
		case given:
			q.Header.Set(h.name, text)
		}
	}
	q.URL = r.address.String() + "/" + path
	if query != "" {
		q.URL += "?" + query
	}
	q.Body, err = r.bodyOf(t.Implementation.Method, params, secrets)
	return q, err
}

// Server is the host and port that an http tool speaks with; "" = its definition is wrong.
func (t *Tool) Server() string {
	if t.http == nil {
		return ""
	}
	return hostPort(t.http.address)
}

func (r *request) bodyOf(method string, params map[string]any, secrets map[string]string) ([]byte, error) {
	var body any
	switch {
	case r.body != nil:
		body, _ = substitute(r.body, params, secrets)
	case method == "POST" || method == "PUT" || method == "PATCH":
		left := maps.Clone(params)
		for _, name := range r.used {
			delete(left, name)
		}
		if left == nil {
			left = map[string]any{}
		}
		body = left
	default:
		return nil, nil
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "the body: %w", err)
	}
	return b, nil
}

// substitute puts parameters in the place of references, and secrets into fixed texts; false = the parameter is
// missing, and its place is left out.
func substitute(v any, params map[string]any, secrets map[string]string) (any, bool) {
	if p := reference(v); p != nil {
		return walk(params, p)
	}
	switch x := v.(type) {
	case string:
		return places.Secret.Fill(x, secrets), true
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, e := range x {
			if e, ok := substitute(e, params, secrets); ok {
				out[name] = e
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(x))
		for _, e := range x {
			if e, ok := substitute(e, params, secrets); ok {
				out = append(out, e)
			}
		}
		return out, true
	}
	return v, true
}

// walk is the value that a pointer leads to.
func walk(v any, pointer []string) (any, bool) {
	for _, step := range pointer {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[step]; !ok {
			return nil, false
		}
	}
	return v, true
}

// fill joins parts. A missing parameter is empty, and a path cannot have one: it would be
// the address of something else.
func fill(list []part, params map[string]any, escape func(string) string) (string, error) {
	var b strings.Builder
	for _, p := range list {
		if p.pointer == nil {
			b.WriteString(p.text)
			continue
		}
		v, _ := walk(params, p.pointer)
		text, err := scalar(v, strings.Join(p.pointer, "/"))
		if err != nil {
			return "", err
		}
		if text == "" || text == "." || text == ".." {
			return "", protocol.Errorf(protocol.KindInvalid, "/%s is %q and stands in the address; want a text that is not empty and no dots", strings.Join(p.pointer, "/"), text)
		}
		b.WriteString(escape(text))
	}
	return b.String(), nil
}

// textOf is the text of an entry of query or headers; false = its parameter is missing.
func textOf(v any, params map[string]any, secrets map[string]string) (text string, given bool, err error) {
	p := reference(v)
	if p == nil {
		text, given = v.(string)
		return places.Secret.Fill(text, secrets), given, nil
	}
	if v, given = walk(params, p); !given || v == nil {
		return "", false, nil
	}
	text, err = scalar(v, strings.Join(p, "/"))
	return text, true, err
}

func scalar(v any, name string) (string, error) {
	switch x := v.(type) {
	case nil:
		return "", nil
	case string:
		return x, nil
	case map[string]any, []any:
		return "", protocol.Errorf(protocol.KindInvalid, "/%s is a list or an object; only the body can hold it", name)
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// headerName reports whether a text is the name of a header (RFC 9110, token).
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > 0x7e || !strings.ContainsRune("!#$%&'*+-.^_`|~", r) && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}

// unsendable characters end a header, or are refused by servers.
func unsendable(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
