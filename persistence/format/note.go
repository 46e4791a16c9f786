package format

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

const noteMagic = "SJN"

// AppendNote appends what a writer noted at the end of a wave.
func AppendNote(b, note []byte) []byte {
	start := len(b)
	b = append(append(b, noteMagic...), Version)
	b = append(b, note...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

// ReadNote reads a note; it is a slice of value.
func ReadNote(value []byte) ([]byte, error) {
	end := len(value) - checksumSize
	if end < 4 || string(value[:3]) != noteMagic {
		return nil, corrupt("note: %d bytes beginning %x; want at least %d beginning %q", len(value), clip(value), 4+checksumSize, noteMagic)
	}
	if value[3] == 0 || value[3] > Version {
		return nil, newer("note", value[3], Version)
	}
	if have, want := xxh3.Hash(value[:end]), binary.BigEndian.Uint64(value[end:]); have != want {
		return nil, corrupt("note: checksum %016x; it says %016x", have, want)
	}
	return value[4:end], nil
}
