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
// that depends on bytes before it, and with so much of the last one as does not depend on those behind: that leaves out one byte
// and a half of a value that ends there, at most.
func in85(value string, offset int, alphabet string) (blocks []block) {
	at := (4 - offset) % 4
	for ; at+4 <= len(value); at += 4 {
		digits := block85(binary.BigEndian.Uint32([]byte(value[at:])), alphabet)
		blocks = append(blocks, block{string(digits[:]), at * byteParts, (at + 4) * byteParts, 0})
	}
	rest := value[min(at, len(value)):]
	low := block85(binary.BigEndian.Uint32([]byte(rest+"\x00\x00\x00\x00")), alphabet)
	high := block85(binary.BigEndian.Uint32([]byte(rest+"\xff\xff\xff\xff")), alphabet)
	same := 0
	for same < len(low) && low[same] == high[same] {
		same++
	}
	return append(blocks, spread(string(low[:same]), at*byteParts, at*byteParts+same*byteParts*4/5)...)
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
