package project

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/workflow"
	"tavernsim/internal/schema"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/contexts"
	"tavernsim/tools/toolmock"

	"golang.org/x/mod/semver"
)

// loader builds a Project. Its steps run in the order in which definitions
// refer to each other, and every step goes on after a fault.
type loader struct {
	opt      Options
	tree     *tree
	report   *source.Report
	warns    *source.Report
	decoder  *source.Decoder
	project  *Project
	schemas  *schemaCompiler
	ids      map[string]place // "kind id" to where it was given
	filters  map[string]*expr.Program
	quiet    *source.Decoder                        // decodes again what was decoded, and reports nowhere
	def      *source.Document                       // project.json; nil = none
	models   map[string]bool                        // model files looked at, and whether they are sound
	sound    map[string][]byte                      // sound model files in models/, by path
	known    map[string]workflow.Room               // of models, by their names
	entries  map[string]map[string]*knowledge.Entry // by knowledge base; see entry
	built    *knowledge.State                       // of the sound bases; nil = not asked for yet
	shared   []sharedBase
	ofNode   []ofNode
	callers  []ofNode                    // whose needs name tools
	within   []ofNode                    // that a workflow or a node carries out
	squashed map[string]string           // ids of tools, as models may write them
	mocks    map[string]*toolmock.Mock   // by plugin; "" = the project's
	mocked   map[string]*source.Document // their files
	broken   map[string][]Fault          // plugins that are not loaded, with the reasons
}

// place is a node within a file, for faults that are found later.
type place struct {
	doc  *source.Document
	node *source.Node
}

func (p place) String() string {
	return fmt.Sprintf("%s:%d:%d", p.doc.File, p.node.Pos.Line, p.node.Pos.Column)
}

func newLoader(fsys fs.FS, opt Options) *loader {
	report, warns := &source.Report{}, &source.Report{}
	l := &loader{
		opt:      opt,
		tree:     newTree(fsys, opt.Limits, report, warns),
		report:   report,
		warns:    warns,
		decoder:  newDecoder(report),
		ids:      map[string]place{},
		filters:  map[string]*expr.Program{},
		quiet:    newDecoder(&source.Report{}),
		entries:  map[string]map[string]*knowledge.Entry{},
		models:   map[string]bool{},
		mocks:    map[string]*toolmock.Mock{},
		mocked:   map[string]*source.Document{},
		squashed: map[string]string{},
	}
	if opt.Begun {
		report.Strict = warns
	}
	l.schemas = &schemaCompiler{l.tree}
	l.project = &Project{
		profiles:  map[string]*Profile{},
		scenes:    map[string]*Scene{},
		workflows: newResolver(),
		bases:     map[string]*knowledge.KnowledgeBase{},
		panels:    map[string]*Panel{},
		tools:     map[string]*Tool{},
		servers:   map[string]*Server{},
		services:  map[string]*Service{},
		plugins:   map[string]*Plugin{},
		events:    map[string]*schema.Schema{},
		given:     l.opt.Tools,
	}
	return l
}

func (l *loader) load() {
	l.def = l.loadDefinition()
	l.loadPlugins()
	l.loadModels()
	l.loadPanels()
	l.loadKnowledge()
	l.loadWorkflows()
	l.loadServers()
	l.loadServices()
	l.loadTools()
	l.loadPinned()
	l.loadNodes()
	l.loadNodeTools()
	profiles := l.loadProfiles()
	scenes := l.loadScenes()
	l.known = contexts.Of(l.sound, l.onlyModel())
	l.linkWorkflows()
	l.linkPanels()
	l.linkProfiles(profiles)
	l.linkScenes(scenes)
	l.linkWorkflows() // of the program, that the others name
	l.linkDefinition(l.def)
	l.linkMocks()
	l.linkCallers()
	l.linkCircles()
}

// say notes what is wrong at a node: [loader.fault], [loader.strict] or [loader.warn].
type say func(doc *source.Document, steps []string, suggestion, format string, args ...any)

// fault notes a fault at the node that steps lead to, or at the nearest one
// above it that exists.
func (l *loader) fault(doc *source.Document, steps []string, suggestion, format string, args ...any) {
	l.note(l.report, doc, steps, suggestion, format, args...)
}

// strict notes a fault that older programs let pass.
func (l *loader) strict(doc *source.Document, steps []string, suggestion, format string, args ...any) {
	to := l.report
	if l.opt.Begun {
		to = l.warns
	}
	l.note(to, doc, steps, suggestion, format, args...)
}

// saying is how a fault that another package found is noted.
func (l *loader) saying(strict bool) say {
	if strict {
		return l.strict
	}
	return l.fault
}

