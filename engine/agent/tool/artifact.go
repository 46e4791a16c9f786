package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/protocol/picture"
)

// Artifact is a file that a call left. The run keeps it beside its journal, under the hash
// of its bytes; facts name it.
type Artifact struct {
	ID   string `json:"id"` // sha256-…, in lower hexadecimal
	Size int64  `json:"size"`
	Type string `json:"type"` // media type
	Name string `json:"name"` // WholeOutput, or what the tool calls it
}

// WholeOutput is the name of the artifact that has all of an output of which a fact has a
// part.
const WholeOutput = "output"

// ArtifactScheme begins the URI of an artifact.
const ArtifactScheme = "artifact:"

// URI names the artifact for agents and parameters.
func (a *Artifact) URI() string { return ArtifactScheme + a.ID }

const artifactFields = 4

// AppendArtifacts writes the last field of a fact or an answer, if there are any.
func AppendArtifacts(b []byte, list []Artifact) []byte {
	if len(list) == 0 {
		return b
	}
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for i := range list {
		a := &list[i]
		b = msgp.AppendArrayHeader(b, artifactFields)
		b = protocol.AppendInt(msgp.AppendString(b, a.ID), a.Size)
		b = msgp.AppendString(msgp.AppendString(b, a.Type), a.Name)
	}
	return b
}

// ReadArtifacts is the reverse of AppendArtifacts, of some.
func ReadArtifacts(r *protocol.Reader) (list []Artifact) {
	n, _ := r.Count(artifactFields)
	for range n {
		r.Fields("artifact", artifactFields)
		list = append(list, Artifact{ID: r.String(), Size: r.Int(), Type: r.Word(), Name: r.String()})
	}
	return list
}

// MaxLeft is how many fields may end an answer of a call: its artifacts, that it was carried out though its error
// says otherwise, and what hooks did to the call. Those at the end that say nothing are left out.
const MaxLeft = 3

// Left is how many of these fields an answer has.
func Left(list []Artifact, carried bool, hooks protocol.Raw) uint32 {
	switch {
	case len(hooks) > 0:
		return MaxLeft
	case carried:
		return 2
	}
	return uint32(min(1, len(list)))
}

// AppendLeft appends these fields.
func AppendLeft(b []byte, list []Artifact, carried bool, hooks protocol.Raw) []byte {
	n := Left(list, carried, hooks)
	if n > 1 && len(list) == 0 {
		b = msgp.AppendArrayHeader(b, 0)
	}
	b = AppendArtifacts(b, list)
	if n > 1 {
		b = msgp.AppendBool(b, carried)
	}
	if n > 2 {
		b = append(b, hooks...)
	}
	return b
}

// ReadLeft is the reverse of AppendLeft; first is the number of the first of these fields.
func ReadLeft(r *protocol.Reader, first uint32) (list []Artifact, carried bool, hooks protocol.Raw) {
	if r.Has(first) {
		list = ReadArtifacts(r)
	}
	carried = r.Has(first+1) && r.Bool()
	if r.Has(first + 2) {
		hooks = r.Raw()
	}
	return list, carried, hooks
}

// Images are the artifacts that a model can be shown.
func Images(list []Artifact) (images []protocol.Image) {
	for i := range list {
		if a := &list[i]; slices.Contains(picture.Types(), a.Type) && a.Size <= picture.MaxBytes {
			images = append(images, protocol.Image{URI: a.URI(), Type: a.Type, Found: true})
		}
	}
	return images
}

// CheckArtifact reports whether a text is the id of an artifact.
func CheckArtifact(id string) bool {
	digits, ok := strings.CutPrefix(id, "sha256-")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// Excerpt is a text of at most so many bytes: its beginning, three quarters, and its end,
// and how much is left out.
func Excerpt(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return excerpt(s, most, int64(len(s)), "")
}

// ExcerptOf is an Excerpt that names where all of the text is. The text may be a longer
// Excerpt itself.
func ExcerptOf(s string, most int, whole *Artifact) string {
	if len(s) <= most {
		return s
	}
	return excerpt(s, most, whole.Size, fmt.Sprintf("; all %d bytes are %s", whole.Size, whole.URI()))
}

func excerpt(s string, most int, total int64, where string) string {
	note := 64 + len(where) // bytes for the words between
	head := (most - note) / 4 * 3
	tail := len(s) - (most - note - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + fmt.Sprintf("\n… %d bytes are left out%s …\n", total-int64(head+len(s)-tail), where) + s[tail:]
}

// MaxView is how many bytes of a result from outside a model sees.
const MaxView = 16 << 10

// View is the part of a result from outside that an agent is shown.
func View(output any, artifacts []Artifact) any {
	text, isText := output.(string)
	if !isText {
		b := template.AppendJSON(nil, output)
		if len(b) <= MaxView {
			return output
		}
		text = string(b)
	}
	for i := range artifacts {
		if artifacts[i].Name == WholeOutput {
			return ExcerptOf(text, MaxView, &artifacts[i])
		}
	}
	return Excerpt(text, MaxView)
}

// AskedPeople is the name of the artifact that says what persons were asked in a call. It is for who looks on.
const AskedPeople = "asked.json"

// Unnamed says which files a call left that its output, a value, does not name: a line for each. A text names its own.
func Unnamed(output any, artifacts []Artifact) string {
	if _, isText := output.(string); isText || len(artifacts) == 0 {
		return ""
	}
	said, lines := string(template.AppendJSON(nil, output)), []string(nil)
	for i := range artifacts {
		if a := &artifacts[i]; a.Name != WholeOutput && a.Name != AskedPeople && !strings.Contains(said, a.URI()) {
			lines = append(lines, fmt.Sprintf("[file %s, %d bytes: %s]", a.Type, a.Size, a.URI()))
		}
	}
	return strings.Join(lines, "\n")
}

// SizeOf is how many bytes an output had before it was cut.
func SizeOf(output []byte, artifacts []Artifact) int64 {
	for i := range artifacts {
		if artifacts[i].Name == WholeOutput {
			return artifacts[i].Size
		}
	}
	return int64(len(output))
}
