package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tavernsim/internal/source"
)

// read decodes and checks a manifest, and lists its faults.
func read(t *testing.T, text string) (*Manifest, []string) {
	t.Helper()
	report, m := &source.Report{}, &Manifest{}
	doc := source.Parse("plugin.yaml", []byte(text), source.Limits{}, report)
	if doc == nil {
		t.Fatal(report.Err())
	}
	(&source.Decoder{Rules: Rules(), Report: report}).Decode(doc, m)
	for _, f := range m.Check("w", "0.5.0") {
		n, _ := doc.Root.Find(f.Steps...)
		report.At(doc, n.Pos, source.Path(f.Steps...), f.Message, f.Suggestion)
	}
	var list []string
	for _, f := range report.List() {
		list = append(list, f.String())
	}
	return m, list
}

// 001 §6.2: the manifest of the specification is read, but for what it does not say here.
func TestTheManifestOfTheSpecification(t *testing.T) {
	m, faults := read(t, `
name: w
displayName: 我的超棒插件
version: 1.0.0
description: 这个插件能极大地提升生产力。
nodes: {entry: ./nodes}
tools: {entry: ./tools}
frontend:
  build: {entry: dist/index.js, styles: [dist/style.css]}
permissions:
  hooks: ["hook:client:workflow:before-execute"]
  ui: {wrap: ["ui:BaseNode"], inject: ["node:header:right"]}
  services: {override: []}
`)
	if len(faults) > 0 || m.Frontend.Build.Entry != "dist/index.js" || m.Permissions.UI.Wrap[0] != "ui:BaseNode" || In(m.Tools, "x") != "tools" || In(nil, "x") != "x" {
		t.Error(faults, m)
	}
}

// promise 1: every fault has its place, and what is not built says so.
func TestFaultsOfAManifest(t *testing.T) {
	for text, want := range map[string]string{
		"{name: 'a b', version: 1.0.0}":                                                                      `plugin.yaml:1:8: name: the name "a b" is none`,
		"{name: a__b, version: 1.0.0}":                                                                       `name: the name "a__b" is none`,
		"{name: w, version: 1.0.0, services: {s_: {command: ./a}}}":                                          `"s_" is no name of a service`,
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.b__token, type: string}]}":             `configOptions[0].key: "b__token" is no name of an option: want a letter, then`,
		`{name: w, version: 1.0.0, displayName: "a\e[2J"}`:                                                   "displayName: the text has a control character",
		`{name: w, version: 1.0.0, description: "a\u202eb"}`:                                                 "description: the text has a control character",
		`{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: string, description: "\e"}]}`: "configOptions[0].description: the text has a control character",
		"{name: w, version: v1}":                                                                             `plugin.yaml:1:20: version: "v1" is no semantic version`,
		"{name: w, version: 1.0.0, requires: {simd: '>=1'}}":                                                 "plugin.yaml:1:44: requires.simd: this is simd 0.5.0",
		"{name: w, version: 1.0.0, requires: {simd: new}}":                                                   `"new" names no versions`,
		"{name: w, version: 1.0.0, dependencies: {w: ^1}}":                                                   `"w" is no other plugin`,
		"{name: w, version: 1.0.0, dependencies: {x: '=>'}}":                                                 `dependencies.x: "=>" names no versions`,
		"{name: w, version: 1.0.0, tools: {entry: /etc}}":                                                    `tools.entry: "/etc" is no folder of the plugin (write ./tools)`,
		"{name: w, version: 1.0.0, tools: {entry: .git}}":                                                    `".git" is no folder`,
		"{name: w, version: 1.0.0, services: {s: {command: a | b}}}":                                         "the command is more than one program",
		"{name: w, version: 1.0.0, services: {s: {command: ./a, profile: trusted}}}":                         `"trusted" is not allowed; want strict`,
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, hooks: [{hook: 'scene:end', service: s, fail: closed}], permissions: {hooks: ['hook:scene:end']}}":                              "hooks[0].fail: scene:end only tells the service",
		"{name: w, version: 1.0.0, hooks: [{hook: 'scene:start', service: s, fail: open}]}":                                                                                                       `hooks[0].service: the plugin has no service "s"`,
		"{name: w, version: 1.0.0, hooks: [{hook: 'scene:begin', service: s, fail: open}]}":                                                                                                       `"scene:begin" is not allowed`,
		"{name: w, version: 1.0.0, hooks: [{hook: 'scene:end', service: s, fail: open}]}":                                                                                                         "the plugin does not ask for this hook (add hook:scene:end to permissions.hooks)",
		"{name: w, version: 1.0.0, permissions: {hooks: [scene:end]}}":                                                                                                                            `"scene:end" is no hook`,
		"{name: w, version: 1.0.0, permissions: {services: {override: [sandbox]}}}":                                                                                                               "permissions.services.override[0]: sandbox is never replaced by a plugin",
		"{name: w, version: 1.0.0, permissions: {services: {override: [embedder]}}}":                                                                                                              "no service of the plugin replaces embedder (add it to overrides",
		"{name: w, version: 1.0.0, permissions: {services: {override: [approvr]}}}":                                                                                                               "approvr is no interface that a plugin replaces; there are model, embedder, approver, secret_store, executor:http, executor:script, executor:mcp (did you mean \"approver\"?)",
		"{name: w, version: 1.0.0, permissions: {services: {override: [model]}}}":                                                                                                                 "no service of the plugin replaces model (add it to overrides",
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: model, service: s}]}":                                                                                   "overrides[0].interface: the plugin does not ask for leave to replace model (add model to permissions.services.override)",
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: 'executor:code', service: s}]}":                                                                         "overrides[0].interface: what carries out tools of the type code is never replaced by a plugin (remove it)",
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: model, service: t}], permissions: {services: {override: [model]}}}":                                     `overrides[0].service: the plugin has no service "t"`,
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: model, service: s}, {interface: model, service: s}], permissions: {services: {override: [model]}}}":     "overrides[1].interface: the plugin replaces model twice",
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: approver, service: s, price: {input: 1, output: 2}}], permissions: {services: {override: [approver]}}}": "overrides[0].price: answers of approver have no price",
		"{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: model, service: s, price: {input: -1, output: 2}}], permissions: {services: {override: [model]}}}":      "overrides[0].price.input",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.x.a, type: string}]}":                                                                                                         `"extensions.x.a" is no key of this plugin (write extensions.w.NAME)`,
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: text}]}":                                                                                                           `"text" is not allowed`,
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: integer, min: 3, max: 2}]}":                                                                                        "min is more than max",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: integer, default: 1.5}]}":                                                                                          "default: want a whole number, got 1.5",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: boolean, min: 1}]}":                                                                                                "a boolean has no smallest value",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: string, enum: [x, 3]}]}":                                                                                           "configOptions[0].enum[1]: want a text, got 3",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: string, secret: true, default: x}]}":                                                                               "a secret has no default",
		"{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: string}, {key: extensions.w.A, type: string}]}":                                                                    "the option A is given twice",
	} {
		if _, faults := read(t, text); !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("%s: %v, want %s", text, faults, want)
		}
	}
}

