package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"

	"tavernsim/protocol"
	"tavernsim/protocol/picture"
)

// AppendPicture appends the bytes of an image of a request in base64. They are those that
// the image names, or it fails.
func AppendPicture(b []byte, q *protocol.ModelRequest, i *protocol.Image) ([]byte, error) {
	name := protocol.Short(i.URI, 80)
	if q.Picture == nil {
		return b, protocol.Errorf(protocol.KindInvalid, "the picture %s: nothing reads pictures here", name)
	}
	data, err := q.Picture(i)
	if err != nil {
		return b, protocol.Errorf(protocol.KindOf(err), "the picture %s: %w", name, err)
	}
	if len(data) > picture.MaxBytes {
		return b, protocol.Errorf(protocol.KindLimit, "the picture %s has %d bytes; models read %d", name, len(data), picture.MaxBytes)
	}
	if sum := sha256.Sum256(data); i.SHA256 != "" && hex.EncodeToString(sum[:]) != i.SHA256 {
		return b, protocol.Errorf(protocol.KindConflict, "the picture %s has changed: its SHA-256 is %x and not %s", name, sum, i.SHA256)
	}
	return base64.StdEncoding.AppendEncode(slices.Grow(b, base64.StdEncoding.EncodedLen(len(data))+256), data), nil
}
