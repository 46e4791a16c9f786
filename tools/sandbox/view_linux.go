//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/probe"
)

// root is where the worker builds the view before it moves there. Whatever it covers was
// opened before.
const root = "/tmp"

// hostname is the name of every machine, as bubblewrap is told it, too.
const hostname = "sandbox"

// view makes the only files that the program can name.
func (j *job) view() error {
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return lost(probe.Environment, "another host name: %w", err)
	}
	trees, err := j.openTrees()
	if err != nil {
		return err
	}
	if j.Switch {
		if err := leaveRoot(); err != nil {
			return lost(probe.Privileges, "leave the user root: %w", err)
		}
	}
	for _, step := range []func() error{newRoot, func() error { return j.place(trees) }, j.memoryFolders, moveIn} {
		if err := step(); err != nil {
			return lost(probe.Files, "build the view: %w", err)
		}
	}
	return nil
}

// tree is a mount that is nowhere yet.
type tree struct {
	bind
	fd     int
	isFile bool
	link   string // of a symbolic link of the system
}

// openTrees opens all sources with the rights of the engine's user, which may reach
// folders that the program's user may not.
func (j *job) openTrees() ([]tree, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, lost(probe.Files, "a mount namespace: %w", err)
	}
	var out []tree
	for _, b := range j.Binds {
		t, err := openTree(b)
		if errors.Is(err, unix.ENOENT) && b.System {
			continue // another system has other folders
		}
		if err != nil {
			return nil, lost(probe.Files, "open %s: %w", b.Source, err)
		}
		out = append(out, t)
	}
	for _, d := range j.devices() {
		fd, err := unix.OpenTree(unix.AT_FDCWD, deviceBehind(d), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, lost(probe.Files, "open %s: %w", d, err)
		}
		out = append(out, tree{bind: bind{Target: d}, fd: fd, isFile: true})
	}
	return out, nil
}

func openTree(b bind) (tree, error) {
	if b.System {
		if link, err := os.Readlink(b.Source); err == nil {
			return tree{bind: b, fd: -1, link: link}, nil
		}
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, b.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return tree{}, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if !b.Write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return tree{}, err
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return tree{}, err
	}
	return tree{bind: b, fd: fd, isFile: s.Mode&unix.S_IFMT != unix.S_IFDIR}, nil
}

// leaveRoot leaves every user and group of the host but nobody.
func leaveRoot() error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(insideID, insideID, insideID); err != nil {
		return err
	}
	if err := syscall.Setresuid(insideID, insideID, insideID); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

func newRoot() error {
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m,nr_inodes=16k"); err != nil {
		return err
	}
	for _, dir := range []string{"proc", "dev", "tmp", Work, Files} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, l := range links() {
		if err := os.Symlink(l[0], root+l[1]); err != nil {
			return err
		}
	}
	return unix.Mount("proc", root+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// place moves the trees to their places.
func (j *job) place(trees []tree) error {
	for _, t := range trees {
		to := filepath.Join(root, t.Target)
		if err := t.point(to); err != nil {
			return err
		}
		if t.fd < 0 {
			continue
		}
		if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return &os.PathError{Op: "mount", Path: t.Target, Err: err}
		}
		_ = unix.Close(t.fd)
	}
	return nil
}

// point makes what a tree is mounted on, or the link.
func (t tree) point(to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	switch {
	case t.link != "":
		return os.Symlink(t.link, to)
	case t.isFile:
		return os.WriteFile(to, nil, 0o644)
	}
	return os.Mkdir(to, 0o755)
}

// memoryFolders are what the program may write to beside its mounts.
func (j *job) memoryFolders() error {
	options := "mode=700,size=" + strconv.FormatInt(j.Limits.Disk, 10) + ",nr_inodes=" + strconv.Itoa(j.Limits.Files)
	for _, dir := range []string{Work, "/tmp"} {
		if err := unix.Mount("tmpfs", root+dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes the files of the command. What changes them afterwards changes copies
// of this call.
func (j *job) writeFiles() error {
	for _, f := range j.Files {
		to := filepath.Join(f.folder(), f.Path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.Data, f.mode()); err != nil {
			return err
		}
	}
	if !j.View {
		return nil
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

func (f *File) folder() string {
	if f.Work {
		return Work
	}
	return Files
}

func (f *File) mode() os.FileMode {
	mode := os.FileMode(0o444)
	if f.Work {
		mode |= 0o200
	}
	if f.Exec {
		mode |= 0o111
	}
	return mode
}

// moveIn makes the view the root and leaves the old one unreachable.
func moveIn() error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}