// A fault is told once at its place, however many options it is about.
func TestAnOptionGivenOften(t *testing.T) {
	m, _ := read(t, "{name: w, version: 1.0.0, configOptions: [{key: extensions.w.a, type: string}, {key: extensions.w.A, type: string}, {key: extensions.w.a, type: string}]}")
	var at []string
	for _, f := range m.Check("w", "0.5.0") {
		at = append(at, source.Path(f.Steps...))
	}
	if !slices.Equal(at, []string{"configOptions[1].key", "configOptions[2].key"}) {
		t.Errorf("%q", at)
	}
}

// None of the parts that keep a run sound is ever replaced, whoever asks.
func TestWhatIsNeverReplaced(t *testing.T) {
	for _, name := range []string{"journal", "world", "bus", "permission", "masker", "sandbox", "audit"} {
		text := fmt.Sprintf("{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: %[1]s, service: s}], permissions: {services: {override: [%[1]s]}}}", name)
		if _, faults := read(t, text); len(faults) != 2 || !strings.Contains(strings.Join(faults, " "), "overrides[0].interface: "+name+" is never replaced by a plugin") {
			t.Errorf("%s: %v", name, faults)
		}
	}
	m, faults := read(t, "{name: w, version: 1.0.0, services: {s: {command: ./a}}, overrides: [{interface: 'executor:http', service: s}], permissions: {services: {override: ['executor:http']}}}")
	if len(faults) > 0 || !slices.Equal(m.Asks(), []string{"override:executor:http"}) {
		t.Errorf("%v, asks for %v", faults, m.Asks())
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		want, version string
		fits          bool
	}{{"^1.2", "1.9.0", true}, {"^1.2", "2.0.0", false}, {">=0.5 <1", "0.5.1", true}, {">=0.5 <1", "0.6.0-0.20260101000000-abcdef", true}, {">=9", "devel", true}, {">=9", "", true}} {
		if ok, err := Fits(c.want, c.version); ok != c.fits || err != nil {
			t.Errorf("%s of %s: %v, %v", c.want, c.version, ok, err)
		}
	}
}

// A long value is compared as a whole.
func TestEnumOfLongTexts(t *testing.T) {
	long := strings.Repeat("a", 90)
	o := &Option{Key: "extensions.p.o", Type: "string", Enum: []any{long + "/one", int64(2)}}
	for v, fits := range map[any]bool{long + "/one": true, long + "/other": false, long: false} {
		if why := o.takes(v, true); (why == "") != fits {
			t.Errorf("%v: %q", v, why)
		}
	}
}