func (l *loader) warn(doc *source.Document, steps []string, suggestion, format string, args ...any) {
	l.note(l.warns, doc, steps, suggestion, format, args...)
}

func (l *loader) note(to *source.Report, doc *source.Document, steps []string, suggestion, format string, args ...any) {
	n, _ := doc.Root.Find(steps...)
	to.At(doc, n.Pos, source.Path(steps...), fmt.Sprintf(format, args...), suggestion)
}

// at makes steps out of names and indexes.
func at(steps ...any) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = fmt.Sprint(s)
	}
	return out
}

// claim takes an id of a kind and reports whether it was free and can be used.
func (l *loader) claim(kind, id string, doc *source.Document, steps []string) bool {
	if id == "" {
		return false // the missing field was reported
	}
	problem := badName(id)
	if kind == "workflow" {
		problem = badID(id)
	}
	if problem != "" {
		l.fault(doc, steps, "", "the id %q %s", id, problem)
	}
	n, _ := doc.Root.Find(steps...)
	if first, ok := l.ids[kind+" "+id]; ok {
		l.fault(doc, steps, "rename one of them", "the %s id %q is given twice; the first is at %s", kind, id, first)
		return false
	}
	l.ids[kind+" "+id] = place{doc, n}
	return true
}

// badID says what makes a text no id, "" when it is one.
func badID(id string) string {
	switch {
	case len(id) > MaxIDBytes:
		return fmt.Sprintf("has %d bytes; the limit is %d", len(id), MaxIDBytes)
	case strings.TrimSpace(id) != id:
		return "begins or ends with a blank"
	case strings.ContainsFunc(id, unprintable):
		return "holds a control character, or one that is not printed"
	case cast.OfScene(id):
		return "begins with $, which is kept for the scene's own actors"
	}
	return ""
}

// unprintable characters would not show in a terminal, or would turn its lines
// around. The two joiners are part of how some languages are written.
func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d' }

