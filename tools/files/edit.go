package files

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/mount"
)

// edited is a file with its new text.
type edited struct {
	wanted
	was     reading
	place   string // of placeOf; one file has one, and may have several URIs
	shown   string // the text before, with references in the place of secrets
	text    string
	names   []string // of secrets to which the text refers
	matched []string // of each pair: how it was found, "" = as it is written
}

// edit applies all pairs of all files, keeps the texts and writes the files.
func (x *Executor) edit(ctx context.Context, c *tools.Call, files []wanted) tools.Result {
	had, err := x.refs.Of(c.Owner)
	if err != nil {
		return refuse(err)
	}
	var wrong []string
	kind := tools.KindTool
	all := make([]edited, 0, len(files))
	for i, w := range files {
		e, err := prepare(ctx, c, had[w.uri], w, all[:min(i, len(all))])
		if ctx.Err() != nil {
			return refuse(ended(ctx))
		}
		if err != nil {
			if k := protocol.KindOf(err); k != tools.KindTool {
				kind = k
			}
			wrong = append(wrong, fmt.Sprintf("%s: %v", protocol.Short(w.src, 80), err))
			continue
		}
		all = append(all, e)
	}
	if len(wrong) > 0 {
		return refuse(protocol.Errorf(kind, "nothing was edited. %s", strings.Join(wrong, "; ")))
	}
	result := tools.Output(nil)
	done := make([]any, 0, len(all))
	for _, e := range all {
		err := e.keep(c, &result)
		if err != nil && len(done) == 0 {
			return refuse(err)
		}
		if err == nil && ctx.Err() != nil {
			err = ended(ctx)
		}
		if err == nil {
			err = x.write(c, &e, had[e.uri])
		}
		if err != nil {
			if len(done) == 0 {
				return refuse(protocol.Errorf(protocol.KindOf(err), "%s: %w", protocol.Short(e.src, 80), err))
			}
			done = append(done, map[string]any{"file": e.src, "status": "error", "error": err.Error()})
			continue
		}
		done = append(done, e.done())
	}
	result.Output = done
	return result
}

// write writes a file. What it refers to is noted before.
func (x *Executor) write(c *tools.Call, e *edited, had []string) error {
	if err := x.refs.note(c.Owner, e.uri, union(had, e.names)); err != nil {
		return err
	}
	if err := c.Files.Write(e.uri, []byte(e.text), e.was.mode, e.was.is, sum(e.was.data)); err != nil {
		return err
	}
	return x.refs.note(c.Owner, e.uri, e.names)
}

func (e *edited) done() map[string]any {
	status := "edited"
	if !e.was.is {
		status = "created"
	}
	m := map[string]any{"file": e.src, "status": status, "pairs": int64(len(e.edits))}
	if notes := slices.DeleteFunc(slices.Clone(e.matched), func(s string) bool { return s == "" }); len(notes) > 0 {
		m["note"] = strings.Join(notes, "; ")
	}
	if len(e.names) > 0 {
		m["secrets"] = protocol.ListOf(e.names)
	}
	return m
}

// Before and After begin the names of artifacts that are texts of a file.
const (
	Before = "before "
	After  = "after "
)

