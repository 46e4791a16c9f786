package permit

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// text is what a value says.
type text struct {
	readings []reading // each is what some program may take the value for
	others   []string  // they count only for rules that deny or ask
	sound    bool      // false = programs read it in ways that are not known
}

// reading are the spellings of one thing: a pattern fits it if it fits one of them.
type reading []string

// The tools whose files have more than one name, and the field that has a name.
const (
	readTool  = "read"
	editTool  = "edit"
	fileField = "src"
)

// read is what the value of a field of a call says.
func (c *Call) read(field, value string) text {
	switch {
	case c.Tool == scriptTool && field == scriptParam:
		return readWords(value, c.words)
	case (c.Tool == readTool || c.Tool == editTool) && field == fileField:
		return readFile(value)
	}
	canonical, sound := Canonical(value)
	x := text{sound: sound, readings: []reading{namesOf(given(value))}}
	if x.readings[0][0] != value {
		x.others = []string{value}
	}
	if canonical != value {
		x.readings = append(x.readings, namesOf(canonical))
	}
	if short := folder(canonical); short != canonical {
		x.others = append(x.others, namesOf(short)...)
	}
	return x
}

// readWords is a simple command: as its words are, and with the paths among them resolved.
// What denies the name of a program denies it in every folder, and what denies a folder denies it with a slash at
// its end, and behind --. Without words it is a whole
// script, and no path.
func readWords(value string, words []string) text {
	x := text{sound: true, readings: []reading{{value}}}
	if len(words) == 0 {
		return x
	}
	resolved := slices.Clone(words)
	for i, w := range words {
		if c, sound := Canonical(w); sound {
			resolved[i] = c
		}
	}
	if s := strings.Join(resolved, " "); s != value {
		x.readings = append(x.readings, reading{s})
	}
	x.others = append(x.others, bare(resolved)...)
	if i := strings.LastIndexByte(resolved[0], '/'); i >= 0 {
		resolved[0] = resolved[0][i+1:]
		x.others = append(append(x.others, strings.Join(resolved, " ")), bare(resolved)...)
	}
	return x
}

// bare is a command without the slashes at the ends of folders. If it has --, which ends its options, bare is also the same command
// without that: rules are written with it and without it.
func bare(words []string) []string {
	list := make([]string, len(words))
	for i := range words {
		list[i] = folder(words[i])
	}
	spellings := []string{strings.Join(list, " ")}
	if i := slices.Index(list, "--"); i > 0 {
		spellings = append(spellings, strings.Join(slices.Delete(list, i, i+1), " "))
	}
	return spellings
}

// folder is a path without the slashes at its end.
func folder(path string) string {
	if short := strings.TrimRight(path, "/"); short != "" {
		return short
	}
	return path
}

const (
	famScheme = "fam://"
	ownFiles  = famScheme + "agent/" // where paths of read and edit begin
)

// readFile is a file as read and edit find it: without the lines behind #, and below the files
// of the agent if it names no other place. Only the disk knows whether it is a folder: what denies all that is in one,
// x/*, denies the list of it.
func readFile(value string) text {
	name, _, _ := strings.Cut(value, "#")
	whole := []string{name}
	if strings.HasPrefix(name, "/") {
		whole = append(whole, path.Clean(name))
	}
	x := text{sound: true, others: []string{value}}
	for _, name := range whole {
		uri := uriOf(name)
		x.readings = append(x.readings, namesOfOwn(uri))
		if c, sound := Canonical(uri); sound && c != uri {
			x.readings = append(x.readings, namesOfOwn(c))
		}
	}
	for _, r := range x.readings {
		for _, name := range r {
			x.others = append(x.others, name+"/")
		}
	}
	return x
}

// uriOf is the reference that read and edit make of a path.
func uriOf(name string) string {
	if rest, inside := strings.CutPrefix(name, insideSession); inside {
		name = famScheme + rest
	} else if !strings.Contains(name, "://") && !strings.HasPrefix(name, "/") {
		for strings.HasPrefix(name, "./") {
			name = name[len("./"):]
		}
		name = ownFiles + name
	}
	if name == ownFiles {
		return name
	}
	return strings.TrimSuffix(name, "/")
}

// namesOfOwn are the names that read and edit know for a file.
func namesOfOwn(name string) reading {
	names := namesOf(name)
	if own, is := strings.CutPrefix(name, ownFiles); is {
		names = append(names, own, "./"+own)
	}
	return names
}

// namesOf are an address and, of what a mount has, its name in the session of an agent; or
// the other way round.
func namesOf(name string) reading {
	if rest, is := strings.CutPrefix(name, famScheme); is {
		return reading{name, insideSession + rest}
	}
	if rest, is := strings.CutPrefix(name, insideSession); is {
		return reading{name, famScheme + rest}
	}
	return reading{name}
}

// given is a text as it is. Of an address, scheme and host are in the spelling of Canonical:
// there nobody reads them in another way.
func given(text string) string {
	scheme, rest, address := strings.Cut(text, "://")
	if !address || strings.ContainsAny(scheme, ` /\?#`) {
		return text
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	scheme = strings.ToLower(scheme)
	user := strings.LastIndexByte(rest[:end], '@') + 1
	host, place := canonicalHost(scheme, strings.ToLower(rest[user:end])), rest[end:]
	if host == "" {
		return text
	}
	if !strings.HasPrefix(place, "/") && ports(scheme) != "" {
		place = "/" + place
	}
	return scheme + "://" + rest[:user] + host + place
}

// Canonical is a text in which ., .. and // of paths are resolved. Of an address, scheme and host
// are in lower case, and the path is decoded; user, blanks around it and the port that the
// scheme has anyway are left out. A path below /fam/ is its reference, fam://. ok is false for an address that programs read in different
// ways: one that cannot be decoded, whose host is not written in ASCII or is a number, or
// that has control characters, or backslashes before its path.
func Canonical(text string) (canonical string, ok bool) {
	trimmed := strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	scheme, rest, address := strings.Cut(trimmed, "://")
	address = address && !strings.ContainsAny(scheme, " /?#") // else it is a path, or words
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
	case !address:
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
	decoded, err := url.PathUnescape(place)
	host = canonicalHost(scheme, strings.ToLower(host))
	if err != nil || host == "" && scheme != "file" || strings.ContainsFunc(rest, control) {
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

// dotted reports whether a text is a path with something to resolve: ., .., or two slashes that are not those of an
// address within words.
func dotted(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), func(s string) bool { return s == "." || s == ".." }) ||
		strings.Contains(strings.ReplaceAll(text, "://", ":/"), "//")
}
