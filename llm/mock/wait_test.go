package mock

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Every answer takes its latency, also where the next question comes before the answer, whatever its size, and the
// connection lives on.
func TestEveryAnswerTakesItsLatency(t *testing.T) {
	question := func(text string) string {
		return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(chatBody(text)), chatBody(text))
	}
	for name, c := range map[string]struct {
		said []string // one after another: the next when the answers to all before it have come
		took string
	}{
		"one after another":           {[]string{question("a"), question("b"), question("c")}, "[20s 40s 1m0s]"},
		"two at once":                 {[]string{question("a") + question("b")}, "[20s 40s]"},
		"a large one behind":          {[]string{question("a") + question(strings.Repeat("b", 2*plainHeader)), question("c")}, "[20s 40s 1m0s]"},
		"a part of the next one":      {[]string{question("a") + question("b")[:9], question("b")[9:]}, "[20s 40s]"},
		"an empty line after each":    {[]string{question("a") + "\r\n", question("b") + "\r\n", question("c")}, "[20s 40s 1m0s]"},
		"an empty line before it":     {[]string{question("a") + "\r\n" + question("b")}, "[20s 40s]"},
		"another kind of end of line": {[]string{question("a"), "\n\n" + question("b")}, "[20s 40s]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := overPipe(t, scripted.Latency{Fixed: protocol.Duration(20 * time.Second)})
				began, took, in := time.Now(), []time.Duration(nil), bufio.NewReader(client)
				for _, said := range c.said {
					go func() { _, _ = io.WriteString(client, said) }() // the server reads when it wants
					for range strings.Count(said, `{"model"`) {
						resp, err := http.ReadResponse(in, nil)
						if err != nil {
							t.Errorf("after %s: %v", time.Since(began), err)
							break
						}
						if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
							t.Errorf("after %s: %s, %v", time.Since(began), resp.Status, err)
						}
						_ = resp.Body.Close()
						took = append(took, time.Since(began))
					}
				}
				if fmt.Sprint(took) != c.took {
					t.Errorf("the answers came after %v, want %s", took, c.took)
				}
			})
		})
	}
}

// A stream has one header and its end, however its request spells the member that asks for it.
func TestAStreamHasOneHeader(t *testing.T) {
	for _, name := range []string{"stream", `stre\u0061m`, `\u0073tream`} {
		synctest.Test(t, func(t *testing.T) {
			client := overPipe(t, scripted.Latency{PerToken: protocol.Duration(time.Second)})
			body := strings.Replace(chatBody("a"), "{", `{"`+name+`":true,`, 1)
			_, _ = fmt.Fprintf(client, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			if all, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(all), "[DONE]") {
				t.Errorf("%s: %v: %s", name, err, all)
			}
			_ = resp.Body.Close()
		})
	}
}

// overPipe serves with plain questions, and gives the client's side of a connection.
func overPipe(t *testing.T, latency scripted.Latency) net.Conn {
	s := serve(t, Options{Seed: 7, Model: script(t, "otherwise: I wait."), Latency: latency})
	l, h, ended := make(pipes), s.HTTP(), make(chan error, 1)
	go func() { ended <- h.Serve(s.Plain(l)) }()
	client, server := net.Pipe()
	l <- server
	t.Cleanup(func() {
		_ = client.Close()
		close(l)
		_ = h.Close()
		<-ended
	})
	return client
}
