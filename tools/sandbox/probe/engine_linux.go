//go:build amd64 || arm64

package probe

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// HiddenPaths are folders and files of the host that exist and are not listed.
func HiddenPaths(listed []string) []string {
	home, _ := os.UserHomeDir()
	cwd, _ := os.Getwd()
	self, _ := os.Executable()
	var out []string
	for _, p := range []string{home, cwd, self, "/root", "/home", "/var/log", "/etc/shadow", "/etc/passwd", "/etc/hostname", "/run", "/sys", "/boot"} {
		if filepath.IsAbs(p) && exists(p) && !below(p, listed) && p != "/" && p != "/tmp" && p != "/proc" {
			out = append(out, p)
		}
	}
	return out
}

func below(p string, listed []string) bool {
	for _, l := range listed {
		if p == l || strings.HasPrefix(p, l+"/") {
			return true
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Greet is a proxy that says so and no more.
func Greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(proxyTime))
		_, _ = io.WriteString(c, Greeting)
		_ = c.Close()
	}
}
