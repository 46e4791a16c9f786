package ownfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a folder as an absolute path without links.
func Folder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// Outside refuses a file that lies in one of the folders, or whose path leads through one:
// whoever wrote the folder would choose the file. Hence it also refuses a file with another
// name, which may lie there. Folders that are not there are skipped; the file need not be there.
func Outside(file string, folders ...string) error {
	var roots []string
	for _, f := range folders {
		if root, err := Folder(f); f != "" && err == nil {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil
	}
	places, err := leadsThrough(file)
	if err != nil {
		return err
	}
	for _, at := range places {
		for _, root := range roots {
			if at == root || strings.HasPrefix(at, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)) {
				return fmt.Errorf("%s lies in %s or is reached through it, and the project would choose it; keep the file elsewhere", file, root)
			}
		}
	}
	return onlyName(file)
}

// onlyName refuses a file that hard links lead to: nothing tells where its other names are.
func onlyName(file string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil // whoever reads it says so
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return fmt.Errorf("%s has %d names (hard links), and one of them may lie in the project, which would choose the file; make it a file of its own: cp -p %[1]s %[1]s.own && mv %[1]s.own %[1]s", file, s.Nlink)
	}
	return nil
}

// maxLinks is where the system gives up, too.
const maxLinks = 40

// leadsThrough lists the links on the way to a file, each with its own place, and the file,
// as the system finds them.
func leadsThrough(file string) (places []string, err error) {
	at := string(filepath.Separator)
	if !filepath.IsAbs(file) {
		if at, err = os.Getwd(); err == nil {
			at, err = filepath.EvalSymlinks(at)
		}
		if err != nil {
			return nil, err
		}
	}
	todo := steps(file)
	for links := 0; len(todo) > 0; {
		step := todo[0]
		if todo = todo[1:]; step == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, step)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing
			at = next
			continue
		}
		if links++; links > maxLinks {
			return nil, fmt.Errorf("%s: more than %d links", file, maxLinks)
		}
		places, todo = append(places, next), append(steps(target), todo...)
		if filepath.IsAbs(target) {
			at = string(filepath.Separator)
		}
	}
	return append(places, at), nil
}

func steps(path string) (list []string) {
	for s := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if s != "" && s != "." {
			list = append(list, s)
		}
	}
	return list
}
