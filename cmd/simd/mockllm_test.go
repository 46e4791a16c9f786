package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/cmd/simd/cli"
)

// serveMock runs mock-llm until stop is called, which returns what it printed after its first line.
func serveMock(t *testing.T, args ...string) (first string, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	from, to := io.Pipe()
	code := make(chan int, 1)
	var errs strings.Builder
	go func() {
		code <- execute(ctx, append([]string{"mock-llm"}, args...), strings.NewReader(""), to, &errs)
		to.Close()
	}()
	out := bufio.NewReader(from)
	first, err := out.ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("exit code %d: %s", <-code, errs.String())
	}
	return first, func() string {
		cancel()
		rest, err := io.ReadAll(out)
		if got := <-code; got != cli.ExitOK || err != nil || errs.Len() > 0 {
			t.Errorf("exit code %d, %v: %s", got, err, errs.String())
		}
		return string(rest)
	}
}

func TestMockLLMServesAndSumsUp(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const secret = "sk-never-shown"
	dir := t.TempDir()
	script, key := filepath.Join(dir, "script.yaml"), filepath.Join(dir, "key")
	for name, text := range map[string]string{script: "otherwise: Good day.", key: secret + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(url string) (int, string) {
		r, err := http.NewRequest("POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}

	first, stop := serveMock(t, "--json", "--seed", "7", "--script", script, "--key-file", key, "--faults", "server_error=1,attempts=1")
	var begun struct {
		URL  string
		Seed uint64
	}
	if err := json.Unmarshal([]byte(first), &begun); err != nil || begun.Seed != 7 {
		t.Fatalf("%s: %v", first, err)
	}
	if code, body := ask(begun.URL); code != 500 {
		t.Errorf("the first attempt: %d %s", code, body)
	}
	if code, body := ask(begun.URL); code != 200 || !strings.Contains(body, "Good day.") {
		t.Errorf("the second attempt: %d %s", code, body)
	}
	rest := stop()
	var sum struct {
		Requests, Questions, Repeated int
		Outcomes                      map[string]map[string]int
	}
	if err := json.Unmarshal([]byte(rest), &sum); err != nil || sum.Requests != 2 || sum.Questions != 1 || sum.Repeated != 1 || sum.Outcomes["chat/completions"]["fault"] != 1 {
		t.Errorf("%s: %v", rest, err)
	}

	line, stop := serveMock(t, "--key-file", key)
	_, url, _ := strings.Cut(line, "listens at ")
	url, _, _ = strings.Cut(url, ",")
	ask(url)
	said := stop()
	for _, want := range []string{"served 1 request\n", "chat/completions  ok 1\n", "questions         1 different, 0 asked again\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if strings.Contains(first+rest+line+said, secret) {
		t.Error("the key is shown")
	}
}

// A signal ends what waits: nobody hangs on an answer that takes an hour.
func TestMockLLMEndsWaits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	line, stop := serveMock(t, "--json", "--latency", "fixed=1h")
	var begun struct{ URL string }
	if err := json.Unmarshal([]byte(line), &begun); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Post(begun.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	for strings.Contains(get(t, begun.URL+"/metrics"), "\nmock_llm_inflight_requests 1\n") { // the scrape itself
	}
	if rest := stop(); !strings.Contains(rest, `"gone":1`) {
		t.Error(rest)
	}
	<-ended
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
