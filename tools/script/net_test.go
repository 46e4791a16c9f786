package script

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
)

// reach is a program that tries to reach servers, one of them in each way that there is.
const reach = `
import json, socket, ssl, sys, urllib.request, urllib.error
p = json.load(sys.stdin)
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
opener = urllib.request.build_opener(urllib.request.ProxyHandler(), urllib.request.HTTPSHandler(context=context))
def get(url):
    try:
        return opener.open(url, timeout=10).read().decode()
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.read().decode())
    except Exception as e:
        return "failed: " + str(e)
def refused(what):
    try:
        what()
        return "reached"
    except OSError as e:
        return "refused"
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("8.8.8.8", 53))
def bind():
    s = socket.socket(); s.bind(("127.0.0.1", 8000)); s.listen()
out = {k: get(v) for k, v in p["urls"].items()}
out["tcp"] = refused(lambda: socket.create_connection((p["host"], p["port"]), timeout=2))
out["other tcp"] = refused(lambda: socket.create_connection(("1.1.1.1", 443), timeout=2))
out["udp"] = refused(udp)
out["dns"] = refused(lambda: socket.getaddrinfo("example.com", 80))
out["raw"] = refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
out["unix"] = refused(lambda: socket.socket(socket.AF_UNIX))
out["server"] = refused(bind)
print(json.dumps(out))
`

// A script reaches the servers that it needs, over http and https, and nothing else.
func TestServers(t *testing.T) {
	x := executor(t)
	python(t)
	if missing := x.box.ProbeOf(t.Context(), sandbox.Net); len(missing.Missing()) > 0 {
		t.Skipf("no network for programs here: %v", missing.Missing())
	}
	var strangers atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	defer other.Close()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		io.WriteString(w, "reached")
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }

	tool := &manifest.Tool{ID: "t", Implementation: manifest.Implementation{Type: manifest.Script, Command: "python3 reach.py"}, Needs: []string{"net:" + at(plain), "net:" + at(secure)}}
	if faults := tool.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	if err := tool.SetFiles([]manifest.File{{Path: "reach.py", Data: []byte(reach)}}); err != nil {
		t.Fatal(err)
	}
	address := plain.Listener.Addr().(*net.TCPAddr)
	params := map[string]any{"host": "127.0.0.1", "port": int64(address.Port), "urls": map[string]any{
		"http": plain.URL, "https": secure.URL, "other": other.URL, "tunnel": "https://" + at(other), "away": plain.URL + "/away",
	}}
	r := call(t, x, tool, params)
	if r.Status != tools.OK {
		t.Fatalf("%+v %+v", r, r.Error)
	}
	no := "403 simd: the tool may not reach " + at(other) + "; it needs net:" + at(other) + "\n"
	want := map[string]any{
		"http": "reached", "https": "reached", "other": no, "away": no, "tunnel": "failed: <urlopen error Tunnel connection failed: 403 Forbidden>",
		"tcp": "refused", "other tcp": "refused", "udp": "refused", "dns": "refused", "raw": "refused", "unix": "refused", "server": "refused",
	}
	if fmt.Sprint(r.Output) != fmt.Sprint(want) || strangers.Load() > 0 {
		t.Errorf("%d requests at the other server\ngot  %v\nwant %v", strangers.Load(), r.Output, want)
	}

	// The same program without needs has no proxy, and nothing that it could reach.
	tool.Needs = nil
	r = call(t, x, tool, params)
	if r.Status != tools.OK || fmt.Sprint(r.Output.(map[string]any)["http"]) == "reached" || r.Output.(map[string]any)["tcp"] != "refused" {
		t.Errorf("%+v %+v", r, r.Error)
	}
}