// keep makes artifacts of both texts.
func (e *edited) keep(c *tools.Call, r *tools.Result) error {
	if c.Keep == nil {
		return nil
	}
	texts := []tools.Blob{{Name: Before + e.uri, Data: []byte(e.shown)}, {Name: After + e.uri, Data: []byte(e.text)}}
	if !e.was.is {
		texts = texts[1:]
	}
	for _, b := range texts {
		b.Type = "text/plain; charset=utf-8"
		a, err := c.Keep(b)
		if err != nil {
			return protocol.Errorf(protocol.KindOf(err), "%s is not edited, for its text cannot be kept: %w", protocol.Short(e.src, 80), err)
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	return nil
}

// prepare applies the pairs of a file. had are the names of secrets to which it refers already,
// and before are the files that the call edits earlier.
func prepare(ctx context.Context, c *tools.Call, had []string, w wanted, before []edited) (edited, error) {
	e := edited{wanted: w, place: placeOf(c.Files, w.uri)}
	m, at, err := mount.Path(w.uri)
	switch {
	case err != nil:
		return e, err
	case mount.ReadOnly(m):
		return e, protocol.Errorf(protocol.KindDenied, "the files of the project and of its plugins cannot be changed; copy it to fam://agent/")
	case at == "." || strings.HasSuffix(w.uri, "/"):
		return e, protocol.Errorf(protocol.KindInvalid, "it is a folder")
	case slices.ContainsFunc(before, func(o edited) bool { return o.place == e.place }):
		return e, protocol.Errorf(protocol.KindInvalid, "the file stands twice in one edit; put all pairs into one")
	}
	if e.was, err = load(c.Files, w.uri); err != nil {
		return e, err
	}
	if !utf8.Valid(e.was.data) {
		return e, protocol.Errorf(protocol.KindInvalid, "it is no text")
	}
	e.shown = hidden(string(e.was.data), of(c.Secrets, had)) // while a command runs, it has the values
	text := e.shown
	names, err := e.refers(m, text, had, c.Secrets)
	if err != nil {
		return e, err
	}
	crlf := strings.Contains(text, "\r\n") && strings.Count(text, "\n") == strings.Count(text, "\r\n")
	if crlf {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	is := e.was.is
	for i, p := range w.edits {
		if crlf {
			p = p.withoutCR()
		}
		how := ""
		if ctx.Err() != nil {
			return e, ended(ctx)
		}
		if text, how, err = p.apply(ctx, text, is); err != nil {
			if len(w.edits) > 1 {
				err = protocol.Errorf(protocol.KindOf(err), "pair %d: %w", i+1, err)
			}
			return e, err
		}
		is = true // an empty find has made it
		e.matched = append(e.matched, how)
	}
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if err := fits(int64(len(text))); err != nil { // line breaks count, too
		return e, err
	}
	for _, name := range union(had, names) {
		if strings.Contains(text, reference(name)) {
			e.names = append(e.names, name)
		}
	}
	e.text = text
	return e, nil
}

// withoutCR is a pair whose lines end as those of the text to which it is applied.
func (p pair) withoutCR() pair {
	for _, text := range []*string{&p.find, &p.replace, &p.findOther, &p.replaceOther} {
		*text = strings.ReplaceAll(*text, "\r\n", "\n")
	}
	return p
}

func fits(size int64) error {
	if size > maxFile {
		return protocol.Errorf(protocol.KindLimit, "the file would have %d bytes; the limit is %d", size, maxFile)
	}
	return nil
}

// apply replaces the text of a pair. how says which of its forms was found.
func (p *pair) apply(ctx context.Context, text string, is bool) (out, how string, err error) {
	if p.find == "" {
		if text != "" {
			return "", "", protocol.Errorf(tools.KindTool, "find is empty, which is for a file that is not there or empty; this one has %d lines: find some text of it", strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
		}
		if out = unjoined(p.replace); out != p.replace {
			how = leftOut
		}
		return out, how, nil
	}
	if !is {
		return "", "", protocol.Errorf(protocol.KindNotFound, "there is no such file; an empty find creates it")
	}
	for _, f := range p.forms(text) {
		at := -1
		if f.find != "" {
			at = strings.Index(text, f.find)
		}
		switch {
		case at < 0:
			continue
		case p.all:
			n := strings.Count(text, f.find)
			if err := fits(int64(len(text)) + int64(n)*int64(len(f.replace)-len(f.find))); err != nil {
				return "", "", err // before the text is there: a few pairs make one that no memory holds
			}
			return strings.ReplaceAll(text, f.find, f.replace), f.how, nil
		case p.nth == 0 && strings.Contains(text[at+1:], f.find):
			_, n := place(text, f.find, 0)
			return "", "", protocol.Errorf(tools.KindTool, "the text is there %d times, in the lines %s; find more of what stands around the one you mean, or write nth or all", n, lines(text, f.find))
		case p.nth > 1:
			var n int64
			if at, n = place(text, f.find, p.nth); n < p.nth {
				return "", "", protocol.Errorf(tools.KindTool, "the text is there %d times, and nth is %d", n, p.nth)
			}
		}
		if err := fits(int64(len(text)) + int64(len(f.replace)-len(f.find))); err != nil {
			return "", "", err
		}
		return text[:at] + f.replace + text[at+len(f.find):], f.how, nil
	}
	return "", "", protocol.Errorf(tools.KindTool, "the text is not there%s", nearest(ctx, text, p.find))
}

const maxListed = 10

// lines are the numbers of the lines at which a text begins.
func lines(text, find string) string {
	var list []string
	for at := 0; len(list) < maxListed; {
		i := strings.Index(text[at:], find)
		if i < 0 {
			return strings.Join(list, ", ")
		}
		at += i
		list = append(list, strconv.Itoa(strings.Count(text[:at], "\n")+1))
		at++ // the next place may begin in this one
	}
	return strings.Join(list, ", ") + ", …"
}

// Bounds of the search for near lines.
const (
	maxNear    = 3
	maxTried   = 20_000 // lines
	maxCompare = 120    // bytes of a line
)

// nearest names the lines that are most like the first line of a text.
func nearest(ctx context.Context, text, find string) string {
	want := ""
	for line := range strings.Lines(find) {
		if want = strings.TrimSpace(line); want != "" {
			break
		}
	}
	want = cut(want)
	type near struct {
		number, distance int
		line             string
	}
	var list []near
	limit := len(want)/2 + 1
	for i, line := range strings.SplitN(text, "\n", maxTried+1) {
		if i == maxTried || ctx.Err() != nil {
			break
		}
		l := cut(strings.TrimSpace(line))
		if l == "" || max(len(l)-len(want), len(want)-len(l)) >= limit {
			continue
		}
		if d := protocol.EditDistance(want, l, limit); d < limit {
			list = append(list, near{i + 1, d, l})
		}
	}
	if len(list) == 0 {
		return "; no line is like its first one"
	}
	slices.SortStableFunc(list, func(a, b near) int { return a.distance - b.distance })
	var shown []string
	for _, n := range list[:min(len(list), maxNear)] {
		shown = append(shown, fmt.Sprintf("line %d: %q", n.number, n.line))
	}
	return "; nearest to its first line are " + strings.Join(shown, ", ")
}

func cut(s string) string {
	if len(s) > maxCompare {
		return strings.ToValidUTF8(s[:maxCompare], "")
	}
	return s
}
