package factjson

import "tavernsim/engine/secret"

// What a fact or a state holds under the name of a secret is shown as [redacted].
// The journal holds what the scene needs to go on; whoever shows it comes through
// here.

// At is what stands at a path, as this package shows values.
func At(path string, shown any) any {
	if shown == nil || !secret.OnPath(path) {
		return shown
	}
	return JSON(secret.Redacted)
}

// secretMembers hides the values of an object whose path leads through the name
// of a secret.
func secretMembers(o Object) {
	hidden := false
	for _, m := range o {
		text, ok := m.Value.(string)
		hidden = hidden || ok && (m.Name == "path" || m.Name == "key") && secret.OnPath(text)
	}
	for i := range o {
		if o[i].Value != nil && hidden && secret.BesidePath(o[i].Name) {
			o[i].Value = JSON(secret.Redacted)
		}
	}
}
