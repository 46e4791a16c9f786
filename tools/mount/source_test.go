package mount

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/artifact"
)

const foreignBytes = "root:x:0:0"

// source has a file a.txt in each mount, and beside them what must not be read.
func source(t *testing.T) (s *Source, outside string) {
	t.Helper()
	base := t.TempDir()
	s = &Source{Folders: map[string]string{}, Artifacts: artifact.New(filepath.Join(base, "artifacts"), artifact.DefaultLimits())}
	for _, m := range []string{Project, Run, Agent} {
		s.Folders[m] = filepath.Join(base, m)
		if err := errors.Join(os.MkdirAll(filepath.Join(s.Folders[m], "dir", "文件"), 0o755), os.WriteFile(filepath.Join(s.Folders[m], "dir", "a.txt"), []byte("a of "+m), 0o644),
			os.WriteFile(filepath.Join(s.Folders[m], "dir", "文件", "100% b.txt"), []byte("b of "+m), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	outside = filepath.Join(base, "passwd")
	if err := os.WriteFile(outside, []byte(foreignBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	return s, outside
}

func TestRead(t *testing.T) {
	s, _ := source(t)
	id, _, err := s.Artifacts.Put(artifact.Owner{}, strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"fam://project/dir/a.txt":                   "a of project",
		"fam://agent/dir/文件/100% b.txt":             "b of agent",
		"artifact:" + id:                            "kept",
		"data:,plain%20text":                        "plain text",
		"data:text/plain;charset=utf-8;base64,YWI=": "ab",
		"data:text/plain,":                          "",
	} {
		c, err := s.Read(uri, 100)
		if err != nil || string(c.Data) != want || strings.Contains(c.Name, "/") || c.Name == "" {
			t.Errorf("%s: %+v %v", uri, c, err)
		}
		if err := s.Check(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// Promises 1 and 2.
func TestHostileURIs(t *testing.T) {
	s, outside := source(t)
	agent := s.Folders[Agent]
	for name, to := range map[string]string{
		"link": outside, "up": "../passwd", "root": "/proc/self/root", "self": "/proc/self/environ", "dir/back": "../../passwd", "loop": "loop", "folder": filepath.Dir(outside), "fd": "/dev/fd/0",
	} {
		if err := os.Symlink(to, filepath.Join(agent, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Link(outside, filepath.Join(agent, "hard")), syscall.Mkfifo(filepath.Join(agent, "pipe"), 0o644), os.Symlink("dir/a.txt", filepath.Join(agent, "fine"))); err != nil {
		t.Fatal(err)
	}
	const denied, invalid, missing, limit = protocol.KindDenied, protocol.KindInvalid, protocol.KindNotFound, protocol.KindLimit
	for uri, want := range map[string]protocol.ErrorKind{
		"fam://run/../../etc/passwd": denied, "fam://run/..": denied, "fam://run/dir/../a.txt": denied, "fam://run/./a": denied, "fam://run//etc/passwd": denied, "fam://run/dir//a.txt": denied,
		"fam://run/%2e%2e/passwd": denied, "fam://run/%2E%2E%2Fpasswd": denied, "fam://run/dir%2fa.txt": denied, "fam://run/%00": denied, "fam://run/%c0%ae%c0%ae/passwd": denied,
		"fam://run/a\x00.txt": denied, "fam://run/a\nb": denied, "fam://run/\xff": denied, `fam://run/..\..\passwd`: denied, "fam://run/a?b": denied, "fam://run/a#L1": denied,
		"fam://run/" + strings.Repeat("a/", 600) + "a": denied, "fam://run/" + strings.Repeat("n", 300): denied,
		"fam://agent/link": denied, "fam://agent/up": denied, "fam://agent/root/etc/passwd": denied, "fam://agent/self": denied, "fam://agent/dir/back": denied, "fam://agent/loop": denied,
		"fam://agent/folder/passwd": denied, "fam://agent/fd": denied, "fam://agent/hard": denied, "fam://agent/pipe": denied, "fam://agent/dir": invalid, "fam://agent": invalid, "fam://agent/": invalid,
		"fam://agent/none": missing, "fam://agent/dir/a.txt/x": denied, "fam://etc/passwd": invalid, "fam:///etc/passwd": invalid, "fam://": invalid, "fam://Agent/dir/a.txt": invalid, "fam://agent:80/x": invalid, "fam://x@agent/x": invalid,
		"FAM://agent/dir/a.txt": denied, "fam:agent/dir/a.txt": denied,
		"file:///etc/passwd": denied, "FILE:/etc/passwd": denied, "file://localhost/etc/passwd": denied, "/etc/passwd": denied, `\\host\share`: denied, "//etc/passwd": denied, "C:/x": denied,
		"https://example.org/x": denied, "http://169.254.169.254/": denied, "ftp://x/y": denied, "javascript:1": denied, "gopher://x": denied, "../passwd": invalid, "dir/a.txt": invalid, "": invalid, " fam://agent/dir/a.txt": invalid,
		"artifact:": invalid, "artifact:../passwd": invalid, "artifact:sha256-" + strings.Repeat("0", 64): missing, "artifact:sha256-" + strings.Repeat("0", 63) + "/": invalid,
		"data:": invalid, "data:text/plain": invalid, "data:;base64,!!!": invalid, "data:,%zz": invalid, "data:," + strings.Repeat("x", MaxData+1): limit, "data:," + strings.Repeat("x", maxURI): limit,
	} {
		c, err := s.Read(uri, MaxFile)
		if protocol.KindOf(err) != want || c != nil {
			t.Errorf("%.80q: %v, want %s", uri, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), filepath.Dir(outside)) || strings.Contains(err.Error(), foreignBytes)) {
			t.Errorf("%.80q: the error says where the mount is: %v", uri, err)
		}
	}
	if c, err := s.Read("fam://agent/fine", 100); err != nil || string(c.Data) != "a of agent" {
		t.Error(c, err) // a link that stays in its mount
	}
	for _, uri := range []string{"fam://agent/link", "fam://agent/up", "fam://agent/folder/passwd"} {
		if _, err := s.Read(uri, MaxFile); err == nil || !strings.Contains(err.Error(), "a link leads out of the mount; copy") {
			t.Error(uri, err)
		}
	}
	if _, err := (&Source{}).Read("fam://run/x", 1); protocol.KindOf(err) != missing {
		t.Error(err)
	}
}

// Promises 1 and 2, of the mounts of plugins: they are read-only, and nothing beside the folder of
// the plugin is read, also through links in the project.
func TestPlugins(t *testing.T) {
	s, outside := source(t)
	project := s.Folders[Project]
	sea := filepath.Join(project, "plugins", "sea-1")
	if err := errors.Join(os.MkdirAll(filepath.Join(sea, "data"), 0o755), os.WriteFile(filepath.Join(sea, "data", "a.txt"), []byte("a of sea"), 0o644),
		os.Symlink("data/a.txt", filepath.Join(sea, "fine")), os.Symlink("../../dir/a.txt", filepath.Join(sea, "sibling")), os.Symlink(outside, filepath.Join(sea, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(project, "plugins", "away")), os.Symlink("../dir", filepath.Join(project, "plugins", "inside")), os.Link(outside, filepath.Join(sea, "hard"))); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"fam://plugin-sea-1/data/a.txt", "fam://plugin-sea-1/fine"} {
		if c, err := s.Read(uri, 100); err != nil || string(c.Data) != "a of sea" {
			t.Errorf("%s: %+v %v", uri, c, err)
		}
	}
	const denied, invalid, missing = protocol.KindDenied, protocol.KindInvalid, protocol.KindNotFound
	for uri, want := range map[string]protocol.ErrorKind{
		"fam://plugin-sea-1/../../dir/a.txt": denied, "fam://plugin-sea-1/..": denied, "fam://plugin-sea-1/%2e%2e/x": denied, "fam://plugin-sea-1/sibling": denied, "fam://plugin-sea-1/link": denied, "fam://plugin-sea-1/hard": denied,
		"fam://plugin-sea-1/none": missing, "fam://plugin-sea-1": invalid, "fam://plugin-none/x": missing, "fam://plugin-away/passwd": denied,
		"fam://plugin-/x": invalid, "fam://plugin-../dir/a.txt": invalid, "fam://plugin-..": invalid, "fam://plugin-.": invalid, "fam://plugin-a__b/x": invalid, "fam://plugin-a\x00/x": invalid, "fam://plugin-a%2fb/x": invalid,
		"fam://Plugin-sea-1/data/a.txt": invalid, "fam://pluginsea-1/x": invalid,
	} {
		c, err := s.Read(uri, MaxFile)
		if protocol.KindOf(err) != want || c != nil || strings.Contains(err.Error(), filepath.Dir(outside)) {
			t.Errorf("%q: %v, want %s", uri, err, want)
		}
	}
	if err := s.Write("fam://plugin-sea-1/data/a.txt", []byte("x"), 0o644, false, ""); protocol.KindOf(err) != denied || !strings.Contains(err.Error(), "of its plugins cannot be changed") {
		t.Error(err)
	}
	if _, err := (&Source{}).Read("fam://plugin-sea-1/x", 1); protocol.KindOf(err) != missing {
		t.Error(err)
	}
	if !ReadOnly(Project) || !ReadOnly("plugin-a") || ReadOnly(Run) || ReadOnly(Agent) || ReadOnly("plugin-") {
		t.Error("which mounts are read-only")
	}
}

// Promise 3.
func TestBoundsOfFiles(t *testing.T) {
	s, _ := source(t)
	if c, err := s.Read("fam://run/dir/a.txt", 8); err != nil || string(c.Data) != "a of run" {
		t.Error(c, err)
	}
	if c, err := s.Read("fam://run/dir/a.txt", 7); protocol.KindOf(err) != protocol.KindLimit || c != nil {
		t.Error(c, err)
	}
	data := "data:;base64," + base64.StdEncoding.EncodeToString(make([]byte, MaxData))
	if c, err := s.Read(data, MaxText); err != nil || len(c.Data) != MaxData {
		t.Error(err)
	}
}

// Promise 1: a folder and a file that become links, and files again, while they are read.
func TestSwappedLinks(t *testing.T) {
	s, outside := source(t)
	run := s.Folders[Run]
	good, evil := filepath.Join(run, "good"), filepath.Join(run, "evil")
	if err := errors.Join(os.Mkdir(good, 0o755), os.WriteFile(filepath.Join(good, "passwd"), []byte("mine"), 0o644), os.Symlink(filepath.Dir(outside), evil), os.Rename(good, filepath.Join(run, "now"))); err != nil {
		t.Fatal(err)
	}
	stop, swaps := make(chan struct{}), atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		now := filepath.Join(run, "now")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(now, good)
			_ = os.Rename(evil, now)
			runtime.Gosched()
			_ = os.Rename(now, evil)
			_ = os.Rename(good, now)
			swaps.Add(1)
		}
	}()
	mine, refused := 0, 0
	for end := time.Now().Add(5 * time.Minute); (swaps.Load() < 5000 || mine == 0 || refused == 0) && time.Now().Before(end); {
		c, err := s.Read("fam://run/now/passwd", 100)
		switch {
		case err != nil:
			refused++
		case string(c.Data) == "mine":
			mine++
		default:
			t.Errorf("foreign bytes: %q", c.Data)
		}
	}
	close(stop)
	<-done
	t.Logf("%d swaps, %d reads, %d refused", swaps.Load(), mine, refused)
	if mine == 0 || refused == 0 {
		t.Error("nothing was swapped while it was read")
	}
}

// Names of folders are plain, and different for different ids.
func TestFolder(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a", "A", "a_1", "a.1", "a/1", "..", ".", "", "ä", "%2E", "a b", strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("ä", 100)} {
		f := Folder(id)
		if other, twice := seen[f]; twice || strings.ContainsAny(f, "/.\\ ") || len(f) > 250 {
			t.Errorf("%q: %q, as %q", id, f, other)
		}
		seen[f] = id
	}
}
