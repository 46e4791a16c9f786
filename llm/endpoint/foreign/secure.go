package foreign

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
)

// Secure says why there is no connection over TLS to a server, and what to do; "" = it is another failure. connecting says that
// the request had no connection yet, to an address of https: after that, the same errors mean something else. final says
// that asking again does not help.
func Secure(err error, connecting bool) (why string, final bool) {
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && connecting && strings.HasPrefix(string(plain.RecordHeader[:]), "HTTP") {
		return "the server does not answer in TLS: it speaks plain HTTP; base_url has to begin with http://", true
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate of the server is not believed: " + bad.Err.Error() + remedy(bad.Err), true
	}
	if no, ok := errors.AsType[*net.OpError](err); ok && no.Op == "remote error" {
		for _, alert := range []string{"certificate", "protocol version", "handshake failure", "unrecognized name"} {
			if strings.Contains(no.Error(), alert) && (connecting || alert == "certificate") { // a server of TLS 1.3 asks for a certificate when this side has connected
				return "the server refuses the connection: " + no.Error() + "; simd shows no certificate of its own, and speaks TLS 1.2 and 1.3", true
			}
		}
	}
	if connecting && (errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "TLS handshake timeout")) {
		return "no connection over TLS: " + err.Error() + "; if the server speaks plain HTTP, base_url has to begin with http://", false
	}
	return "", false
}

// remedy is what a user can do about a certificate.
func remedy(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "; name the file with the certificate of who signed it as ca_file of the endpoint"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "; base_url has to name a host of the certificate"
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
		return "; the server needs a new one, unless the clock of this machine is wrong"
	}
	return ""
}

// Plainly says what to do if a server speaks TLS and refuses a request without it, by what it says; "" = it refuses
// something else.
func Plainly(said string) string {
	for _, words := range []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server"} {
		if strings.Contains(said, words) {
			return "; base_url has to begin with https://"
		}
	}
	return ""
}
