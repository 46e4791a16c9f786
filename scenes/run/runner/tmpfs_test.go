//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/seats"
)

// TestSmallDisk runs on a real file system of few megabytes that is full, until
// somebody removes a file. It needs a kernel that lets users mount one.
func TestSmallDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("a process with a small file system; TestFailingDisk has its concurrency")
	}
	p := loadTown(t)
	want := undisturbed(t, p)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), tmpfsEnv+"="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "cannot mount") || os.IsPermission(err) {
		t.Skipf("no file system of one's own: %s %v", out, err)
	}
	if err != nil || !strings.Contains(string(out), "digest "+want) {
		t.Fatalf("%v: %s\nwant %s", err, out, want)
	}
	t.Logf("%s", out)
	for _, say := range []string{"the journal cannot be written", "no space left", "free of 8.0 MiB", "can be written again", "make it writable, or resume a copy of it"} {
		if !strings.Contains(string(out), say) {
			t.Errorf("it does not say %q", say)
		}
	}
}

// onSmallDisk is the child: a run on a disk with some hundred kilobytes left,
// until its second look.
func onSmallDisk(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	if err := onReadOnlyDisk(filepath.Join(dir, "ro")); err != nil {
		return err
	}
	if err := onDiskThatBecameReadOnly(filepath.Join(dir, "became")); err != nil {
		return err
	}
	if f, err := seats.Scratch(dir); err != nil {
		return err
	} else if _, err := f.WriteAt([]byte("x"), 0); err == nil || errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
		return fmt.Errorf("states of passive agents take the room of the journal: %w", err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 7800<<10), 0o600); err != nil {
		return err
	}
	p, err := LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		return err
	}
	pl := plan(p, options(filepath.Join(dir, "run")))
	pl.Tell = func(text string) {
		fmt.Println(text)
		_ = os.Remove(ballast)
	}
	sum, err := pl.Run(context.Background())
	if err == nil {
		fmt.Println("digest " + sum.Digests())
		err = onFullDisk(dir)
	}
	return err
}

// onFullDisk wants a sound run on a full disk to be called sound, and the disk full.
func onFullDisk(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is not full: %w", err)
	}
	d, err := rundir.Examine(context.Background(), filepath.Join(dir, "run"), nil)
	if err != nil || !d.Healthy || !strings.Contains(fmt.Sprint(d.Checks), "the disk is full") {
		return fmt.Errorf("doctor: %+v, %w", d, err)
	}
	_, err = rundir.Replay(context.Background(), filepath.Join(dir, "run"), rundir.ReplayOptions{})
	return err
}

// onReadOnlyDisk wants to be refused before anything runs, with what to do.
func onReadOnlyDisk(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, "size=1m"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	p, err := LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		return err
	}
	for _, run := range []string{dir, filepath.Join(dir, "run")} {
		if err := os.MkdirAll(run, 0o755); run == dir && err != nil {
			return err
		}
		_, err := Start(p, options(run))
		if protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), "nothing was started; name another with --out") {
			return fmt.Errorf("started in %s: %w", run, err)
		}
	}
	return nil
}

// onDiskThatBecameReadOnly wants the going on of a run to be refused at once,
// with what to do, and nothing in its directory to be changed.
func onDiskThatBecameReadOnly(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	p, err := LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		return err
	}
	opt := options(filepath.Join(dir, "run"))
	r, err := Start(p, opt)
	if err != nil {
		return err
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		return err
	}
	before, err := tree(opt.Dir)
	if err != nil {
		return err
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	pl := plan(p, opt)
	pl.Probe = func(string) error { return fmt.Errorf("the run waits for a disk that was read-only from the start") }
	live := pl.Attempt
	pl.Attempt = func(_ string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
		return live(opt.Dir, crashes)
	}
	_, err = pl.Run(context.Background())
	if protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), "it cannot be written") || !strings.Contains(err.Error(), "make it writable, or resume a copy of it") {
		return fmt.Errorf("gone on with: %w", err)
	}
	fmt.Println(err)
	if err := canBeRead(opt.Dir); err != nil {
		return fmt.Errorf("it cannot be looked at: %w", err)
	}
	if after, err := tree(opt.Dir); err != nil || after != before {
		return fmt.Errorf("the directory was changed: %s, before %s, %w", after, before, err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	sum, err := pl.Run(context.Background())
	if err == nil && sum.Resumable {
		err = fmt.Errorf("it did not go on to its end: %+v", sum)
	}
	return err
}

// canBeRead folds the scenes of a run.
func canBeRead(dir string) error {
	o, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	defer o.Close()
	for _, id := range o.Manifest.Scenes {
		made, journal, err := o.Scene(id)
		if err != nil {
			return err
		}
		if _, _, err := history.Fold(made, journal, history.Options{NoSnapshots: true}); err != nil {
			return err
		}
	}
	return nil
}

// tree lists a folder with sizes and times.
func tree(dir string) (text string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			text += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return text, err
}
