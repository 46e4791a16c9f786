package statecmd

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// SecretKeys are the names whose values an audit hides unless its settings name
// others.
func SecretKeys() []string {
	return []string{"password", "secret_key", "api_key", "apiKey", "access_token"}
}

// SecretKey reports whether a name is one of them.
func SecretKey(name string) bool {
	switch name {
	case "password", "secret_key", "api_key", "apiKey", "access_token":
		return true
	}
	return false
}

// Redact hides the values of secret keys, at any depth; it copies only what it
// changes.
func Redact(v any, secret map[string]bool) (out any, changed bool) {
	switch x := v.(type) {
	case map[string]any:
		var m map[string]any
		for k, e := range x {
			clean, hid := any(Redacted), true
			if !secret[k] {
				clean, hid = Redact(e, secret)
			}
			if !hid {
				continue
			}
			if m == nil {
				m = make(map[string]any, len(x))
				for k, v := range x {
					m[k] = v
				}
			}
			m[k] = clean
		}
		if m != nil {
			return m, true
		}
	case []any:
		var l []any
		for i, e := range x {
			if clean, hid := Redact(e, secret); hid {
				if l == nil {
					l = append(l, x...)
				}
				l[i] = clean
			}
		}
		if l != nil {
			return l, true
		}
	}
	return v, false
}