const options = `{name: w, version: 1.0.0, configOptions: [
  {key: extensions.w.unit, type: string, enum: [m, ft], default: m},
  {key: extensions.w.many, type: integer, min: 1, max: 9},
  {key: extensions.w.loud, type: boolean},
  {key: extensions.w.token, type: string, min: 8, secret: true}]}`

// promise 2: a later layer wins, whichever layers there are.
func TestLayers(t *testing.T) {
	m, faults := read(t, options)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	all := []Layer{
		{Name: FromProject, Values: map[string]any{"unit": "ft", "many": int64(1)}},
		{Name: FromScene, Values: map[string]any{"many": int64(2)}},
		{Name: FromFile, Values: map[string]any{"many": int64(3)}},
		{Name: FromEnvironment, Values: map[string]any{"many": "4", "loud": "true"}, Text: true},
		{Name: FromFlag, Values: map[string]any{"many": "5"}, Text: true},
	}
	for n := range len(all) + 1 {
		c, err := m.Resolve(all[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		got, has := c["many"]
		if n == 0 && (has || c["unit"].Value != "m" || c["unit"].From != FromDefault) || n > 0 && (got.Value != int64(n) || got.From != all[n-1].Name || c["unit"].Value != "ft") {
			t.Errorf("%d layers: %+v", n, c)
		}
		if n == len(all) && (!slices.Equal(got.Hides, []string{FromProject, FromScene, FromFile, FromEnvironment}) || c.Texts()["loud"] != "true" || c.Texts()["many"] != "5") {
			t.Errorf("%+v", c)
		}
	}
	for name, v := range map[string]any{"many": int64(10), "unit": "km", "loud": "yes", "colour": "red"} {
		if _, err := m.Resolve(Layer{Name: FromScene, Values: map[string]any{name: v}}); err == nil || !strings.Contains(err.Error(), "extensions.w."+name+" (scene): ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	env := []string{"SIMD_EXTENSIONS_W__MANY=6", "SIMD_EXTENSIONS_OTHER__NONE=7", "PATH=/bin"}
	if c, err := m.Resolve(m.Environment(env)); err != nil || c["many"].Value != int64(6) || len(c) != 2 {
		t.Error(c, err)
	}
	if c, err := m.Resolve(m.Environment(append(env, "SIMD_EXTENSIONS_W__NONE=1"))); err == nil || !strings.Contains(err.Error(), "extensions.w.NONE (environment): there is no such option") {
		t.Error(c, err)
	}
}

// promise 3: secrets are the operator's, and no error shows one.
func TestSecretsAreTheOperators(t *testing.T) {
	m, _ := read(t, options)
	for layer, ok := range map[string]bool{FromProject: false, FromScene: false, FromFlag: false, FromFile: true, FromEnvironment: true} {
		if _, err := m.Resolve(Layer{Name: layer, Values: map[string]any{"token": "swordfish-9"}}); (err == nil) != ok {
			t.Errorf("%s: %v", layer, err)
		}
	}
	if _, err := m.Resolve(Layer{Name: FromFile, Values: map[string]any{"token": "hidden"}}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
	if !slices.Equal(m.Secrets(), []string{"token"}) {
		t.Error(m.Secrets())
	}
}

func TestOverlay(t *testing.T) {
	base := fstest.MapFS{"project.json": {Data: []byte("{}")}, "plugins/a/plugin.yaml": {Data: []byte("a")}}
	more := fstest.MapFS{"b/plugin.yaml": {Data: []byte("b")}, "b/tools/x": {Data: []byte("x")}, ".git/c": {}, "file": {}}
	for _, under := range []fs.FS{base, nil} {
		fsys, err := Overlay(under, more)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		if err := fs.WalkDir(fsys, Folder, func(p string, _ fs.DirEntry, err error) error { names = append(names, p); return err }); err != nil {
			t.Fatal(err)
		}
		want := "plugins plugins/a plugins/a/plugin.yaml plugins/b plugins/b/plugin.yaml plugins/b/tools plugins/b/tools/x"
		if under == nil {
			want = "plugins plugins/b plugins/b/plugin.yaml plugins/b/tools plugins/b/tools/x"
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if info, err := fs.Lstat(fsys, "plugins/b"); err != nil || !info.IsDir() {
			t.Error(err)
		}
		if _, err := fsys.Open("plugins/../secret"); !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if _, err := Overlay(base, fstest.MapFS{"a/plugin.yaml": {}}); err == nil || !strings.Contains(err.Error(), "the plugin a is in the project and in the folder of plugins") {
		t.Error(err)
	}
}
