package run

import (
	"fmt"
	"io"
	"os"

	"tavernsim/cmd/simd/cli"
	"tavernsim/llm/endpoint"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/rundir"
)

// reread reads the operator's files again, and the project to compare it. The keys of endpoints
// count at once.
func (o *runOptions) reread(own operator.Files, dir string, to map[string]*endpoint.Endpoint) (now *granted.Reread, err error) {
	now = &granted.Reread{}
	if now.Secrets, err = own.Secrets(o.secrets); err != nil {
		return nil, err
	}
	if now.Grants, err = own.Grants(o.grants); err != nil {
		return nil, err
	}
	if o.resume != "" {
		m, err := rundir.ReadManifest(o.resume)
		if err != nil {
			return nil, err
		}
		dir = m.Folder
	}
	now.Project, now.Fault = cli.LoadProject(dir, o.plugins, true)
	if file := cli.EndpointsFile(o.providers); file != "" {
		err = endpoint.Reload(file, os.Getenv, to)
	}
	return now, err
}

// reload reads the files of a run's operator again, and says what came of it.
func reload(w io.Writer, r running) {
	changed, err := r.Reload()
	if len(changed) == 0 && err == nil { // else the log says it
		fmt.Fprintln(w, cli.Reread(nil))
	}
	if err != nil {
		cli.Warn(w, err.Error())
	}
}
