package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a server sends without being asked reaches no output: it may be the secret that it got.
func TestUnaskedBytes(t *testing.T) {
	if project := os.Getenv("SIMD_TEST_UNASKED"); project != "" {
		os.Args = []string{"simd", "tool", "call", project, "srv.get", "--grants", project + ".grants"}
		main()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}you sent this")
				_, _ = io.Copy(io.Discard, c) // until simd closes it
			}
			_ = c.Close()
		}
	}()
	defer func() {
		_ = l.Close()
		<-ended
	}()
	dir := t.TempDir()
	if err := unpack("testdata/tiny.txtar", dir); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "tiny")
	if err := os.MkdirAll(filepath.Join(project, "tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	tool := fmt.Sprintf("id: srv.get\nimplementation: {type: http, url: \"http://%[1]s/\"}\nneeds: [\"net:%[1]s\"]\n", l.Addr())
	if err := os.WriteFile(filepath.Join(project, "tools", "get.tool.yaml"), []byte(tool), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := execute(t.Context(), []string{"tool", "grant", project, "srv.get", "--grants", project + ".grants"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
		t.Fatal(code)
	}
	by := exec.Command(os.Args[0], "-test.run=^TestUnaskedBytes$")
	by.Env = append(os.Environ(), "SIMD_TEST_UNASKED="+project)
	said, err := by.CombinedOutput()
	if err != nil || strings.Contains(string(said), "you sent") {
		t.Errorf("%v: %s", err, said)
	}
}
