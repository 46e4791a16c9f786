package main

import (
	"os"

	"github.com/spf13/pflag"

	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/grants"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/secrets"
)

const grantsUsage = "`FILE` with what tools may reach (default: $SIMD_GRANTS, then simd/grants.json of your configuration folder)"

func grantsFlag(f *pflag.FlagSet, file *string) { f.StringVar(file, "grants", "", grantsUsage) }

func secretsFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "secrets", "", "`FILE` with values that tools may have (mode 0600)")
}

// ownFiles opens files of the operator that must not be the project's: the project asks,
// and somebody else grants.
type ownFiles struct{ not []string }

// ownOf are the files for a project folder.
func ownOf(dir string) ownFiles { return ownFiles{[]string{dir}} }

// ownOfRun are those for a run that goes on: nothing in its directory, where agents
// write, and nothing in the folder that its project came from.
func ownOfRun(dir string) (ownFiles, error) {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		return ownFiles{}, err
	}
	return ownFiles{[]string{dir, m.Folder}}, nil
}

// outside refuses a file that a project chooses.
func outside(file string, folders ...string) error {
	if err := ownfile.Outside(file, folders...); err != nil {
		return protocol.Errorf(protocol.KindDenied, "%w", err)
	}
	return nil
}

// secrets reads the file of secrets; nil = none is given.
func (o ownFiles) secrets(file string) (*secrets.Store, error) {
	if file == "" {
		return nil, nil
	}
	if err := outside(file, o.not...); err != nil {
		return nil, err
	}
	return secrets.Load(file)
}

// answers reads the rules that answer questions; nil = none are given.
func (o ownFiles) answers(file string) (*permit.Judge, error) {
	if file == "" {
		return nil, nil
	}
	if err := outside(file, o.not...); err != nil {
		return nil, err
	}
	return tooling.LoadAnswers(file)
}

// grants reads the file of grants. Without one nothing is granted.
func (o ownFiles) grants(given string) (*grants.Store, error) {
	file, exists := grantsFile(given)
	if !exists {
		return nil, nil
	}
	if err := outside(file, o.not...); err != nil {
		return nil, err
	}
	s, err := grants.Load(file)
	if err == nil && given != "" {
		s.Flag = " --grants " + given
	}
	return s, err
}

// grantsFile is the operator's file of grants: the given one, or the one that is looked for
// without a name.
func grantsFile(given string) (file string, exists bool) {
	if given != "" {
		return given, true
	}
	dir, _ := os.UserConfigDir() // without a home there is no default file
	return grants.DefaultFile(os.Getenv, dir)
}
