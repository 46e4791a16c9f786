package mask

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Promise 3 for numbers that mean nothing: files of them have many digits in a row.
func TestRandomNumbers(t *testing.T) {
	m := masker(t, "9fQ2xZ7b", "9fQ2xZ7bTk", "another-Secret_9fQ2xZ7b", "sk-Demo_7pW4yH8cR2nM")
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []struct {
		name   string
		number func() string
	}{
		{"five digits", func() string { return fmt.Sprintf("%05d", random.IntN(100_000)) }},
		{"32 bits", func() string { return strconv.FormatUint(uint64(random.Uint32()), 10) }},
		{"64 bits", func() string { return strconv.FormatUint(random.Uint64(), 10) }},
		{"64 bits in octal", func() string { return fmt.Sprintf("%022o", random.Uint64()) }},
		{"bytes", func() string { return strconv.Itoa(random.IntN(256)) }},
		{"floats", func() string { return strconv.FormatFloat(random.Float64(), 'g', -1, 64) }},
		{"32 bits in octal", func() string { return fmt.Sprintf("%011o", random.Uint32()) }},
		{"32 bits in hex", func() string { return fmt.Sprintf("%08x", random.Uint32()) }},
	}
	texts, size := 40, 256<<10
	if testing.Short() {
		texts = 2 * len(kinds)
	}
	for i := range texts {
		kind := kinds[i%len(kinds)]
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(kind.number())
			b.WriteByte("\n , "[i/len(kinds)%4])
		}
		if _, f := m.Text(b.String()); f.Any() {
			t.Errorf("%s, %d: %+v", kind.name, i, f)
		}
	}
}

// Promise 2 for values of eight characters: they have few digits, and all of them are found.
func TestNumbersOfShortValues(t *testing.T) {
	for _, value := range []string{"9fQ2xZ7b", "zfQ2xZ7b", "12345-abcd"} {
		m := masker(t, value)
		texts := []string{}
		for _, base := range []int{8, 10} {
			for _, line := range []string{value, value + "\n"} {
				number := new(big.Int).SetBytes([]byte(line)).Text(base)
				texts = append(texts, number, "id"+number+"n", "12 "+number+", 3")
			}
		}
		for before := range 4 {
			around := "wxyz"[:before] + value + "rest"
			for _, w := range []struct {
				size   int
				format string
			}{{2, " %06o"}, {2, " %5d"}, {4, " %08x"}, {4, " %011o"}, {4, " %10d"}} {
				texts = append(texts, dumped(around, w.size, w.format))
			}
			texts = append(texts, bigWords(around, 4, "%d"))
		}
		for before := range 8 {
			around := "stuvwxyz"[:before] + value + "rest-of-it"
			texts = append(texts, dumped(around, 8, " %20d"), dumped(around, 8, " %022o"), bigWords(around, 8, "%d"), bigWords(around, 8, "%022o"))
		}
		for _, text := range texts {
			if _, f := m.Text(text); f.Withhold != "S0" {
				t.Errorf("%s: %q passes: %+v", value, text, f)
			}
		}
		number := new(big.Int).SetBytes([]byte(value)).Text(10)
		if _, f := m.Text("1" + number + "1"); len(number) < 20 && f.Any() {
			t.Errorf("%s within other digits: %+v", number, f)
		}
	}
}

// dumped is a text as od writes it: words of some bytes, the lowest first, in lines of 16 bytes
// behind their places.
func dumped(s string, size int, format string) string {
	var b strings.Builder
	for at := 0; at < len(s); at += size {
		if at%16 == 0 {
			fmt.Fprintf(&b, "\n%07o", at)
		}
		v := uint64(0)
		for i := min(at+size, len(s)) - 1; i >= at; i-- {
			v = v<<8 | uint64(s[i])
		}
		fmt.Fprintf(&b, format, v)
	}
	return b.String()
}

// bigWords are numbers of some bytes, the highest first.
func bigWords(s string, size int, format string) string {
	var b strings.Builder
	for at := 0; at+size <= len(s); at += size {
		v := uint64(0)
		for _, c := range []byte(s[at : at+size]) {
			v = v<<8 | uint64(c)
		}
		fmt.Fprintf(&b, format+", ", v)
	}
	return b.String()
}

// Promise 2 behind much that is decoded to nothing: what does not fit in the 1 MiB is passed by, and small numbers count as few bytes.
func TestBehindManyNumbers(t *testing.T) {
	const secret = "sk-Demo_7pW4yH8cR2nM"
	m := masker(t, secret)
	in64 := base64.StdEncoding.EncodeToString
	random := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	var csv strings.Builder
	for i := range 11_000 {
		fmt.Fprintf(&csv, "t,%d,%d,%d,%d,%d,%d\n", 1764500000000000000+i*1_000_003, i%7, i%10, i%3, i%5, i%2)
	}
	for name, head := range map[string]string{
		"one large and small ones": "12345678901234567 " + strings.Repeat("1 ", 140_000),
		"CSV":                      csv.String(), "CSV without letters": strings.ReplaceAll(csv.String(), "t,", ""),
		"a row that does not fit": strings.Repeat("12345678901234567 ", 50_000), "a long code": in64(random),
	} {
		for _, tail := range []string{each(in64([]byte(in64([]byte("token: "+secret)))), "%d "), dumped("token: "+secret, 8, " %20d")} {
			if _, f := m.Text(head + "\n\nthe result is: " + tail + "\n"); f.Withhold != "S0" {
				t.Errorf("behind %s passes %q: %+v", name, tail, f)
			}
		}
	}
}

// What takes more than is left of the 1 MiB leaves 0 of it at the least.
func TestNeverBelowNothing(t *testing.T) {
	m := masker(t, "sk-Demo_7pW4yH8cR2nM")
	for _, text := range []string{"BZh91AY&SY of nothing", "x\x9c\x4b\xff\xfe\xff\xff\xff\xff", "aGVsbG8sIGFsbCBpcyB3ZWxsIGhlcmU", "12345678901234567 12345678901234567"} {
		for left := range 40 {
			s := search{Masker: m, left: left}
			if name, _ := s.decoded(text, 1); name != "" || s.left < 0 {
				t.Errorf("%q with %d left: %q, %d", text, left, name, s.left)
			}
		}
	}
}
