package plugin

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Overlay shows the folders of more, which are plugins, in the folder plugins of a project;
// base nil = a project with nothing else. A plugin that both have is an error.
func Overlay(base, more fs.FS) (fs.FS, error) {
	entries, err := fs.ReadDir(more, ".")
	if err != nil {
		return nil, err
	}
	o := &overlay{base: base, more: more}
	for _, e := range entries {
		if !e.IsDir() || !IsName(e.Name()) {
			continue
		}
		if base != nil {
			if _, err := fs.Stat(base, path.Join(Folder, e.Name())); err == nil {
				return nil, protocol.Errorf(protocol.KindConflict, "the plugin %s is in the project and in the folder of plugins; remove one of them", e.Name())
			}
		}
		o.names = append(o.names, e.Name())
	}
	return o, nil
}

// overlay implements fs.FS, fs.ReadDirFS, fs.StatFS and fs.ReadLinkFS.
type overlay struct {
	base, more fs.FS
	names      []string // folders of more
}

// pick is the file system of a path, and its path there; nil = it is one of the folders that
// are made up.
func (o *overlay) pick(name string) (fs.FS, string) {
	if rest, ok := strings.CutPrefix(name, Folder+"/"); ok {
		top, _, _ := strings.Cut(rest, "/")
		if slices.Contains(o.names, top) {
			return o.more, rest
		}
	}
	if o.base != nil {
		return o.base, name
	}
	return nil, name
}

// Open implements fs.FS.
func (o *overlay) Open(name string) (fs.File, error) {
	if fsys, at := o.pick(name); fsys != nil {
		return fsys.Open(at)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (o *overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	fsys, at := o.pick(name)
	if fsys != nil && name != Folder {
		return fs.ReadDir(fsys, at)
	}
	var list []fs.DirEntry
	if fsys != nil {
		var err error
		if list, err = fs.ReadDir(fsys, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if name == Folder {
		more, err := fs.ReadDir(o.more, ".")
		for _, e := range more {
			if slices.Contains(o.names, e.Name()) {
				list = append(list, e)
			}
		}
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		return list, err
	}
	return list, nil
}

// Stat implements fs.StatFS.
func (o *overlay) Stat(name string) (fs.FileInfo, error) { return o.info(name, fs.Stat) }

// Lstat implements fs.ReadLinkFS.
func (o *overlay) Lstat(name string) (fs.FileInfo, error) { return o.info(name, fs.Lstat) }

func (o *overlay) info(name string, ask func(fs.FS, string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	if fsys, at := o.pick(name); fsys != nil {
		info, err := ask(fsys, at)
		if err == nil || name != Folder {
			return info, err
		}
	}
	if name == "." || name == Folder {
		return ask(o.more, ".")
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadLink implements fs.ReadLinkFS.
func (o *overlay) ReadLink(name string) (string, error) {
	if fsys, at := o.pick(name); fsys != nil {
		return fs.ReadLink(fsys, at)
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// Peek reads the manifest of a plugin as far as it can be read, and reports nothing.
func Peek(fsys fs.FS, name string) *Manifest {
	m := &Manifest{}
	for _, file := range Files() {
		data, err := fs.ReadFile(fsys, path.Join(Folder, name, file))
		if err != nil {
			continue
		}
		report := &source.Report{} // whoever loads the plugin reports it
		if doc := source.Parse(file, data, source.Limits{}, report); doc != nil {
			(&source.Decoder{Rules: Rules(), Report: report}).Decode(doc, m)
		}
		break
	}
	return m
}
