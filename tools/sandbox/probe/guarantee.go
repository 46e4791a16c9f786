// Package probe tries, inside a sandbox, everything that is forbidden there, and reports the
// guarantees of the sandbox.
package probe

import (
	"slices"
)

// Guarantee is one thing that a sandbox keeps.
type Guarantee string

// The guarantees of the profile strict.
const (
	Files       Guarantee = "files"
	Network     Guarantee = "network"
	Processes   Guarantee = "processes"
	Environment Guarantee = "environment"
	Privileges  Guarantee = "privileges"
	Forks       Guarantee = "forks"
	Resources   Guarantee = "resources"
	Lifetime    Guarantee = "lifetime"
	Descriptors Guarantee = "descriptors"
)

// Timers is how many timers of the kernel (timer_create) and signals that wait all processes of a program have
// together: four for each process and thread. No runtime needs more than one for each.
const Timers = 256

// Means says what a guarantee is.
func (g Guarantee) Means() string {
	return map[Guarantee]string{
		Files:       "reads and writes only what is listed, and watches nothing",
		Network:     "no socket of any family",
		Processes:   "sees and signals itself alone",
		Environment: "nothing of the engine's environment",
		Privileges:  "no right, and none to gain",
		Forks:       "a bounded number of processes",
		Resources:   "bounded memory, processor time, files and timers",
		Lifetime:    "ends with the engine and at the time-out",
		Descriptors: "no descriptor and no terminal of the engine",
	}[g]
}

// Guarantees lists them in the order of reports.
func Guarantees() []Guarantee {
	return []Guarantee{Files, Network, Processes, Environment, Privileges, Forks, Resources, Lifetime, Descriptors}
}

// Try is one forbidden thing that the probe tried.
type Try struct {
	Guarantee Guarantee `json:"guarantee"`
	What      string    `json:"what"`
	Refused   bool      `json:"refused"`
	How       string    `json:"how,omitempty"` // the error that the program got, or what it reached
}

// Task is what the probe has to know of its sandbox.
type Task struct {
	Hidden []string // files and folders of the host that nobody listed
	Self   string   // the file of this program, inside
	Work   string   // the fresh folder
	// Proxy is the one address that may be reached by TCP; "" = none, and no socket can be made.
	Proxy string `json:",omitempty"`
	// Limits: bytes, seconds, descriptors.
	Memory, FileSize, Disk, CPU, Open int
}

// Greeting is what the proxy of a probe says to whoever connects.
const Greeting = "simd probe"

// Report is what the probe of one outer stage found.
type Report struct {
	Outer  string    `json:"outer"`            // "namespaces" or "bubblewrap"
	Failed Guarantee `json:"failed,omitempty"` // what could not be set up
	Reason string    `json:"reason,omitempty"` // why
	Tries  []Try     `json:"tries"`
	Others []Report  `json:"others,omitempty"` // outer stages that gave less
}

// Missing is a guarantee that this machine does not give, and the reason.
type Missing struct {
	Guarantee Guarantee `json:"guarantee"`
	Reason    string    `json:"reason"`
}

// Missing lists the guarantees that are not given. A sandbox that could not be set up
// gives none; the first of the list is then the one that failed.
func (r *Report) Missing() []Missing {
	if r.Failed != "" {
		return []Missing{{Guarantee: r.Failed, Reason: r.Outer + ": " + r.Reason}}
	}
	var out []Missing
	for _, g := range Guarantees() {
		tried := slices.ContainsFunc(r.Tries, func(t Try) bool { return t.Guarantee == g })
		reached := slices.IndexFunc(r.Tries, func(t Try) bool { return t.Guarantee == g && !t.Refused })
		switch {
		case !tried:
			out = append(out, Missing{g, "the probe did not try it"})
		case reached >= 0:
			out = append(out, Missing{g, r.Tries[reached].What + ": " + r.Tries[reached].How})
		}
	}
	return out
}
