package runner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models"
	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/overrides"
)

// ReadModel reads a model file; it is project.Options.Model of a program that runs scenes.
func ReadModel(file string, data []byte, report *source.Report) bool {
	return models.Read(file, data, report)
}

// CheckModels checks model files together; it is project.Options.Models of a program that runs scenes.
func CheckModels(files, others map[string][]byte, report *source.Report) {
	models.Check(filesOf(files), filesOf(others), report)
}

func filesOf(data map[string][]byte) (files []models.File) {
	for _, file := range slices.Sorted(maps.Keys(data)) {
		files = append(files, models.File{Path: file, Data: data[file]})
	}
	return files
}

// withModels adds the models of the scenes to the options.
func (opt Options) withModels(p *project.Project, defs []*project.Scene) (Options, error) {
	opt.models = map[string]*models.Set{}
	opt.replaced = map[string]overrides.Models{}
	for _, def := range defs {
		instead := opt.modelsOfPlugins(p)
		set, err := ModelsOf(p, def, opt, instead)
		if err != nil {
			return opt, err
		}
		opt.models[def.Definition.ID], opt.replaced[def.Definition.ID] = set, instead
	}
	return opt, nil
}

// modelsOfPlugins are the services of plugins that take the places of the models of a scene. A
// script or recorded answers that the caller asked for alone win.
func (opt Options) modelsOfPlugins(p *project.Project) overrides.Models {
	if cmp.Or(opt.Tools, tooling.Live) != tooling.Live || opt.Model == modelfile.KindScripted || opt.OnMiss == MissFail || opt.Estimate != nil {
		return overrides.Models{}
	}
	return overrides.ModelsOf(p)
}

// endpoints are the names of those that the models ask, sorted.
func (opt Options) endpoints() (names []string) {
	for _, set := range opt.models {
		for _, m := range set.Asked() {
			names = append(names, m.Endpoint)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ModelsOf makes the models of a scene; services of plugins take the places of some.
func ModelsOf(p *project.Project, s *project.Scene, opt Options, instead overrides.Models) (*models.Set, error) {
	set := models.Options{Default: s.Definition.Simulation.Model, Endpoints: opt.Endpoints, Answers: opt.answers, Store: opt.Store, Estimate: opt.Estimate, Script: s.Definition.Simulation.Model}
	instead.Take(&set)
	switch {
	case opt.OnMiss == MissFail:
		set.Endpoints = nil
	case opt.answers != nil && set.Endpoints == nil:
		set.Endpoints = map[string]*endpoint.Endpoint{} // no script answers for what was not recorded
	}
	paths, others := p.ModelFiles()
	switch i := slices.IndexFunc(paths, func(file string) bool { return models.NameOf(file) == opt.Model }); {
	case opt.Model == modelfile.KindScripted:
		set.Endpoints, set.Answers, set.Scripts = nil, nil, true
	case opt.Model == "":
	case i < 0:
		return nil, protocol.Errorf(protocol.KindNotFound, "model %q: the project has no file models/%s.yaml; it has %s", opt.Model, opt.Model, cmp.Or(strings.Join(paths, ", "), "none"))
	default:
		set.Default = paths[i]
	}
	if set.Default != "" && !slices.Contains(paths, set.Default) {
		paths = append(paths, set.Default)
	}
	var err error
	if set.Files, err = modelFiles(p, paths); err != nil {
		return nil, err
	}
	if set.Others, err = modelFiles(p, others); err != nil {
		return nil, err
	}
	made, err := models.New(set)
	if err == nil && opt.Model == modelfile.KindScripted {
		made.Notes = nil // it was asked for
	}
	return made, err
}

// Models makes the models of a project's files, to try them without a run.
func Models(p *project.Project, to map[string]*endpoint.Endpoint) (*models.Set, error) {
	paths, besides := p.ModelFiles()
	files, err := modelFiles(p, paths)
	if err != nil {
		return nil, err
	}
	others, err := modelFiles(p, besides)
	if err != nil {
		return nil, err
	}
	return models.New(models.Options{Files: files, Others: others, Endpoints: to})
}

// Askers are the endpoints of a project's models that give the question of a request this hash, by the names of the models.
func Askers(p *project.Project, q *protocol.ModelRequest, hash string) (map[string]string, error) {
	paths, _ := p.ModelFiles()
	files, err := modelFiles(p, paths)
	if err != nil {
		return nil, err
	}
	return models.Askers(files, q, hash), nil
}

func modelFiles(p *project.Project, paths []string) (files []models.File, err error) {
	for _, file := range paths {
		data, ok := p.Model(file)
		if !ok {
			return nil, protocol.Errorf(protocol.KindNotFound, "model file %s is not in the project", file)
		}
		files = append(files, models.File{Path: file, Data: data})
	}
	return files, nil
}
