package endpoint

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/llm"
)

// certificate makes one that signs itself, for names and until a time.
func certificate(t *testing.T, until time.Time, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: until.Add(-time.Hour), NotAfter: until, DNSNames: names, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secure is a server with a certificate, which ca_file has.
func secure(t *testing.T, c *tls.Config, file string) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = c
	s.StartTLS()
	t.Cleanup(s.Close)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificates[0].Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL
}

// A server whose certificate is not believed, and one that speaks TLS or does not where the address says otherwise,
// fail at once: asking again does not help. The error says what to do.
func TestServersThatAreNotBelieved(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	good, old, other := certificate(t, time.Now().Add(time.Hour), "localhost"), certificate(t, time.Now().Add(-time.Minute), "localhost"), certificate(t, time.Now().Add(time.Hour), "elsewhere")
	at := func(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	plain.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(plain.Close)
	ok := at(secure(t, &tls.Config{Certificates: []tls.Certificate{good}}, in("good.pem")))
	for name, c := range map[string]struct {
		url, ca string
		outcome llm.Outcome
		says    string
	}{
		"believed":             {ok, "good.pem", llm.OutcomeOK, ""},
		"unknown authority":    {ok, "", llm.OutcomeBadRequest, "name the file with the certificate of who signed it as ca_file of the endpoint"},
		"another authority":    {ok, "other.pem", llm.OutcomeBadRequest, "as ca_file of the endpoint"},
		"expired":              {at(secure(t, &tls.Config{Certificates: []tls.Certificate{old}}, in("old.pem"))), "old.pem", llm.OutcomeBadRequest, "has expired"},
		"another host":         {at(secure(t, &tls.Config{Certificates: []tls.Certificate{other}}, in("other.pem"))), "other.pem", llm.OutcomeBadRequest, "base_url has to name a host of the certificate"},
		"a client certificate": {at(secure(t, &tls.Config{Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAnyClientCert}, in("client.pem"))), "client.pem", llm.OutcomeBadRequest, "certificate required"},
		"no common version":    {at(secure(t, &tls.Config{Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS11}, in("v11.pem"))), "v11.pem", llm.OutcomeBadRequest, "protocol version"},
		"plain HTTP":           {strings.Replace(plain.URL, "http:", "https:", 1), "", llm.OutcomeBadRequest, "it speaks plain HTTP; base_url has to begin with http://"},
		"TLS, asked plainly":   {strings.Replace(ok, "https:", "http:", 1), "", llm.OutcomeBadRequest, "base_url has to begin with https://"},
		"closes":               {"https://" + mute(t, ""), "", llm.OutcomeServerError, "if the server speaks plain HTTP, base_url has to begin with http://"},
		"another protocol":     {"https://" + mute(t, "SSH-2.0-OpenSSH_9.6\r\n"), "", llm.OutcomeServerError, "first record does not look like a TLS handshake"},
	} {
		e, err := New("cloud", Definition{BaseURL: c.url, CAFile: c.ca}, dir, nothing)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := e.Do(t.Context(), Ask{Path: "/v1/x", Body: []byte("{}")})
		if err == nil {
			reply.Close()
		}
		if got := llm.OutcomeOf(err); got != c.outcome || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v; want %s, %q", name, got, err, c.outcome, c.says)
		}
		if err != nil && outcome(t, err).Unsent != (name != "TLS, asked plainly" && name != "a client certificate") { // which TLS 1.3 refuses after the connection
			t.Errorf("%s: unsent is %v: %v", name, outcome(t, err).Unsent, err)
		}
		_ = e.Close()
	}
}

// mute is a server that says a text and closes the connection, whatever it hears.
func mute(t *testing.T, says string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, l, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(c, says)
		_ = c.Close()
	})
	return l.Addr().String()
}

// serves hands each connection to a function that closes it.
func serves(t *testing.T, l net.Listener, serve func(c net.Conn)) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
}
