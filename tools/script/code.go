package script

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/sandbox/remains"
)

// interpreter runs code of a language: a program, its flags, and the name of the file.
type interpreter struct {
	argv []string
	file string
}

func interpreters() map[string]interpreter {
	return map[string]interpreter{
		"python":     {[]string{"python3", "-B"}, "main.py"},
		"javascript": {[]string{"node"}, "main.js"},
		"sh":         {[]string{"sh"}, "main.sh"},
	}
}

// code runs what an agent wrote. It starts in its fresh folder, with its files.
func (x *Executor) code(ctx context.Context, c *tools.Call) tools.Result {
	language, _ := c.Params["language"].(string)
	code, _ := c.Params["code"].(string)
	in, ok := interpreters()[language]
	if !ok {
		return refuse(protocol.KindInvalid, "language %q: want one of %v", language, manifest.Languages())
	}
	cmd := sandbox.Command{Argv: append(in.argv, in.file), Dir: sandbox.Work, Env: environment(c)}
	files, _ := c.Params["files"].(map[string]any)
	for _, name := range protocol.SortedKeys(files) {
		text, isText := files[name].(string)
		if !isText || !fs.ValidPath(name) || name == "." || name == in.file {
			return refuse(protocol.KindInvalid, "files: %q must be a path within the folder, other than %s, with a text", protocol.Short(name, 80), in.file)
		}
		cmd.Files = append(cmd.Files, sandbox.File{Path: name, Data: []byte(text), Work: true})
	}
	cmd.Files = append(cmd.Files, sandbox.File{Path: in.file, Data: []byte(code), Work: true})
	cmd.Limits.Time, cmd.Keep = seconds(c.Params["timeout"]), kept()
	r, failed := x.run(ctx, cmd, c.Binds)
	if failed != nil && failed.Error.Kind == protocol.KindNotFound {
		return refuse(protocol.KindUnknown, "%s is not installed here, so there is no %s", in.argv[0], language)
	}
	if failed != nil {
		return *failed
	}
	result := tools.Output(map[string]any{"stdout": text(r.Stdout), "stderr": text(r.Stderr), "exit_code": int64(r.Exit)})
	if r.Signal != "" {
		result.Output.(map[string]any)["signal"] = r.Signal
	}
	result.Output.(map[string]any)["artifacts"] = attach(&result, &r)
	if r.Left > 0 {
		result.Output.(map[string]any)["files_left_out"] = int64(r.Left)
	}
	result.Size, result.Dropped = size(&r), r.Stdout.Dropped+r.Stderr.Dropped
	return result
}

// Bounds of the files that one call leaves. An artifact of a run has bounds of its own.
const (
	maxKept      = 64
	maxKeptBytes = 16 << 20
)

func kept() remains.Keep { return remains.Keep{Files: maxKept, Bytes: maxKeptBytes} }

// attach adds the files that a program left to its result, and lists them.
func attach(to *tools.Result, r *sandbox.Result) []any {
	list := make([]any, 0, len(r.Files))
	for _, f := range r.Files {
		list = append(list, map[string]any{"name": f.Path, "uri": to.Attach(f.Path, http.DetectContentType(f.Data), f.Data)})
	}
	return list
}

func refuse(kind protocol.ErrorKind, format string, args ...any) tools.Result {
	r := tools.Fail(kind, fmt.Sprintf(format, args...))
	r.Unsent = true
	return r
}

// seconds reads a time; 0 = none was given.
func seconds(v any) time.Duration {
	switch n := v.(type) {
	case int64:
		return time.Duration(n) * time.Second
	case float64:
		return time.Duration(n * float64(time.Second))
	}
	return 0
}

// Missing lists the languages whose interpreter is not installed.
func Missing() (languages []string) {
	for _, l := range manifest.Languages() {
		program := interpreters()[l].argv[0]
		if !slices.ContainsFunc(strings.Split(sandbox.Path, ":"), func(dir string) bool {
			_, err := exec.LookPath(dir + "/" + program)
			return err == nil
		}) {
			languages = append(languages, l)
		}
	}
	return languages
}
