package interact

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/panel"
	"tavernsim/protocol"
)

// File is the answer with a file, where one is asked for: its text, if it is one.
func File(name string) (any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, panel.MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > panel.MaxFile {
		return nil, protocol.Errorf(protocol.KindLimit, "%s has more than %d bytes", protocol.Short(name, 200), panel.MaxFile)
	}
	name = filepath.Base(name)
	typ, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(name)), ";")
	if typ == "" {
		typ, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	v := map[string]any{"name": name, "type": typ}
	if texts := []string{"application/json", "application/yaml", "application/xml"}; utf8.Valid(data) && (strings.HasPrefix(typ, "text/") || slices.Contains(texts, typ)) {
		v["text"] = string(data)
	} else {
		v["base64"] = base64.StdEncoding.EncodeToString(data)
	}
	return v, nil
}
