package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// Given is what an operator says about options of plugins, the layer that wins last.
type Given []GivenLayer

// GivenLayer is one layer, by plugin and option.
type GivenLayer struct {
	From    string                    `json:"from"`
	Plugins map[string]map[string]any `json:"plugins"`
}

// Of are the layers of one plugin.
func (g Given) Of(plugin string) (list []Layer) {
	for _, l := range g {
		list = append(list, Layer{Name: l.From, Values: l.Plugins[plugin]})
	}
	return list
}

// Split takes the secrets of the plugins out of what is given, and every other value that is
// one of them.
func (g Given) Split(plugins map[string]*Manifest) (open, secret Given) {
	isSecret := func(name, option string) bool {
		m := plugins[name]
		return m != nil && slices.Contains(m.Secrets(), option)
	}
	values := map[string]bool{}
	for _, l := range g {
		for name, options := range l.Plugins {
			for option, v := range options {
				if text, ok := v.(string); ok && isSecret(name, option) {
					values[text] = true
				}
			}
		}
	}
	for _, l := range g {
		parts := [2]GivenLayer{{From: l.From, Plugins: map[string]map[string]any{}}, {From: l.From, Plugins: map[string]map[string]any{}}}
		for name, options := range l.Plugins {
			for option, v := range options {
				i := 0
				if text, ok := v.(string); isSecret(name, option) || ok && values[text] {
					i = 1
				}
				parts[i].put(name, map[string]any{option: v})
			}
		}
		if len(parts[0].Plugins) > 0 {
			open = append(open, parts[0])
		}
		if len(parts[1].Plugins) > 0 {
			secret = append(secret, parts[1])
		}
	}
	return open, secret
}

// Sources are where an operator says something.
type Sources struct {
	File  string   // "" = none
	Env   []string // NAME=VALUE, as of os.Environ
	Flags []string // extensions.PLUGIN.OPTION=VALUE
}

// Read reads what the sources say about the options of plugins, and checks it. What the file
// says about other plugins is passed over; a flag about another one is an error.
func (s Sources) Read(plugins map[string]*Manifest) (Given, error) {
	var given Given
	add := func(l GivenLayer, err error) error {
		if len(l.Plugins) > 0 {
			given = append(given, l)
		}
		return err
	}
	if s.File != "" {
		if err := add(readFile(s.File, plugins)); err != nil {
			return nil, err
		}
	}
	if err := add(environment(s.Env, plugins)); err != nil {
		return nil, err
	}
	if err := add(flags(s.Flags, plugins)); err != nil {
		return nil, err
	}
	return given, nil
}

// Again is what a run goes on with: what it began with, and secrets as the sources give them
// now.
func (s Sources) Again(kept Given, plugins map[string]*Manifest) (Given, error) {
	now, err := s.Read(plugins)
	if err != nil {
		return nil, err
	}
	_, secret := now.Split(plugins)
	return append(slices.Clone(kept), secret...), nil
}

// typed checks the values of one layer, and reads texts.
func (m *Manifest) typed(l Layer) (map[string]any, error) {
	config, err := m.Resolve(l)
	values := map[string]any{}
	for name := range l.Values {
		values[name] = config[name].Value
	}
	return values, err
}

// DefaultConfig is where a user's file of options is if none is named: $SIMD_PLUGIN_CONFIG,
// else simd/plugins.yaml in the configuration folder; "" = there is none.
func DefaultConfig(getenv func(string) string, configDir string) string {
	if file := getenv("SIMD_PLUGIN_CONFIG"); file != "" {
		return file
	}
	if configDir == "" {
		return ""
	}
	file := filepath.Join(configDir, "simd", "plugins.yaml")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

const maxConfig = 1 << 20 // bytes

// readFile reads the operator's file: an object of keys extensions.PLUGIN.OPTION.
func readFile(file string, plugins map[string]*Manifest) (GivenLayer, error) {
	l := GivenLayer{From: FromFile, Plugins: map[string]map[string]any{}}
	data, err := ownfile.Read(file, ownfile.Guard{Not: 0o077, Reason: "it may have secrets, and only its owner may read it", Mend: "600", Max: maxConfig})
	if errors.Is(err, fs.ErrNotExist) {
		return l, protocol.Errorf(protocol.KindNotFound, "options of plugins: there is no file %s", file)
	}
	if err != nil {
		return l, protocol.Errorf(protocol.KindInvalid, "options of plugins: %w", err)
	}
	report := &source.Report{}
	doc := source.Parse(file, data, source.Limits{MaxBytes: maxConfig, Secret: true}, report)
	if doc == nil || doc.Root.Kind != source.Object {
		if doc != nil {
			report.At(doc, doc.Root.Pos, "", "want an object of keys "+Extensions+"PLUGIN.OPTION", "")
		}
		return l, report.Err()
	}
	for i, k := range doc.Root.Keys() {
		name, option, problem := cut(k.Name)
		m := plugins[name]
		if problem != "" {
			report.At(doc, k.Pos, "", problem, "")
			continue
		}
		if m == nil {
			continue // of another project
		}
		values, err := m.typed(Layer{Name: FromFile, Values: map[string]any{option: doc.Root.Elem(i).Value()}})
		if err != nil {
			report.At(doc, doc.Root.Elem(i).Pos, source.Path(k.Name), err.Error(), "")
			continue
		}
		l.put(name, values)
	}
	return l, report.Err()
}

func (l *GivenLayer) put(plugin string, values map[string]any) {
	if l.Plugins[plugin] == nil {
		l.Plugins[plugin] = map[string]any{}
	}
	maps.Copy(l.Plugins[plugin], values)
}

// cut takes a key apart.
func cut(key string) (plugin, option, problem string) {
	rest, ok := strings.CutPrefix(key, Extensions)
	plugin, option, two := strings.Cut(rest, ".")
	if !ok || !two || !IsName(plugin) || option == "" {
		return "", "", fmt.Sprintf("%q is no key of an option; want %sPLUGIN.OPTION", protocol.Short(key, 120), Extensions)
	}
	return plugin, option, ""
}

func environment(env []string, plugins map[string]*Manifest) (GivenLayer, error) {
	l := GivenLayer{From: FromEnvironment, Plugins: map[string]map[string]any{}}
	for _, name := range protocol.SortedKeys(plugins) {
		layer := plugins[name].Environment(env)
		values, err := plugins[name].typed(layer)
		if err != nil {
			return l, err
		}
		if len(values) > 0 {
			l.put(name, values)
		}
	}
	return l, nil
}

func flags(list []string, plugins map[string]*Manifest) (GivenLayer, error) {
	l := GivenLayer{From: FromFlag, Plugins: map[string]map[string]any{}}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		name, option, problem := cut(key)
		if !ok {
			problem = fmt.Sprintf("want %sPLUGIN.OPTION=VALUE", Extensions)
		}
		m := plugins[name]
		if problem == "" && m == nil {
			problem = "the project has no plugin " + name + " that is on"
		}
		if problem != "" {
			return l, protocol.Errorf(protocol.KindInvalid, "--set %s: %s", protocol.Short(key, 120), problem)
		}
		values, err := m.typed(Layer{Name: FromFlag, Values: map[string]any{option: value}, Text: true})
		if err != nil {
			return l, err
		}
		l.put(name, values)
	}
	return l, nil
}
