package operator

import (
	"fmt"
	"os"

	"tavernsim/engine/permit"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools/grants"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
	"tavernsim/tools/secrets"
)

// Files opens files of the operator that must not be the project's: the project asks,
// and somebody else grants.
type Files struct{ not []string }

// Of are the files for a project folder.
func Of(dir string) Files { return Files{[]string{dir}} }

// OfRun are those for a run that goes on: nothing in its directory, where agents
// write, and nothing in the folder that its project came from.
func OfRun(dir string) (Files, error) {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		return Files{}, err
	}
	return Files{[]string{dir, m.Folder}}, nil
}

// Outside refuses a file that a project chooses.
func Outside(file string, folders ...string) error {
	if err := ownfile.Outside(file, folders...); err != nil {
		return protocol.Errorf(protocol.KindDenied, "%w", err)
	}
	return nil
}

// Secrets reads the file of secrets, and the files that it needs; nil = none is given.
func (o Files) Secrets(file string) (*secrets.Store, error) {
	if file == "" {
		return nil, nil
	}
	if err := Outside(file, o.not...); err != nil {
		return nil, err
	}
	return secrets.Load(file, secrets.Mounted{Getenv: os.Getenv, Outside: func(file string) error { return Outside(file, o.not...) }})
}

// Answers reads the rules that answer questions; nil = none are given.
func (o Files) Answers(file string) (*permit.Judge, error) {
	if file == "" {
		return nil, nil
	}
	if err := Outside(file, o.not...); err != nil {
		return nil, err
	}
	return loadAnswers(file)
}

// Grants reads the file of grants. Without one nothing is granted.
func (o Files) Grants(given string) (*grants.Store, error) {
	file, exists := GrantsFile(given)
	if !exists {
		return nil, nil
	}
	if err := Outside(file, o.not...); err != nil {
		return nil, err
	}
	s, err := grants.Load(file)
	if err == nil && given != "" {
		s.Flag = " --grants " + given
	}
	return s, err
}

// GrantsFile is the operator's file of grants: the given one, or the one that is looked for
// without a name.
func GrantsFile(given string) (file string, exists bool) {
	if given != "" {
		return given, true
	}
	dir, _ := os.UserConfigDir() // without a home there is no default file
	return grants.DefaultFile(os.Getenv, dir)
}

// Config completes what an operator says about options of plugins.
func (o Files) Config(s plugin.Sources) (plugin.Sources, error) {
	s.Env = os.Environ()
	if s.File == "" {
		dir, _ := os.UserConfigDir() // without a home there is no default file
		s.File = plugin.DefaultConfig(os.Getenv, dir)
	}
	if s.File == "" {
		return s, nil
	}
	return s, Outside(s.File, o.not...)
}

// approvalFile is a file of answers.
type approvalFile struct {
	Rules []permit.Rule `json:"rules"`
}

// loadAnswers reads a file of rules that answer questions.
func loadAnswers(file string) (*permit.Judge, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "approvals: %w", err)
	}
	report, f := &source.Report{}, &approvalFile{}
	var judge *permit.Judge
	if doc := source.Parse(file, data, source.Limits{}, report); doc != nil {
		rules := project.PolicyRules()
		rules["operator.approvalFile.rules"] = rules["permit.Policy.rules"]
		d := source.Decoder{Rules: rules, Report: report}
		d.Decode(doc, f)
		var faults []permit.Fault
		judge, faults = permit.New(&permit.Policy{Otherwise: permit.Ask, Rules: f.Rules})
		for i := range f.Rules {
			if f.Rules[i].Do == permit.Ask {
				faults = append(faults, permit.Fault{Steps: []string{"rules", fmt.Sprint(i), "do"}, Message: "an answer is allow or deny"})
			}
		}
		for _, x := range faults {
			node, _ := doc.Root.Find(x.Steps...)
			report.At(doc, node.Pos, source.Path(x.Steps...), x.Message, "")
		}
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return judge, nil
}
