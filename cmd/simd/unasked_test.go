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
		os.Args = []string{"simd", "tool", "call", project, "--tam", project + ".tam", "--grants", project + ".grants"}
		main()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		gone := make(chan struct{})
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answer := func(status, body, more string) {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s", status, len(body), body, more)
				}
			}
			if i == 0 { // the call is repeated
				answer("503 Service Unavailable", "{}", "you sent this")
				go func() {
					defer close(gone)
					_, _ = io.Copy(io.Discard, c) // until simd, which read the rest, closes it
					_ = c.Close()
				}()
				continue
			}
			<-gone
			answer("200 OK", "{}", "")
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
	tool := fmt.Sprintf("id: srv.get\nimplementation: {type: http, url: \"http://%[1]s/\"}\nneeds: [\"net:%[1]s\"]\nexecution: {repeat: free}\n", l.Addr())
	for name, text := range map[string]string{"/tools/get.tool.yaml": tool, ".tam": "<|[REQUEST_TOOL]|>\ncommand:»»»srv.get«««\nretry:»»»3«««\n<|[END_TOOL]|>\n"} {
		if err := os.WriteFile(project+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := execute(t.Context(), []string{"tool", "grant", project, "srv.get", "--grants", project + ".grants"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
		t.Fatal(code)
	}
	by := child(t, "SIMD_TEST_UNASKED="+project)
	by.Stderr = nil // it belongs to what is said
	said, err := by.CombinedOutput()
	if err != nil || strings.Contains(string(said), "you sent") {
		t.Errorf("%v: %s", err, said)
	}
}

// child is the test in a process of its own, with a variable that says what it is there.
func child(t *testing.T, env string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), env)
	c.Stderr = os.Stderr
	return c
}
