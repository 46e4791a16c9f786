package served

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools"
	"tavernsim/tools/mcp/serve"
	"tavernsim/tools/ownfile"
)

// Bounds.
const (
	MaxRuns = 4       // that go on at a time
	MaxView = 1 << 20 // bytes of a view

	maxSaid    = 16 << 10 // bytes of what a command says
	maxKept    = 100      // ended runs whose exit codes are known
	maxWait    = 60       // seconds that a status may wait
	maxText    = 1000     // characters of a parameter
	beginsIn   = 10 * time.Second
	lookEvery  = 20 * time.Millisecond
	scheme     = "simd://runs/"
	rowsOfView = 50
)

// Options of an offer.
type Options struct {
	Folder  string           // of the project
	Project *project.Project // as it was when the server started
	Profile string           // whose tools are offered; "" = all of the project
	Tools   Tools            // nil = tools of the project are not offered
	Runs    string           // folder of the runs
	// RunFlags are the operator's flags of every run.
	RunFlags []string
	// Command carries out a command of simd, and gives its exit code.
	Command func(ctx context.Context, out, said io.Writer, args ...string) int
	Version string
}

// Tools makes calls of the tools of the project.
type Tools interface {
	Try(ctx context.Context, t *project.Tool, params map[string]any, retries int) tools.Result
}

// Desk offers a project. Close ends its runs.
type Desk struct {
	opt Options

	mu     sync.Mutex
	runs   map[string]*run
	closed bool
}

// New makes a desk.
func New(opt Options) *Desk { return &Desk{opt: opt, runs: map[string]*run{}} }

// Offer is what the desk offers.
func (d *Desk) Offer() (serve.Offer, error) {
	o := serve.Offer{
		Name: "simd", Version: d.opt.Version,
		Instructions: "simd runs simulations of many agents. simd_run starts a run of the project and answers its id; simd_run_status tells how far it is; simd_inspect shows what happened and why.",
		Documents:    d.documents, Read: d.read, State: d.state,
		Templates: []serve.Template{{
			URI: scheme + "{run}" + ofSummary, Name: "summary", MediaType: "application/json",
			Description: "Summary of a run. It is there when the run has ended: subscribe to it to hear of that.",
			Values:      map[string]func(context.Context) ([]string, error){"run": d.ended},
		}},
	}
	own, err := d.projectTools()
	o.Tools = append(d.commands(), own...)
	return o, err
}

// projectTools are the tools of the project, under the names that models get.
func (d *Desk) projectTools() (list []serve.Tool, err error) {
	if d.opt.Tools == nil {
		return nil, nil
	}
	allowed := d.opt.Project.ToolIDs()
	if id := d.opt.Profile; id != "" {
		p, ok := d.opt.Project.Profile(id)
		if !ok {
			return nil, protocol.Errorf(protocol.KindNotFound, "the project has no profile %q; it has %s", id, strings.Join(d.opt.Project.ProfileIDs(), ", "))
		}
		allowed = slices.DeleteFunc(allowed, func(tool string) bool { return !slices.Contains(p.Definition.ToolIDsInventory, tool) })
	}
	names := namesOf(d.opt.Project)
	commands := d.commands()
	for _, id := range allowed {
		t, _ := d.opt.Project.Tool(id)
		x := toolOf(names, t)
		if slices.ContainsFunc(commands, func(c serve.Tool) bool { return c.Name == x.Name }) {
			return nil, protocol.Errorf(protocol.KindInvalid, "the tool %s has the name of a tool of simd, in whose place it would stand; give it another id, or leave it out by a profile", id)
		}
		x.Call = func(ctx context.Context, params map[string]any) tools.Result {
			return d.opt.Tools.Try(ctx, t, params, 0)
		}
		list = append(list, x)
	}
	return list, nil
}

// command carries out a command whose output is JSON: one value, or rows.
func (d *Desk) command(ctx context.Context, rows bool, args ...string) tools.Result {
	out, said := &bounded{most: MaxView}, &bounded{most: maxSaid}
	code := d.opt.Command(ctx, out, said, args...)
	values, err := valuesOf(out)
	switch {
	case err != nil:
		return tools.Fail(protocol.KindLimit, err.Error())
	case code != 0 && len(values) == 0:
		return failed(code, said.String())
	case len(values) == 1 && !rows:
		return tools.Output(values[0])
	}
	return tools.Output(map[string]any{"rows": values})
}

