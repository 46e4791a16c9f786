package files

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/mount"
)

// Bounds of what is shown of one file or folder.
const (
	maxLines   = 2000
	maxShown   = 16 << 10 // bytes
	maxEntries = 1000
)

// read answers with a text. If nothing can be read, the call has failed.
func read(ctx context.Context, s *mount.Source, files []wanted) tools.Result {
	var b strings.Builder
	var first error
	failed := 0
	for i, w := range files {
		if ctx.Err() != nil {
			return refuse(ended(ctx))
		}
		text, err := show(s, &w)
		if err != nil {
			if failed++; first == nil {
				first = protocol.Errorf(protocol.KindOf(err), "%s: %w", protocol.Short(w.src, 80), err)
			}
			text = fmt.Sprintf("%s: %s: %v", protocol.Short(w.src, 80), protocol.KindOf(err), err)
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	if failed == len(files) && first != nil {
		return refuse(first)
	}
	return tools.Output(b.String())
}

func show(s *mount.Source, w *wanted) (string, error) {
	from, to, err := span(w.lines)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(w.uri, tool.ArtifactScheme) {
		c, err := s.Read(w.uri, mount.MaxFile)
		if err != nil {
			return "", err
		}
		return content(w.uri, c.Data, from, to)
	}
	f, info, err := s.Open(w.uri)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.IsDir() {
		return folder(w.uri, f)
	}
	data, err := io.ReadAll(io.LimitReader(f, mount.MaxFile+1))
	switch {
	case err != nil:
		return "", protocol.Errorf(protocol.KindTransient, "it cannot be read")
	case len(data) > mount.MaxFile:
		return "", protocol.Errorf(protocol.KindLimit, "it has more than %d bytes", mount.MaxFile)
	}
	return content(w.uri, data, from, to)
}

// span reads L10, L10-20 or L10-; "" is everything.
func span(text string) (from, to int, err error) {
	if text == "" {
		return 1, 0, nil
	}
	digits, ok := strings.CutPrefix(text, "L")
	first, last, open := strings.Cut(digits, "-")
	from, err = strconv.Atoi(first)
	if to = from; open {
		to = 0
		if last = strings.TrimPrefix(last, "L"); last != "" && err == nil {
			to, err = strconv.Atoi(last)
		}
	}
	if !ok || err != nil || from < 1 || to != 0 && to < from {
		return 0, 0, protocol.Errorf(protocol.KindInvalid, "#%s names no lines; want #L10, #L10-20 or #L10-", protocol.Short(text, 40))
	}
	return from, to, nil
}

// content shows lines of a text; of another file its size and hash.
func content(uri string, data []byte, from, to int) (string, error) {
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return fmt.Sprintf("%s: binary, %d bytes, %s", name(uri), len(data), sum(data)), nil
	}
	text := strings.TrimSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	if len(data) == 0 {
		return name(uri) + ": empty", nil
	}
	if from > len(lines) {
		return "", protocol.Errorf(protocol.KindNotFound, "it has %d lines", len(lines))
	}
	if to == 0 || to > len(lines) {
		to = len(lines)
	}
	end, size := from-1, 0
	for end < to && end-from+1 < maxLines && (end < from || size+len(lines[end])+1 <= maxShown) {
		size += len(lines[end]) + 1
		end++
	}
	shown := strings.Join(lines[from-1:end], "\n")
	head := fmt.Sprintf("%s, lines %d to %d of %d", name(uri), from, end, len(lines))
	if end < to {
		head += fmt.Sprintf("; go on with src=%q", name(uri)+"#L"+strconv.Itoa(end+1)+"-")
	}
	if len(shown) > maxShown { // one line
		head += fmt.Sprintf("; the line has %d bytes, and its beginning is shown", len(shown))
		shown = protocol.Short(shown, maxShown)
	}
	return head + "\n" + shown, nil
}

// folder lists what is in a folder.
func folder(uri string, f fs.File) (string, error) {
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return "", protocol.Errorf(protocol.KindInternal, "it is no folder")
	}
	list, err := dir.ReadDir(maxEntries + 1)
	if err != nil && len(list) == 0 {
		if err == io.EOF { //nolint:errorlint // ReadDir gives it bare
			return strings.TrimSuffix(name(uri), "/") + "/: an empty folder", nil
		}
		return "", protocol.Errorf(protocol.KindTransient, "it cannot be listed")
	}
	lines := make([]string, 0, len(list))
	for _, e := range list[:min(len(list), maxEntries)] {
		line := e.Name()
		switch info, err := e.Info(); {
		case e.IsDir():
			line += "/"
		case err == nil && info.Mode().IsRegular():
			line += fmt.Sprintf("  %d bytes", info.Size())
		default:
			line += "  no file"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	if len(list) > maxEntries {
		lines = append(lines, fmt.Sprintf("… there are more than %d", maxEntries))
	}
	return strings.TrimSuffix(name(uri), "/") + "/:\n" + strings.Join(lines, "\n"), nil
}
