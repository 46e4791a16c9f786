package mount

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tools/artifact"
	"tavernsim/tools/plugin"
)

// Scheme begins the URI of a file of a mount.
const Scheme = "fam://"

// Inside is the folder below which programs see the mounts.
const Inside = "/fam/"

// The mounts.
const (
	Project = "project" // the files of the project as the run began with them; read-only
	Run     = "run"     // shared by the agents of a scene
	Agent   = "agent"   // of one agent

	// OfPlugin and the name of a plugin are the files of the plugin as the run began with
	// them; read-only.
	OfPlugin = "plugin-"
)

// pluginOf is the plugin whose files a mount has; "" = it has those of none.
func pluginOf(mount string) string {
	if name, ok := strings.CutPrefix(mount, OfPlugin); ok && plugin.IsName(name) {
		return name
	}
	return ""
}

// ReadOnly reports whether nobody changes the files of a mount while a run is under way.
func ReadOnly(mount string) bool { return mount == Project || pluginOf(mount) != "" }

// Limits of what is read, in bytes.
const (
	MaxData = 64 << 10 // in a data: URI
	MaxText = 1 << 20  // into a parameter
	MaxFile = 64 << 20 // as a file
	maxURI  = 4 * MaxData
	maxPath = 1024
)

// Source is what the URIs of one agent may refer to.
type Source struct {
	Folders   map[string]string // by mount; one that is not there yet is empty
	Artifacts *artifact.Store   // nil = there are none
	// Contents are the ids of what URIs must lead to, since somebody allowed just that; URIs
	// that are not in it may lead to anything.
	Contents map[string]string
}

// Missing is the id of what was not there, or could not be read.
const Missing = "missing"

// ID is the id of the content of a file of a mount.
func (s *Source) ID(uri string) string {
	c, err := s.file(uri, MaxFile)
	if err != nil {
		return Missing
	}
	return idOf(c.Data)
}

func idOf(data []byte) string { return fmt.Sprintf("sha256-%x", sha256.Sum256(data)) }

// Same refuses contents that have changed since somebody allowed them.
func (s *Source) Same() error {
	for _, uri := range protocol.SortedKeys(s.Contents) {
		if s.ID(uri) != s.Contents[uri] {
			return changed(uri)
		}
	}
	return nil
}

func changed(uri string) error {
	return protocol.Errorf(protocol.KindDenied, "what %q refers to has changed since the call was allowed; call again", protocol.Short(uri, 80))
}

// Content is what a URI refers to.
type Content struct {
	Data []byte
	Name string // of the file, without a folder
}

// Read reads what a URI refers to, at most so many bytes.
func (s *Source) Read(uri string, most int64) (*Content, error) {
	switch scheme := schemeOf(uri); {
	case len(uri) > maxURI:
		return nil, protocol.Errorf(protocol.KindLimit, "a URI of %d bytes; the limit is %d", len(uri), maxURI)
	case strings.HasPrefix(uri, Scheme):
		c, err := s.file(uri, most)
		if want, bound := s.Contents[uri]; err == nil && bound && idOf(c.Data) != want {
			return nil, changed(uri)
		}
		return c, err
	case scheme == "artifact":
		return s.artifact(uri, most)
	case scheme == "data":
		return data(uri, most)
	default:
		return nil, foreign(uri, scheme)
	}
}

// Check refuses a URI that Read would refuse by its form.
func (s *Source) Check(uri string) error {
	switch scheme := schemeOf(uri); {
	case len(uri) > maxURI:
		return protocol.Errorf(protocol.KindLimit, "a URI of %d bytes; the limit is %d", len(uri), maxURI)
	case strings.HasPrefix(uri, Scheme):
		_, _, err := Path(uri)
		return err
	case scheme == "artifact":
		if id := uri[len(tool.ArtifactScheme):]; !tool.CheckArtifact(id) {
			return protocol.Errorf(protocol.KindInvalid, "%q is no artifact; want artifact:sha256- and 64 hexadecimal digits", protocol.Short(uri, 80))
		}
		return nil
	case scheme == "data":
		_, err := data(uri, MaxData)
		return err
	default:
		return foreign(uri, scheme)
	}
}

// schemeOf is the scheme of a URI, in lower case; "" = it has none.
func schemeOf(uri string) string {
	scheme, _, found := strings.Cut(uri, ":")
	if !found || scheme == "" || strings.ContainsFunc(scheme, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-.", r)
	}) {
		return ""
	}
	return strings.ToLower(scheme)
}

const forms = "want fam://project/PATH, fam://run/PATH, fam://agent/PATH, fam://plugin-NAME/PATH, artifact:sha256-… or data:…"

// foreign refuses what is no URI of this package.
func foreign(uri, scheme string) error {
	shown := protocol.Short(uri, 80)
	switch scheme {
	case "http", "https":
		return protocol.Errorf(protocol.KindDenied, "the reference %q is not fetched: references to servers are not carried out; %s, or let a tool ask the server", shown, forms)
	case "file":
		return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: file: leads to the machine, not into the run; %s", shown, forms)
	case "":
		if strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, `\`) {
			return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: an absolute path leads to the machine, or is a session's alone, as /work and /tmp are; %s", shown, forms)
		}
		return protocol.Errorf(protocol.KindInvalid, "%q is no reference; %s", shown, forms)
	}
	return protocol.Errorf(protocol.KindDenied, "the reference %q has a scheme that is not known; %s", shown, forms)
}

// Path takes a fam: URI apart: the mount, and a plain path below it, "." for itself.
func Path(uri string) (mount, name string, err error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return "", "", foreign(uri, schemeOf(uri))
	}
	refuse := func(why string) (string, string, error) {
		return "", "", protocol.Errorf(protocol.KindDenied, "the reference %q is refused: %s", protocol.Short(uri, 80), why)
	}
	mount, name, _ = strings.Cut(rest, "/")
	if name = strings.TrimSuffix(name, "/"); name == "" {
		name = "."
	}
	switch {
	case mount != Project && mount != Run && mount != Agent && pluginOf(mount) == "":
		return "", "", protocol.Errorf(protocol.KindInvalid, "the reference %q names no mount; there are project, run, agent, and plugin-NAME for a plugin", protocol.Short(uri, 80))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return refuse("its path has a control character, or is no UTF-8")
	case strings.ContainsAny(name, `\?#`) || escaped(name):
		return refuse(`write the path as it is, without escapes, \, ? and #`)
	case !fs.ValidPath(name):
		return refuse(`its path has an empty part, "." or ".."`)
	case len(name) > maxPath:
		return refuse(fmt.Sprintf("its path has more than %d bytes", maxPath))
	}
	return mount, name, nil
}

