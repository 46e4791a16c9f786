package mask

import (
	"encoding/binary"
	"strings"
)

// Alphabets of base85: that of Adobe and btoa, and the one of ZeroMQ. What RFC 1924, git and
// Python have differs from the latter in case and in signs, which are squeezed out.
const (
	ascii85 = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu"
	z85     = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
	uucode  = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_"
)

// in85 is what base85 makes of a value that begins at an offset of its blocks, without the block
// that depends on bytes before it, and with so much of the last one as does not depend on those behind.
func in85(value string, offset int, alphabet string) block {
	first := (4 - offset) % 4
	if first >= len(value) {
		return block{}
	}
	value = value[first:]
	var b strings.Builder
	for len(value) >= 4 {
		block := block85(binary.BigEndian.Uint32([]byte(value)), alphabet)
		b.Write(block[:])
		value = value[4:]
	}
	low := block85(binary.BigEndian.Uint32([]byte(value+"\x00\x00\x00\x00")), alphabet)
	high := block85(binary.BigEndian.Uint32([]byte(value+"\xff\xff\xff\xff")), alphabet)
	for i := range low {
		if low[i] != high[i] {
			break
		}
		b.WriteByte(low[i])
	}
	return block{b.String(), first * byteParts, first*byteParts + b.Len()*byteParts*4/5}
}

func block85(v uint32, alphabet string) (digits [5]byte) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = alphabet[v%85]
		v /= 85
	}
	return digits
}

// uu is what uuencode makes of bytes, without its lines.
func uu(plain []byte) string {
	var b strings.Builder
	bits := 0
	w := uint32(0)
	for _, c := range plain {
		w = w<<8 | uint32(c)
		for bits += 8; bits >= 6; bits -= 6 {
			b.WriteByte(uucode[w>>(bits-6)&63])
		}
	}
	if bits > 0 {
		b.WriteByte(uucode[w<<(6-bits)&63])
	}
	return b.String()
}