// badName is badID for what is no path: everything but workflows.
func badName(id string) string {
	switch problem := badID(id); {
	case problem != "":
		return problem
	case strings.ContainsAny(id, `/\`):
		return `holds a slash`
	case strings.HasPrefix(id, "."):
		return "begins with a dot"
	}
	return ""
}

// version checks a semantic version; "" is left to the required rule.
func (l *loader) version(doc *source.Document, steps []string, v string) {
	core, _, _ := strings.Cut(v, "-")
	core, _, _ = strings.Cut(core, "+")
	if v == "" || semver.IsValid("v"+v) && strings.Count(core, ".") == 2 {
		return
	}
	suggestion := ""
	if fixed := semver.Canonical("v" + strings.TrimPrefix(v, "v")); fixed != "" {
		suggestion = fmt.Sprintf("write %q", fixed[1:])
	}
	l.fault(doc, steps, suggestion, "%q is no semantic version; want major.minor.patch", v)
}

// expression compiles an expression once per text and roots.
func (l *loader) expression(doc *source.Document, steps []string, src string, roots ...string) *expr.Program {
	if src == "" {
		return nil
	}
	key := strings.Join(roots, " ") + "\n" + src
	if p, ok := l.filters[key]; ok {
		return p
	}
	p, err := expr.Compile(src, roots...)
	if err != nil {
		message, hint := expressionFault(err)
		l.fault(doc, steps, hint, "the expression does not compile: %s", message)
		return nil
	}
	l.filters[key] = p
	return p
}

func (l *loader) loadDefinition() *source.Document {
	var files []string
	for _, p := range l.tree.listed {
		if isProjectFile(p) {
			files = append(files, p)
		}
	}
	def := &l.project.Definition
	if len(files) == 0 {
		def.ID = l.opt.Name
		if def.ID == "" {
			def.ID = "project"
		}
		return nil
	}
	for _, p := range files[1:] {
		l.tree.fault(p, "the project has a second project file beside "+files[0], "remove one")
	}
	doc := l.tree.parse(files[0])
	if doc == nil {
		return nil
	}
	l.decoder.Decode(doc, def)
	l.version(doc, at("version"), def.Version)
	if problem := badName(def.ID); problem != "" {
		l.fault(doc, at("id"), "", "the id %q %s", def.ID, problem)
	}
	def.Model = l.modelFile(doc, at("model"), def.Model)
	if len(def.Dependencies) > 0 {
		l.fault(doc, at("dependencies"), "copy what is needed into this folder and remove the field", "projects cannot depend on other projects in this version")
	}
	return doc
}

// linkDefinition checks what project.json refers to, after all else is loaded.
func (l *loader) linkDefinition(doc *source.Document) {
	if doc == nil {
		return
	}
	def := &l.project.Definition
	if _, ok := l.project.scenes[def.DefaultScene]; !ok && def.DefaultScene != "" {
		ids := protocol.SortedKeys(l.project.scenes)
		l.fault(doc, at("default_scene"), l.instead(scenesDir, def.DefaultScene, ids), "there is no scene %q", def.DefaultScene)
	}
	l.linkPolicy(doc)
	for _, eventType := range protocol.SortedKeys(def.EventSchemas) {
		l.eventSchema(doc, eventType, def.EventSchemas[eventType])
	}
}

func (l *loader) eventSchema(doc *source.Document, eventType string, written any) {
	steps := at("event_schemas", eventType)
	if problem := badEventType(eventType, false); problem != "" {
		l.fault(doc, steps, "", "the event type %q %s", eventType, problem)
	}
	if s := l.schemaAt(doc, steps, written); s != nil {
		l.project.events[eventType] = s
	}
}

// schemaAt compiles a JSON Schema that stands at steps, or in the file that is named there.
func (l *loader) schemaAt(doc *source.Document, steps []string, written any) *schema.Schema {
	from, under := doc, steps
	if p, ok := written.(string); ok {
		clean, problem := l.tree.locate(p)
		if problem != "" {
			l.fault(doc, steps, "", "%s", problem)
			return nil
		}
		if from, under = l.tree.parse(clean), nil; from == nil {
			return nil
		}
	}
	return l.schema(from, under)
}

// modelFile checks a path of a model file and reads the file, so that it is
// part of the inputs. It returns the clean path, or what was written when that
// is wrong, so that nothing else is taken instead.
func (l *loader) modelFile(doc *source.Document, steps []string, written string) string {
	if written == "" {
		return ""
	}
	clean, problem := l.tree.locate(written)
	if problem != "" {
		meant := written
		if !strings.Contains(written, "/") { // a model has a name elsewhere
			meant = modelsDir + "/" + written + ".yaml"
		}
		l.fault(doc, steps, source.Suggest(meant, l.tree.under(modelsDir)), "%s", problem)
		return written
	}
	l.checkModel(clean)
	return clean
}

// checkModel reads a model file and reports its faults, once.
func (l *loader) checkModel(file string) bool {
	if sound, ok := l.models[file]; ok {
		return sound
	}
	f := l.tree.load(file)
	l.models[file] = f != nil && (l.opt.Model == nil || l.opt.Model(file, f.data, l.report))
	return l.models[file]
}

func (l *loader) loadModels() {
	files, others := map[string][]byte{}, map[string][]byte{}
	for _, p := range l.tree.under(modelsDir) {
		switch f := l.tree.load(p); {
		case f == nil:
		case !isModelFile(p):
			others[p] = f.data
		case l.checkModel(p):
			files[p] = f.data
		}
	}
	if l.opt.Models != nil {
		l.opt.Models(files, others, l.report)
	}
	l.sound = files
}

// under lists all files of a folder, whatever their ending.
func (t *tree) under(dir string) []string {
	var list []string
	for _, p := range t.listed {
		if strings.HasPrefix(t.place(p), dir+"/") {
			list = append(list, p)
		}
	}
	return list
}

// instead suggests what a reference into a folder could have meant: the nearest
// candidate, a file that could not be read, or all of a few.
func (l *loader) instead(dir, word string, candidates []string) string {
	if s := source.Suggest(word, candidates); s != "" {
		return s
	}
	if broken := l.tree.broken[dir]; len(broken) > 0 {
		return "it may be in " + broken[0] + ", which has a syntax error"
	}
	return suggestOr(word, candidates)
}

// suggestOr suggests the nearest candidate, or lists them when they are few.
func suggestOr(word string, candidates []string) string {
	if s := source.Suggest(word, candidates); s != "" {
		return s
	}
	switch {
	case len(candidates) == 0 || len(candidates) > 8:
		return ""
	case len(candidates) == 1:
		return "there is " + candidates[0]
	}
	return "there are " + strings.Join(candidates, ", ")
}

// badEventType says what makes a text no event type, "" when it is one: words
// with dots between them. A pattern may be "*" or end in ".*".
func badEventType(s string, pattern bool) string {
	if pattern && s == "*" {
		return ""
	}
	if pattern {
		s = strings.TrimSuffix(s, ".*")
	}
	switch {
	case s == "":
		return "is empty"
	case len(s) > eventtype.MaxBytes:
		return fmt.Sprintf("has %d bytes; the limit is %d", len(s), eventtype.MaxBytes)
	case strings.Contains(s, "*"):
		return `holds a star; only a subscription may, as ".*" at its end`
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "holds a blank or a control character"
	case strings.HasPrefix(s, "."), strings.HasSuffix(s, "."), strings.Contains(s, ".."):
		return "has an empty segment"
	}
	return ""
}
