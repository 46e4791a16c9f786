package endpoint

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
	"unicode"
)

func headerForm() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`) }

// ofSimd are the headers that no definition may give, in their canonical form, and why.
func ofSimd() map[string]string {
	const connection = "it is of the connection, which simd makes"
	return map[string]string{
		"Host": "it comes from base_url", "Content-Length": "simd counts the bytes of each request", "Transfer-Encoding": "simd sends each request in one piece",
		"Connection": connection, "Keep-Alive": connection, "Proxy-Connection": connection, "Proxy-Authorization": connection, "Upgrade": connection, "Te": connection, "Trailer": connection,
		"Expect": "simd sends each request in one piece", "Content-Encoding": "simd sends requests as they are", "Accept-Encoding": "simd reads answers as they are",
		"Idempotency-Key": "all requests would have the same, and the server would take them for one",
	}
}

// wrongHeader says what is wrong with one of the headers that a user gives, and what to do; "" = nothing is. d is the
// whole definition.
func (d *Definition) wrongHeader(name string, given map[string]string) (what, do string) {
	if !headerForm().MatchString(name) {
		return "no header can have this name", "want letters, digits, -, _ and . only, at most 100"
	}
	canonical := http.CanonicalHeaderKey(name)
	if why := ofSimd()[canonical]; why != "" {
		return "the header " + name + " cannot be given: " + why, "remove it"
	}
	if strings.ContainsFunc(given[name], unicode.IsControl) { // it may be a secret
		return "the header " + name + " has characters that no header can hold", "want one line without control characters"
	}
	for other := range given {
		if other < name && http.CanonicalHeaderKey(other) == canonical {
			return "the headers " + other + " and " + name + " are one header", "remove one of them"
		}
	}
	key := cmp.Or(d.Auth, "bearer")
	if key == "bearer" {
		key = "Authorization"
	}
	if has := d.KeyFile != "" || d.KeyEnv != ""; has && d.Auth != "none" && http.CanonicalHeaderKey(key) == canonical {
		return "the header " + name + " cannot be given: the key is sent in it", "remove it, or say auth: none to send it in place of the key"
	}
	return "", ""
}