func valuesOf(out *bounded) ([]any, error) {
	if out.lost > 0 {
		return nil, fmt.Errorf("the view has more than %d bytes; ask for fewer rows (limit)", MaxView)
	}
	values := []any{}
	for r := json.NewDecoder(&out.Buffer); ; {
		var v any
		if err := r.Decode(&v); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

// failed is the result of a command that failed, by its exit code (docs/cli.md).
func failed(code int, said string) tools.Result {
	kind := protocol.KindUnknown
	switch code {
	case 2, 3:
		kind = protocol.KindInvalid
	case 4:
		kind = protocol.KindNotFound
	case 6:
		kind = protocol.KindConflict
	case 7:
		kind = protocol.KindLimit
	}
	said, _, _ = strings.Cut(said, "\nRun 'simd ") // the hint is for people
	said = strings.TrimPrefix(strings.TrimSpace(said), "simd: ")
	return tools.Fail(kind, cmp.Or(said, fmt.Sprintf("exit code %d", code)))
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most, lost int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.most-b.Len())
	b.lost += len(p) - n
	b.Buffer.Write(p[:n])
	return len(p), nil
}

// isID reports whether a text can be the id of a run, which is no path.
func isID(id string) bool {
	return id != "" && filepath.IsLocal(id) && !strings.ContainsAny(id, `/\`) && !strings.HasPrefix(id, ".")
}

// find finds a run by its id.
func (d *Desk) find(ctx context.Context, id string) (rundir.Listed, error) {
	if !isID(id) {
		return rundir.Listed{}, protocol.Errorf(protocol.KindInvalid, "run %q: want the id of a run, as simd_run answers it", id)
	}
	if r, ok := listed(ctx, filepath.Join(d.opt.Runs, id)); ok {
		return r, nil
	}
	return rundir.Listed{}, protocol.Errorf(protocol.KindNotFound, "there is no run %q; resources/list has those that have ended", id)
}

func listed(ctx context.Context, dir string) (r rundir.Listed, ok bool) {
	list, err := rundir.List(ctx, dir)
	if err != nil || len(list) != 1 || list[0].Dir != dir {
		return r, false
	}
	return list[0], true
}

// ofSummary ends the URI of the summary of a run.
const ofSummary = "/summary"

// ended are the ids of the runs that have ended.
func (d *Desk) ended(context.Context) (ids []string, err error) {
	entries, err := os.ReadDir(d.opt.Runs)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && rundir.Summarized(filepath.Join(d.opt.Runs, e.Name())) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// documents are the summaries of the runs.
func (d *Desk) documents(ctx context.Context) (list []serve.Document, err error) {
	ids, err := d.ended(ctx)
	for _, id := range ids {
		list = append(list, serve.Document{URI: uriOf(id), Name: id, Description: "summary of the run", MediaType: "application/json"})
	}
	return list, err
}

// uriOf is the URI of the summary of a run: its id is the name of a folder, which may have any characters.
func uriOf(id string) string { return scheme + url.PathEscape(id) + ofSummary }

// ofURI is the id of the run whose summary a URI names.
func ofURI(uri string) (id string, err error) {
	id, isRun := strings.CutPrefix(uri, scheme)
	id, isSummary := strings.CutSuffix(id, ofSummary)
	if id, err = url.PathUnescape(id); err != nil || !isRun || !isSummary || !isID(id) {
		return "", protocol.Errorf(protocol.KindNotFound, "%s", uri)
	}
	return id, nil
}

func (d *Desk) read(ctx context.Context, uri string) ([]byte, error) {
	id, err := ofURI(uri)
	if err != nil {
		return nil, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
	}
	b, err := ownfile.ReadAll(filepath.Join(r.Dir, summaryFile), ownfile.MaxFile)
	if os.IsNotExist(err) {
		return nil, protocol.Errorf(protocol.KindNotFound, "run %s has not ended", id)
	}
	return b, err
}

const summaryFile = "summary.json"

// state tells one summary of a run from the next: it has a new one after each end.
func (d *Desk) state(uri string) (string, error) {
	id, err := ofURI(uri)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(d.opt.Runs, id)); err != nil {
		return "", protocol.Errorf(protocol.KindNotFound, "there is no run %q", id)
	}
	info, err := os.Stat(filepath.Join(d.opt.Runs, id, summaryFile))
	if err != nil {
		return "", nil //nolint:nilerr // it has not ended
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), nil
}
