package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// through gives a client of a proxy with a list, and the address of the proxy.
func through(t *testing.T, servers ...string) (*http.Client, string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Serve(l, servers)
	}()
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	t.Cleanup(func() {
		l.Close()
		<-done
		c.CloseIdleConnections()
	})
	return c, at.Host
}

func get(t *testing.T, c *http.Client, address string) (status int, text string) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, string(body)
}

// Promise 1: what is on the list is reached over http and in tunnels, and nothing else,
// also not by a redirection.
func TestServersOfTheList(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") }))
	defer other.Close()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		io.WriteString(w, "reached "+r.Host+r.Header.Get("X-Forwarded-For")+r.Header.Get("Proxy-Connection"))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	_, port, _ := net.SplitHostPort(at(plain))
	c, address := through(t, at(plain), at(secure), "localhost:"+port)
	for _, want := range []struct {
		url    string
		status int
		text   string
	}{
		{plain.URL, 200, "reached " + at(plain)},
		{secure.URL, 200, "reached " + at(secure)},
		{"http://LOCALHOST.:" + port, 200, "reached LOCALHOST.:" + port},
		{plain.URL + "/away", 403, "the tool may not reach " + at(other) + "; it needs net:" + at(other)},
		{other.URL, 403, "may not reach"},
		{strings.Replace(other.URL, "http:", "https:", 1), 0, "Forbidden"},
		{"http://127.0.0.1/", 403, "may not reach 127.0.0.1:80"},
		{"http://[::1]/", 403, "may not reach [::1]:80"},
		{"http://" + at(plain) + "@" + at(other) + "/", 403, "may not reach " + at(other)},
	} {
		if status, text := get(t, c, want.url); status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %s", want.url, status, text)
		}
	}
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: " + at(plain):                                                           "400",
		"GET ftp://" + at(plain) + "/ HTTP/1.1\r\nHost: " + at(plain):                                    "400",
		"GET http://" + at(other) + "/ HTTP/1.1\r\nHost: " + at(plain):                                   "403",
		"CONNECT " + at(other) + " HTTP/1.1\r\nHost: " + at(plain):                                       "403",
		"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: " + at(plain):                                               "403",
		"GET http://" + at(plain) + "/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket": "200",
	} {
		if got := raw(t, address, request+"\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%q: %q", request, got)
		}
	}
}

// So it is where the server changes to another protocol, also if the program asked for that.
func TestSwitched(t *testing.T) {
	ended := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = c.Read(make([]byte, 1)) // until the client closes
		ended <- struct{}{}
	}))
	t.Cleanup(s.Close)
	to := strings.TrimPrefix(s.URL, "http://")
	_, address := through(t, to)
	for _, header := range []string{"", "Connection: upgrade\r\nUpgrade: x\r\n"} {
		if got := raw(t, address, "GET http://"+to+"/ HTTP/1.1\r\nHost: x\r\n"+header+"\r\n"); !strings.HasPrefix(got, "HTTP/1.1 502") {
			t.Errorf("%q: %q", header, got)
		}
		<-ended
	}
}

// raw sends bytes and gives the first line of the answer.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, text)
	b := make([]byte, 64)
	n, _ := io.ReadAtLeast(c, b, 12)
	return string(b[:n])
}

// Promise 2.
func TestSpecialAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "10.0.0.1": true, "192.168.1.1": true, "::1": true, "fd12::1": true,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "0.0.0.0": false, "100.64.0.1": false, "224.0.0.1": false,
	} {
		if got := byName(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// Promise 3: connections that are open when the program ends, end too. TestMain finds
// goroutines that are left.
func TestEndOfAProgram(t *testing.T) {
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Serve(l, []string{silent.Addr().String()})
	}()
	at := silent.Addr().String()
	for _, text := range []string{"CONNECT " + at + " HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, text)
		if strings.HasSuffix(text, "\n") {
			there, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer there.Close()
		}
	}
	// More than there is room for are closed, not kept.
	var many []net.Conn
	for range 2 * maxAtOnce {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		many = append(many, c)
	}
	last := many[len(many)-1]
	last.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := last.Read(make([]byte, 1)); err == nil {
		t.Error("a connection beyond the bound has an answer")
	}
	l.Close()
	<-done
}

// A tunnel that the program has ended keeps its place until another connection needs it, also if the server never ends it.
func TestEndedTunnelsGiveWay(t *testing.T) {
	heard := make(chan string, 1)
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { // it does not look at what the program sends
			<-release
			c.Close()
		}()
	}))
	defer s.Close()
	defer close(release)
	patient, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer patient.Close()
	go func() { // it answers when it has everything
		c, err := patient.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		all, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, "heard "+string(all))
	}()
	_, address := through(t, s.Listener.Addr().String(), patient.Addr().String())
	tunnel := func(to string) *net.TCPConn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, "CONNECT "+to+" HTTP/1.1\r\nHost: x\r\n\r\n")
		got := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatalf("%q %v", got, err)
		}
		return c.(*net.TCPConn)
	}
	reads := tunnel(s.Listener.Addr().String())
	defer reads.Close()
	io.WriteString(reads, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = reads.CloseWrite()
	for range 2 * maxAtOnce {
		c := tunnel(s.Listener.Addr().String())
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		c.Close()
	}
	// A program that still reads one sees that it has not everything.
	if _, err := reads.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the tunnel that gave way: %v", err)
	}
	c := tunnel(patient.Addr().String())
	defer c.Close()
	io.WriteString(c, "all")
	_ = c.CloseWrite() // it still reads
	go func() {
		all, _ := io.ReadAll(c)
		heard <- string(all)
	}()
	if got := <-heard; got != "heard all" {
		t.Errorf("%q", got)
	}
}
