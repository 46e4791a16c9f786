package interview

import (
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models"
	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/plugin"
)

// Models are those of a scene of a run; name puts another model in the place of the scene's,
// as simd run --model does, "" = the run's. The caller closes them.
func Models(run *inspect.Run, scene, name string, to map[string]*endpoint.Endpoint) (*models.Set, error) {
	def, err := run.Project.Scene(scene)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = run.Manifest.Model
	}
	if all := overrides.Of(run.Project); (all[plugin.OfModel] != nil || all[plugin.OfEmbedder] != nil) && name != modelfile.KindScripted {
		return nil, protocol.Errorf(protocol.KindInvalid, "a plugin answers in the place of the models of this run; interviews of such runs are not built yet: --model scripted lets scripts answer")
	}
	return runner.ModelsOf(run.Project, def, runner.Options{Model: name, Endpoints: to}, overrides.Models{})
}
