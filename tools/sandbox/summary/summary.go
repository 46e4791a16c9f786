// Package summary reports the result of the probe of a sandbox, for people and programs.
//
// # Not here
//
// The attempts (tools/sandbox/probe).
package summary

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tavernsim/tools/sandbox"
	"tavernsim/tools/sandbox/probe"
)

// Summary is what a probe found, for people and programs.
type Summary struct {
	Available  bool            `json:"available"`
	Outer      string          `json:"outer"`
	Guarantees []Line          `json:"guarantees"`
	Missing    []probe.Missing `json:"missing"`
	Profiles   []ProfileLine   `json:"profiles"`
	Tries      []probe.Try     `json:"tries"`
	Others     []Other         `json:"others"`
	// NotInstalled are languages of code.
	NotInstalled []string `json:"not_installed"`
}

// Line is one guarantee.
type Line struct {
	Guarantee probe.Guarantee `json:"guarantee"`
	Held      bool            `json:"held"`
	Tries     int             `json:"tries"`
	Means     string          `json:"means"`
	Reason    string          `json:"reason,omitempty"`
}

// ProfileLine is one profile.
type ProfileLine struct {
	Profile   sandbox.Profile `json:"profile"`
	Available bool            `json:"available"`
	Reason    string          `json:"reason,omitempty"`
}

// Other is an outer stage that was tried and gave less.
type Other struct {
	Outer   string          `json:"outer"`
	Missing []probe.Missing `json:"missing"`
}

// Doctor probes this machine and writes what it found, for people or as JSON. The error
// says what is missing. Languages are those whose interpreter is not installed.
func Doctor(ctx context.Context, w io.Writer, asJSON bool, languages []string) error {
	box := sandbox.New(sandbox.Options{})
	s := Of(box.Probe(ctx), box.ProbeOf(ctx, sandbox.Net))
	s.NotInstalled = append(s.NotInstalled, languages...)
	if !asJSON {
		s.Write(w)
		return s.Err()
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	return s.Err()
}

// Of says what the reports of the profiles strict and net mean.
func Of(p, net probe.Report) Summary {
	missing := p.Missing()
	r := Summary{Available: len(missing) == 0, Outer: p.Outer, Missing: missing, Tries: p.Tries, Others: []Other{}, NotInstalled: []string{}}
	for _, o := range p.Others {
		r.Others = append(r.Others, Other{o.Outer, o.Missing()})
	}
	for _, g := range probe.Guarantees() {
		line := Line{Guarantee: g, Means: g.Means(), Held: p.Failed == ""}
		for _, t := range p.Tries {
			if t.Guarantee == g {
				line.Tries++
			}
		}
		for _, m := range missing {
			if m.Guarantee == g {
				line.Held, line.Reason = false, m.Reason
			}
		}
		r.Guarantees = append(r.Guarantees, line)
	}
	for _, name := range []sandbox.Profile{sandbox.Strict, sandbox.Net, sandbox.Wasm, "trusted"} {
		line := ProfileLine{Profile: name, Available: r.Available}
		if missing := net.Missing(); name == sandbox.Net && len(missing) > 0 {
			line = ProfileLine{Profile: name, Reason: (&sandbox.Unavailable{Profile: name, Missing: missing}).Error()}
		}
		if err := sandbox.CheckProfile(name); err != nil {
			line = ProfileLine{Profile: name, Reason: err.Error()}
		}
		r.Profiles = append(r.Profiles, line)
	}
	return r
}

// Err refuses, as every call would be, if a guarantee is missing.
func (r *Summary) Err() error {
	if r.Available {
		return nil
	}
	return &sandbox.Unavailable{Profile: sandbox.Strict, Missing: r.Missing}
}

// Write writes it for people.
func (r *Summary) Write(w io.Writer) {
	fmt.Fprintf(w, "outer stage: %s\n", r.Outer)
	for _, g := range r.Guarantees {
		mark := "ok      "
		if !g.Held {
			mark = "MISSING "
		}
		fmt.Fprintf(w, "%s %-12s %s; %d tries\n", mark, g.Guarantee, g.Means, g.Tries)
		if g.Reason != "" {
			fmt.Fprintf(w, "%s   %s\n", strings.Repeat(" ", len(mark)), g.Reason)
		}
	}
	for _, o := range r.Others {
		for _, m := range o.Missing {
			fmt.Fprintf(w, "note     %s gives no %s: %s\n", o.Outer, m.Guarantee, m.Reason)
		}
	}
	for _, l := range r.NotInstalled {
		fmt.Fprintf(w, "note     no interpreter of %s is installed\n", l)
	}
	if r.Available {
		fmt.Fprintln(w, "profile strict: tools run in it")
	} else {
		fmt.Fprintln(w, "profile strict: every call of a script or of code is refused (sandbox_unavailable)")
	}
	for _, p := range r.Profiles {
		switch {
		case p.Profile == sandbox.Net && p.Available:
			fmt.Fprintln(w, "profile net: programs that need servers run in it, and reach those")
		case p.Profile == sandbox.Wasm && p.Available:
			fmt.Fprintln(w, "profile wasm: modules of WebAssembly run in it, behind the walls of strict")
		case p.Profile == sandbox.Net:
			fmt.Fprintln(w, "profile net: "+p.Reason)
		}
	}
}
