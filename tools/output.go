package tools

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/secret"
	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/tam/answer"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/places"
)

// MaxOutput bounds the output of a call as JSON, in bytes: it lies in a fact.
const MaxOutput = 32 << 10

// The texts of an error are shorter.
const maxMessage = 1 << 10

// finish makes the output and the message ones that can be kept and shown.
func (r *Result) finish(o *Options, limits manifest.Limits) {
	carried := r.Carried || r.Status == OK || r.Lost || r.Withheld
	if r.Status == OK {
		r.Meta.Dropped, r.Meta.Cut = r.Dropped, r.Dropped > 0
	}
	if o.Mask != nil && (!places.Valid(r.Output) || r.Error != nil && !utf8.ValidString(r.Error.Message)) {
		o.Mask(r) // taming makes UTF-8 of it, in which a secret of another code is no whole one
	}
	r.tame()
	if o.Mask != nil {
		o.Mask(r)
	}
	r.Check(o.Check)
	if err := r.keep(o.Keep, limits); err != nil {
		r.fail(protocol.KindOf(err), "the call was carried out, but what it answered cannot be kept: "+err.Error())
	}
	if o.Left != nil && o.Keep != nil {
		r.left(o.Left(), o.Keep)
	}
	r.Carried = carried
}

// left keeps files that do not depend on how the call ended.
func (r *Result) left(blobs []Blob, put func(b Blob) (tool.Artifact, error)) {
	for _, b := range blobs {
		a, err := put(b)
		if err != nil {
			r.fail(protocol.KindOf(err), "the call was carried out, but a file of it cannot be kept: "+err.Error())
			return
		}
		r.Artifacts = append(r.Artifacts, a)
	}
}

// Withhold leaves nothing of what the other side wrote but how many bytes it was.
func (r *Result) Withhold() {
	r.Blobs = nil
	if r.Error == nil {
		r.Output = map[string]any{"bytes": r.Meta.Bytes}
		return
	}
	r.Output, r.Error.Message = nil, cmp.Or(r.Own, "the call failed")
	if r.Meta.Bytes > 0 {
		r.Error.Message += fmt.Sprintf("; its output is withheld, %d bytes", r.Meta.Bytes)
	}
}

// fail makes a result a failure; what is known about the call stays.
func (r *Result) fail(kind protocol.ErrorKind, message string) {
	meta := r.Meta
	*r = Fail(kind, protocol.Short(message, maxMessage))
	r.Meta = meta
}

// tame makes the output a value, and takes out what nobody should see. A value that is nested too
// deep to be kept becomes its JSON as a text.
func (r *Result) tame() {
	if r.Error != nil {
		r.Error.Message = answer.Clean(protocol.Short(r.Error.Message, maxMessage))
	}
	if r.Output == nil {
		return
	}
	v, err := protocol.Normalize(r.Output)
	if err != nil {
		r.fail(KindBadOutput, "the output is no value: "+err.Error())
		return
	}
	r.Output = cleaned(v)
	if protocol.CheckNested(v) != nil {
		r.Output = answer.Clean(string(template.AppendJSON(nil, r.Output)))
	}
}

// Check makes the result of a call bad if its output breaks the schema of the tool; nil = there is none. Of an output
// that was too long, what is left must fit.
func (r *Result) Check(schema func(any) error) {
	if schema == nil || r.Status != OK {
		return
	}
	err := schema(r.Output)
	switch {
	case err == nil:
	case r.Dropped > 0:
		r.fail(protocol.KindLimit, fmt.Sprintf("the call was carried out, but its output is too long: %d bytes were dropped, and what is left breaks outputSchema: %s", r.Dropped, err))
	default:
		r.fail(KindBadOutput, "the output breaks outputSchema: "+err.Error())
	}
}

// keep lets files become artifacts, and all of an output that is not shown whole. It cuts
// the output.
func (r *Result) keep(put func(b Blob) (tool.Artifact, error), limits manifest.Limits) error {
	blobs := r.Blobs
	if r.Blobs = nil; r.Status != OK {
		return nil
	}
	text, isText := r.Output.(string)
	mediaType := "text/plain; charset=utf-8"
	if !isText && r.Output != nil {
		var room [96]byte // a larger one would make the stack of nearly every call grow, which copies it
		text, mediaType = string(template.AppendJSON(room[:0], r.Output)), "application/json"
	}
	r.Meta.Bytes = max(r.Meta.Bytes, int64(len(text)))
	for i := range blobs {
		blobs[i].Name, blobs[i].Type = answer.Clean(blobs[i].Name), answer.Clean(blobs[i].Type)
		if n := len(blobs[i].Data); limits.Artifact > 0 && n > limits.Artifact {
			return protocol.Errorf(protocol.KindLimit, "the file %q has %d bytes, more than limits.artifact, %d", protocol.Short(blobs[i].Name, 80), n, limits.Artifact)
		}
	}
	most := cmp.Or(limits.Output, MaxOutput)
	if put == nil {
		r.Blobs = blobs // the caller has them
		if len(text) > most {
			r.Output, r.Meta.Cut = tool.Excerpt(text, most), true
		}
		return nil
	}
	if len(text) > min(most, tool.MaxView) { // everybody may read it later, so the fields of secrets are hidden as in a view
		blobs = append(blobs, Blob{tool.WholeOutput, mediaType, []byte(withoutSecrets(r.Output, text))})
	}
	for _, b := range blobs {
		a, err := put(b)
		if err != nil {
			return err
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	if len(text) > most {
		r.Output, r.Meta.Cut = tool.ExcerptOf(text, most, &r.Artifacts[len(r.Artifacts)-1]), true
	}
	return nil
}

// withoutSecrets is an output as a text without the fields of secrets.
func withoutSecrets(output any, text string) string {
	if _, isText := output.(string); isText {
		return secret.Text(text)
	}
	v, _ := secret.Hide(output)
	return string(template.AppendJSON(nil, v))
}

// cleaned cleans every text in a value, and the names of its fields.
func cleaned(v any) any {
	switch x := v.(type) {
	case string:
		if text := answer.Clean(x); text != x {
			return text
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = cleaned(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, name := range protocol.SortedKeys(x) { // of names that become one the last counts
			out[answer.Clean(name)] = cleaned(x[name])
		}
		return out
	}
	return v
}
