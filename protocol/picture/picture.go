// Package picture lists the pictures of a message to a model.
//
// # Not here
//
// Their bytes: llm.AppendPicture reads them when the model is asked.
package picture

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Bounds of pictures.
const (
	Most     = 16      // in one request
	MaxBytes = 5 << 20 // of one picture: what servers take
)

// Types are the media types that models read.
func Types() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// Read reads a value {uri, mediaType, sha256, found}. A data: URI needs no mediaType; a file
// of a mount, which may change, needs its sha256.
func Read(v any) (protocol.Image, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return protocol.Image{}, fmt.Errorf("want an object {uri, mediaType, sha256}, got %T", v)
	}
	var i protocol.Image
	for _, k := range protocol.SortedKeys(m) {
		switch k {
		case "uri":
			i.URI, ok = m[k].(string)
		case "mediaType":
			i.Type, ok = m[k].(string)
		case "sha256":
			i.SHA256, ok = m[k].(string)
		case "found":
			i.Found, ok = m[k].(bool)
		default:
			return i, fmt.Errorf("unknown field %q; want uri, mediaType, sha256 and found", protocol.Short(k, 80))
		}
		if !ok {
			return i, fmt.Errorf("%s: want a text, and true or false for found; got %T", k, m[k])
		}
	}
	return i, check(&i)
}

func check(i *protocol.Image) error {
	scheme, rest, _ := strings.Cut(i.URI, ":")
	switch strings.ToLower(scheme) {
	case "artifact":
	case "data":
		head, data, _ := strings.Cut(rest, ",")
		media, based := strings.CutSuffix(head, ";base64")
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || !based {
			return fmt.Errorf("uri: want data:MEDIA/TYPE;base64,DATA")
		}
		if i.Type == "" {
			i.Type = media
		}
		if i.Type != media {
			return fmt.Errorf("mediaType is %q, and the data: URI says %q", i.Type, protocol.Short(media, 80))
		}
	case "fam":
		if i.SHA256 == "" {
			return fmt.Errorf("%s: the file may change; add its sha256", protocol.Short(i.URI, 80))
		}
	default:
		return fmt.Errorf("uri %q: want fam://MOUNT/path, artifact:sha256-… or data:…;base64,…", protocol.Short(i.URI, 80))
	}
	if i.SHA256 != "" && (len(i.SHA256) != 64 || strings.Trim(i.SHA256, "0123456789abcdef") != "") {
		return fmt.Errorf("sha256 %q: want 64 hexadecimal digits in lower case", protocol.Short(i.SHA256, 80))
	}
	if !slices.Contains(Types(), i.Type) {
		return fmt.Errorf("mediaType %q: want %s", protocol.Short(i.Type, 80), strings.Join(Types(), ", "))
	}
	return nil
}

// Value is what Read reads.
func Value(i *protocol.Image) map[string]any {
	v := map[string]any{"uri": i.URI, "mediaType": i.Type}
	if i.SHA256 != "" {
		v["sha256"] = i.SHA256
	}
	if i.Found {
		v["found"] = true
	}
	return v
}
