package protocol

import (
	"reflect"
	"strings"
	"unicode"
)

// Laid is a struct whose fields are stored in another order than they are
// declared in.
type Laid interface{ Layout() string } // the names, with spaces between them

// FieldNames names the stored fields of a struct in their order, in the way of
// the pages, with those of what it embeds.
func FieldNames(t reflect.Type) []string {
	if l, ok := reflect.TypeAssert[Laid](reflect.Zero(t)); ok {
		return strings.Fields(l.Layout())
	}
	names := []string{}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			names = append(names, SnakeName(f.Name))
		}
	}
	return names
}

// SnakeName writes a Go name in the way of the pages: EntryID is entry_id.
func SnakeName(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return b.String()
}