// escaped finds %XX: nobody here reads it as another character, and others might.
func escaped(name string) bool {
	const digits = "0123456789abcdefABCDEF"
	for i := range len(name) - 2 {
		if name[i] == '%' && strings.IndexByte(digits, name[i+1]) >= 0 && strings.IndexByte(digits, name[i+2]) >= 0 {
			return true
		}
	}
	return false
}

// Open opens a file or folder of a mount. You must close it.
func (s *Source) Open(uri string) (*os.File, fs.FileInfo, error) {
	mount, name, err := Path(uri)
	if err != nil {
		return nil, nil, err
	}
	root, err := s.root(mount)
	if err != nil {
		return nil, nil, cmp.Or(cause(mount, err), failed(uri, err))
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer must not hold us
	if err != nil {
		return nil, nil, failed(uri, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = plain(uri, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// errNoMount: the mount has no folder here.
var errNoMount = errors.New("there is no such mount")

func cause(mount string, err error) error {
	if errors.Is(err, errNoMount) {
		return protocol.Errorf(protocol.KindNotFound, "there is no mount %s here; it belongs to a run", mount)
	}
	return nil
}

// root opens the folder of a mount. That of a plugin lies in the files of the project, and no
// link leads out of them.
func (s *Source) root(mount string) (*os.Root, error) {
	name, folder := pluginOf(mount), s.Folders[mount]
	if name != "" {
		folder = s.Folders[Project]
	}
	if folder == "" {
		return nil, errNoMount
	}
	root, err := os.OpenRoot(folder)
	if err != nil || name == "" {
		return root, err
	}
	defer root.Close()
	return root.OpenRoot(plugin.Folder + "/" + name)
}

// plain refuses what is neither a file nor a folder, and a file that has a second name: it
// may lie outside.
func plain(uri string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: it is no file", protocol.Short(uri, 80))
	case links(info) > 1:
		return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: the file has another name, which may lie outside of the mount; copy it", protocol.Short(uri, 80))
	}
	return nil
}

// failed is an error of the system in words that name no folder of the machine.
func failed(uri string, err error) error {
	shown := protocol.Short(uri, 80)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return protocol.Errorf(protocol.KindNotFound, "there is no %q", shown)
	case errors.Is(err, fs.ErrPermission):
		return protocol.Errorf(protocol.KindDenied, "%q cannot be read", shown)
	}
	if _, system := errors.AsType[syscall.Errno](err); !system { // the root says it, by no error of its own name
		return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: a link leads out of the mount; copy what it leads to into the mount", shown)
	}
	return protocol.Errorf(protocol.KindDenied, "the reference %q is refused: %w", shown, err)
}

func (s *Source) file(uri string, most int64) (*Content, error) {
	f, info, err := s.Open(uri)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.IsDir() {
		return nil, protocol.Errorf(protocol.KindInvalid, "%q is a folder; name a file in it", protocol.Short(uri, 80))
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, failed(uri, err)
	}
	return bounded(uri, b, path.Base(uri), most)
}

func bounded(uri string, b []byte, name string, most int64) (*Content, error) {
	if int64(len(b)) > most {
		return nil, protocol.Errorf(protocol.KindLimit, "%q has more than %d bytes, which is the limit here", protocol.Short(uri, 80), most)
	}
	return &Content{b, name}, nil
}

func (s *Source) artifact(uri string, most int64) (*Content, error) {
	id := uri[len(tool.ArtifactScheme):]
	if s.Artifacts == nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "there are no artifacts here; they belong to a run")
	}
	b, err := s.Artifacts.Read(id)
	if err != nil {
		return nil, err
	}
	return bounded(uri, b, id, most)
}

// data reads a data: URI: data:[TYPE][;base64],CONTENT.
func data(uri string, most int64) (*Content, error) {
	head, content, found := strings.Cut(uri[len("data:"):], ",")
	if !found {
		return nil, protocol.Errorf(protocol.KindInvalid, "the reference %q has no comma; want data:TYPE;base64,CONTENT or data:,TEXT", protocol.Short(uri, 80))
	}
	var b []byte
	var err error
	if strings.HasSuffix(strings.ToLower(head), ";base64") {
		b, err = base64.StdEncoding.DecodeString(content)
	} else {
		var text string
		text, err = url.PathUnescape(content)
		b = []byte(text)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "the reference %q cannot be decoded: %w", protocol.Short(uri, 80), err)
	}
	return bounded(protocol.Short(uri, 40), b, "data", min(most, MaxData))
}

// Folder is a name for a folder of somebody: ids may have any characters.
func Folder(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return "%"
	}
	if b.Len() > maxName {
		return fmt.Sprintf("%s-%x", b.String()[:maxName/2], sha256.Sum256([]byte(id)))
	}
	return b.String()
}

const maxName = 150 // bytes; file systems allow 255
