package format

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

const (
	headMagic = "SJH"
	headSize  = 4 + 8 + 8 + 8 + DigestSize + checksumSize
)

// Head says where a scene's journal begins: at nothing, or after facts that
// were dropped on purpose.
type Head struct {
	Wave   uint64 // last wave before the journal's first kept one
	Seq    uint64 // last seq of that wave
	Total  uint64 // bytes of all facts up to it
	Digest Digest // of the chain up to it
}

// NewHead is the head of a scene's new journal: the chain begins at a digest of
// the format's version and the scene's id.
func NewHead(scene string) Head {
	return Head{Digest: sha256.Sum256(append([]byte{'s', 'i', 'm', 'd', ' ', 'j', 'o', 'u', 'r', 'n', 'a', 'l', 1, byte(len(scene))}, scene...))}
}

// AppendHead appends a head.
func AppendHead(b []byte, h Head) []byte {
	start := len(b)
	b = append(b, headMagic...)
	b = append(b, Version)
	b = binary.BigEndian.AppendUint64(b, h.Wave)
	b = binary.BigEndian.AppendUint64(b, h.Seq)
	b = binary.BigEndian.AppendUint64(b, h.Total)
	b = append(b, h.Digest[:]...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

// ReadHead reads a head.
func ReadHead(value []byte) (Head, error) {
	if len(value) < 4 || string(value[:3]) != headMagic {
		return Head{}, corrupt("head: %d bytes beginning %x; want %d beginning %q", len(value), clip(value), headSize, headMagic)
	}
	if value[3] == 0 || value[3] > Version {
		return Head{}, newer("head", value[3], Version)
	}
	if len(value) != headSize {
		return Head{}, corrupt("head: %d bytes; want %d", len(value), headSize)
	}
	end := headSize - checksumSize
	if have, want := xxh3.Hash(value[:end]), binary.BigEndian.Uint64(value[end:]); have != want {
		return Head{}, corrupt("head: checksum %016x; it says %016x", have, want)
	}
	h := Head{
		Wave:  binary.BigEndian.Uint64(value[4:]),
		Seq:   binary.BigEndian.Uint64(value[12:]),
		Total: binary.BigEndian.Uint64(value[20:]),
	}
	copy(h.Digest[:], value[28:])
	return h, nil
}
