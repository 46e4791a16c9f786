package rpc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/tools/child"
	"tavernsim/tools/toolstest"
)

type toolArtifact = tool.Artifact

// serve is a service that speaks by hand, and does one thing.
func serve(act string, more []string) {
	lines, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	lines.Buffer(nil, 10<<20)
	line := func(text string) { fmt.Fprintln(out, text); out.Flush() }
	answer := func(id json.RawMessage, result any) {
		b, _ := json.Marshal(result)
		line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, b))
	}
	fails := func(id json.RawMessage, text, data string) {
		line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":%q,"data":%s}}`, id, text, data))
	}
	right := map[string]any{"output": "right"}
	var config map[string]any
	var cancelled []any
	switch act {
	case string(toolstest.Refuses):
		syscall.Exit(1)
	case "junk at once":
		line("Listening!")
	case "daemon":
		_ = exec.Command("setsid", "sh", "-c", "trap '' TERM HUP; sleep "+more[0]).Start()
	}
	late := json.RawMessage(nil)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ID      any
				Config  map[string]any
				Tool    string
				Method  string
				Key     string
				Params  struct{ Say string }
				Timeout int64 `json:"timeout_ms"`
			}
		}
		_ = json.Unmarshal(lines.Bytes(), &q)
		switch q.Method {
		case "initialize":
			config = q.Params.Config
			switch act {
			case "refuses to begin":
				fails(q.ID, "not today", "null")
			case "another version":
				answer(q.ID, map[string]any{"protocol": 7})
			case "never ready":
			default:
				answer(q.ID, map[string]any{"protocol": 1})
			}
			if act == "does not read" {
				time.Sleep(time.Hour) //nolint:forbidigo // without cgo, a program that waits for nothing ends as a deadlock
			}
		case "$/cancel":
			cancelled = append(cancelled, q.Params.ID)
		case "ping":
			answer(q.ID, map[string]any{})
		case "shutdown":
			if act != "daemon" {
				answer(q.ID, map[string]any{})
				return
			}
		case "tool/call":
			switch act {
			case string(toolstest.SaysNo):
				fails(q.ID, "no", "null")
			case string(toolstest.Hangs):
				time.Sleep(time.Hour) //nolint:forbidigo // without cgo, a program that waits for nothing ends as a deadlock
			case string(toolstest.Floods):
				answer(q.ID, map[string]any{"output": strings.Repeat("x", 1<<20)})
			case string(toolstest.Breaks):
				syscall.Exit(3)
			case "honest":
				switch q.Params.Params.Say {
				case "hang":
				case "busy":
					fails(q.ID, "later", `{"kind":"rate_limited","retry_after":1.5}`)
				case "forbidden kind":
					fails(q.ID, "x", `{"kind":"internal"}`)
				case "file":
					answer(q.ID, map[string]any{"output": "see", "files": []any{map[string]any{"name": "a.txt", "type": "text/plain", "data": "YWJj"}}})
				default:
					answer(q.ID, map[string]any{"output": map[string]any{"cancelled": cancelled, "config": config, "method": q.Params.Method, "timeout": q.Params.Timeout > 0 && q.Params.Timeout <= toolstest.Long.Milliseconds()}})
				}
			case "junk":
				line("oops")
			case "half a message":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"res`, q.ID)
				out.Flush()
				syscall.Exit(5)
			case "one endless line":
				fmt.Fprint(out, `{"jsonrpc":"2.0","id":2,"result":"`)
				for {
					fmt.Fprint(out, strings.Repeat("x", 64<<10))
				}
			case "floods messages", "floods large messages":
				text := strings.Repeat("x", 100)
				if act != "floods messages" {
					text = strings.Repeat("x", 4000)
				}
				for {
					fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"$/progress","params":{"text":"`+text+`"}}`)
				}
			case "wrong ids":
				if late == nil {
					late = q.ID
					for i := range 100 {
						answer(json.RawMessage(fmt.Sprint(1000+i)), map[string]any{"output": "wrong"})
					}
					continue
				}
				answer(q.ID, right)
			case "a long answer":
				answer(q.ID, map[string]any{"output": strings.Repeat("x", child.MaxMessage)})
				act = "short answers"
			case "twice":
				answer(q.ID, right)
				answer(q.ID, map[string]any{"output": "wrong"})
			case "late":
				if late == nil {
					late = q.ID
					continue
				}
				answer(late, map[string]any{"output": "wrong"})
				answer(q.ID, right)
			case "reports":
				for _, more := range []string{`"id":ID,"progress":1,"total":4`, `"id":"ID","progress":2`, `"id":999,"progress":2`, `"progress":2`, `"id":ID,"progress":"x"`, `"id":ID,"progress":3,"message":"nearly"`} {
					line(`{"jsonrpc":"2.0","method":"$/progress","params":{` + strings.ReplaceAll(more, "ID", string(q.ID)) + `}}`)
				}
				line(`{"jsonrpc":"2.0","method":"$/progress","params":[1]}`)
				answer(q.ID, right)
			case "asks us":
				line(`{"jsonrpc":"2.0","id":"a","method":"fs/read","params":{"path":"/etc/passwd"}}`)
				line(`{"jsonrpc":"2.0","method":"$/progress","params":{"id":2,"progress":0.5}}`)
				answer(q.ID, right)
			case "exits":
				fmt.Fprintln(os.Stderr, "I have had enough of secret")
				syscall.Exit(4)
			case "no object":
				answer(q.ID, "right")
			case "no value":
				line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"output":{"a":1,"a":2}}}`, q.ID))
			case "deep":
				line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"output":%s1%s}}`, q.ID, strings.Repeat("[", 200), strings.Repeat("]", 200)))
			case string(toolstest.Answers):
				answer(q.ID, map[string]any{"output": map[string]any{"said": q.Params.Params.Say, "key": q.Params.Key}})
			default:
				answer(q.ID, right)
			}
		}
	}
	if act == "junk at once" {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}
