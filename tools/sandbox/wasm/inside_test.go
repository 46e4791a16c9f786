package wasm

import (
	"os"
	"strings"
	"testing"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
)

// Promise 1: neither a path nor a link leads out of a folder, and everything else in it works.
func TestInside(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/in/d", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret": "secret", "in/d/f": "fine"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range []bool{true, false} {
		f, err := open(Folder{dir + "/in", write})
		if err != nil {
			t.Fatal(err)
		}
		if write {
			for name, to := range map[string]string{"up": "..", "out": "../secret", "new": "../new", "there": "d/f", "d/back": "../d"} {
				if no := f.Symlink(to, name); no != 0 {
					t.Fatal(name, no)
				}
			}
			if err := os.Symlink(dir, dir+"/in/far"); err != nil { // a module may make none that begins with /
				t.Fatal(err)
			}
		}
		for path, want := range map[string]wasi.Errno{
			"up/secret": wasi.EPERM, "out": wasi.EPERM, "../secret": wasi.EPERM, "d/../../secret": wasi.EPERM, "far/secret": wasi.EPERM, "up": wasi.EPERM, "d/back/../../secret": wasi.EPERM,
			"there": 0, "d/f": 0, "d/back/f": 0, "d/../d/f": 0, ".": 0, "d/": 0, "none": wasi.ENOENT, "d/f/x": wasi.ENOTDIR,
		} {
			file, no := f.OpenFile(path, wasi.O_RDONLY, 0)
			if no != want {
				t.Errorf("%s: %v, want %v", path, no, want)
			}
			if no == 0 {
				_ = file.Close()
			}
			if _, no := f.Stat(path); no != want {
				t.Errorf("stat %s: %v, want %v", path, no, want)
			}
		}
		if to, no := f.Readlink("up"); no != 0 || to != ".." {
			t.Error(to, no)
		}
		if _, no := f.Lstat("out"); no != 0 {
			t.Error(no)
		}
		if _, no := f.Lstat("up/secret"); no != wasi.EPERM {
			t.Error(no)
		}
	}
	f, err := open(Folder{dir + "/in", true})
	if err != nil {
		t.Fatal(err)
	}
	for what, no := range map[string]wasi.Errno{
		"create": func() wasi.Errno { _, no := f.OpenFile("new", wasi.O_CREAT|wasi.O_RDWR, 0o644); return no }(),
		"mkdir":  f.Mkdir("up/m", 0o755), "chmod": f.Chmod("out", 0), "rename": f.Rename("d/f", "up/f"), "rename from": f.Rename("up/secret", "s"), "rmdir": f.Rmdir("up/in"),
		"unlink": f.Unlink("up/secret"), "link": f.Link("up/secret", "s"), "link to": f.Link("d/f", "up/s"), "symlink": f.Symlink("x", "up/s"), "readlink": func() wasi.Errno { _, no := f.Readlink("up/in/up"); return no }(), "times": f.Utimens("out", 0, 0),
	} {
		if no != wasi.EPERM {
			t.Errorf("%s: %v", what, no)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	file, no := f.OpenFile("d/g", wasi.O_CREAT|wasi.O_RDWR, 0o644)
	if no != 0 {
		t.Fatal(no)
	}
	if _, no := file.Write([]byte("written")); no != 0 {
		t.Error(no)
	}
	if no := file.Close(); no != 0 {
		t.Error(no)
	}
	for what, no := range map[string]wasi.Errno{"mkdir": f.Mkdir("e", 0o755), "rename": f.Rename("d/g", "d/h"), "link": f.Link("d/h", "d/i"), "chmod": f.Chmod("d/h", 0o600), "times": f.Utimens("d/h", 0, 0), "unlink": f.Unlink("out"), "rmdir": f.Rmdir("e")} {
		if no != 0 {
			t.Errorf("%s: %v", what, no)
		}
	}
	if text, err := os.ReadFile(dir + "/in/d/i"); err != nil || !strings.Contains(string(text), "written") {
		t.Errorf("%s %v", text, err)
	}
}
