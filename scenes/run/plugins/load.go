// Package plugins reads projects with plugins of other folders, and single plugins, and has the
// views of simd plugin.
//
// # Not here
//
// Manifests and options (tools/plugin); plugins as parts of a project
// (scenes/load/project).
package plugins

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
)

// Loading says how a project folder is read.
type Loading struct {
	Stops   bool   // flags give a stop condition
	Plugins string // a folder of more plugins that the project may list; "" = none
	Version string // of the program, which plugins may ask for
}

func (o Loading) options() project.Options {
	return project.Options{Stops: o.Stops, Model: runner.ReadModel, Models: runner.CheckModels, Program: o.Version}
}

// Load reads a project folder. A folder with the manifest of a plugin, and without a
// project, is that plugin alone.
func Load(dir string, o Loading) (*project.Project, error) {
	if Is(dir) {
		return loadPlugin(dir, o)
	}
	if o.Plugins == "" {
		return rundir.Load(dir, o.options())
	}
	base, err := os.OpenRoot(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project %s: %w", dir, err)
	}
	defer base.Close()
	more, err := os.OpenRoot(o.Plugins)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "plugins %s: %w", o.Plugins, err)
	}
	defer more.Close()
	fsys, err := plugin.Overlay(base.FS(), more.FS())
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opt := o.options()
	opt.Name = filepath.Base(abs)
	return rundir.LoadFS(fsys, opt)
}

// Is reports whether a folder is that of a plugin, and no project.
func Is(dir string) bool {
	return has(dir, plugin.Files()) && !IsProject(dir)
}

// IsProject reports whether a folder has the file of a project.
func IsProject(dir string) bool {
	return has(dir, []string{"project.json", "project.jsonc", "project.yaml", "project.yml"})
}

func has(dir string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// Find finds a plugin that a command names: a folder, or one in plugins/.
func Find(name string) (dir string, err error) {
	for _, dir := range []string{name, filepath.Join(plugin.Folder, name)} {
		if Is(dir) {
			return dir, nil
		}
	}
	return "", protocol.Errorf(protocol.KindNotFound, "there is no plugin %s: neither %s nor %s has a plugin.yaml", name, name, filepath.Join(plugin.Folder, name))
}

// loadPlugin reads a plugin as the only thing in a project, with those of the same folder
// that it needs.
func loadPlugin(dir string, o Loading) (*project.Project, error) {
	abs, err := ownfile.Folder(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "plugin %s: %w", dir, err)
	}
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "plugin %s: %w", dir, err)
	}
	defer root.Close()
	fsys, err := plugin.Overlay(nil, root.FS())
	if err != nil {
		return nil, err
	}
	opt := o.options()
	opt.Name, opt.Alone = filepath.Base(abs), true
	for _, name := range needed(fsys, filepath.Base(abs)) {
		opt.Plugins = append(opt.Plugins, plugin.Use{Name: name})
	}
	return rundir.LoadFS(fsys, opt)
}

// needed are the names of a plugin and of those that it depends on and that are there.
func needed(fsys fs.FS, name string) []string {
	names := []string{name}
	for i := 0; i < len(names) && i < plugin.MaxPlugins; i++ {
		for _, other := range protocol.SortedKeys(plugin.Peek(fsys, names[i]).Dependencies) {
			if info, err := fs.Stat(fsys, plugin.Folder+"/"+other); err == nil && info.IsDir() && !slices.Contains(names, other) {
				names = append(names, other)
			}
		}
	}
	return names
}

// Folders lists the plugins that lie in a project, and in a folder of more, with their
// manifests as far as they can be read.
func Folders(dir, more string) (map[string]*plugin.Manifest, error) {
	all := map[string]*plugin.Manifest{}
	for _, folder := range []string{filepath.Join(dir, plugin.Folder), more} {
		if folder == "" {
			continue
		}
		root, err := os.OpenRoot(folder)
		if err != nil && folder != more {
			continue // the project has none
		}
		if err != nil {
			return nil, protocol.Errorf(protocol.KindNotFound, "plugins %s: %w", folder, err)
		}
		fsys, err := plugin.Overlay(nil, root.FS())
		if err == nil {
			entries, _ := fs.ReadDir(fsys, plugin.Folder)
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), ".") {
					all[e.Name()] = plugin.Peek(fsys, e.Name())
				}
			}
		}
		_ = root.Close() // it was read
	}
	return all, nil
}
