package endpoint

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/budget"
	"tavernsim/internal/source"
	"tavernsim/llm/ledger"
	"tavernsim/protocol"
)

// DefaultFile is where the file of endpoints is looked for when none is named: in
// $SIMD_PROVIDERS, then in simd/providers.yaml of the user's configuration folder. It is
// "" when there is none.
func DefaultFile(getenv func(string) string, configDir string) string {
	if named := getenv("SIMD_PROVIDERS"); named != "" {
		return named
	}
	if configDir == "" {
		return ""
	}
	file := filepath.Join(configDir, "simd", "providers.yaml")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// Load reads a file of endpoints and makes them. The caller closes each. One without its key is
// not [Endpoint.Usable].
func Load(file string, getenv func(string) string) (map[string]*Endpoint, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Errorf(protocol.KindNotFound, "endpoints: there is no file %s", file)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoints: %w", err)
	}
	f, err := Read(file, data)
	if err != nil {
		return nil, err
	}
	made := map[string]*Endpoint{}
	for _, name := range protocol.SortedKeys(f.Endpoints) {
		e, err := newEndpoint(name, f.Endpoints[name], filepath.Dir(file), getenv)
		if err == nil {
			made[name] = e
			err = e.keepSpent(file + "." + name + ".spent")
		}
		if err != nil {
			CloseAll(made)
			return nil, err
		}
	}
	return made, nil
}

// keepSpent opens the ledger of a budget a day.
func (e *Endpoint) keepSpent(file string) (err error) {
	if l := e.limits; l != nil && l.Daily {
		e.Gate.Book, err = ledger.Open(file, e.Name, l.Amount)
	}
	return err
}

// Reload reads the file again and gives each endpoint that is in it its new key, headers and
// parameters. Its gate lets requests through again. Everything else of an endpoint stays as it is.
// An endpoint that the file has at another place is a fault: its new key is not for the old place. After a
// fault nothing has changed.
func Reload(file string, getenv func(string) string, to map[string]*Endpoint) error {
	again, err := Load(file, getenv)
	if err != nil {
		return err
	}
	defer CloseAll(again) // they have no connections
	var faults []error
	for _, name := range protocol.SortedKeys(again) {
		switch e, fresh := to[name], again[name]; {
		case e == nil:
		case e.moved(fresh) != "":
			faults = append(faults, protocol.Errorf(protocol.KindConflict, "endpoint %s: the file has another %s than when it was first read, so the key may be for another server; no key was changed. To ask another server, stop and resume the run", name, e.moved(fresh)))
		case e.Usable() == nil:
			faults = append(faults, fresh.Usable())
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for name, fresh := range again {
		if e := to[name]; e != nil {
			last, next := e.access.Load(), fresh.access.Load()
			next.secrets = next.secrets.With(last.secrets) // an answer may still have the old key
			next.answered.Store(last.answered.Load() && last.sends(next))
			e.access.Store(next)
			e.Gate.Reopen()
		}
	}
	return nil
}

// sends reports whether requests have the same key, headers and parameters as those of another access.
func (a *access) sends(other *access) bool {
	return a.like.URL.RawQuery == other.like.URL.RawQuery && maps.EqualFunc(a.like.Header, other.like.Header, slices.Equal[[]string])
}

// moved names the field of another definition by which a key would go to another place, or to one that proves
// otherwise who it is; "" = none.
func (e *Endpoint) moved(to *Endpoint) string {
	switch {
	case e.base.String() != to.base.String():
		return "base_url"
	case e.Protocol != to.Protocol:
		return "protocol"
	case e.CAFile != to.CAFile:
		return "ca_file"
	}
	return ""
}

// CloseAll closes each. What of it may fail, nobody needs any more.
func CloseAll(to map[string]*Endpoint) {
	for _, e := range to {
		_ = e.Close()
	}
}

// Read reads a file of endpoints. The error is a [*source.Error] over every fault.
func Read(file string, data []byte) (*File, error) {
	report := &source.Report{}
	f := &File{}
	if doc := source.Parse(file, data, source.Limits{Secret: true}, report); doc != nil {
		d := source.Decoder{Rules: Rules(), Report: report}
		d.Decode(doc, f)
		f.check(doc, report)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// check finds what no rule of one field does.
func (f *File) check(doc *source.Document, report *source.Report) {
	for _, name := range slices.Sorted(maps.Keys(f.Endpoints)) {
		d := f.Endpoints[name].whole()
		fault := func(message, suggestion string, steps ...string) {
			steps = append([]string{"endpoints", name}, steps...)
			node, _ := doc.Root.Find(steps...)
			report.At(doc, node.Pos, source.Path(steps...), message, suggestion)
		}
		if !nameForm().MatchString(name) {
			fault("an endpoint's name has letters, digits, -, _ and . only, at most 64", "")
		}
		u, err := url.Parse(d.BaseURL)
		switch {
		case d.BaseURL == "":
			fault("there is no base_url, and no preset that has one", "add base_url, or preset: "+strings.Join(PresetNames(), ", "))
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			fault("this is no address", "want one like https://api.example.com/v1", "base_url")
		case u.User != nil:
			fault("an address may not have a name and a password in it", "put the key into key_file or key_env", "base_url")
		case u.RawQuery != "" || u.Fragment != "":
			fault("an address ends with its path", "put parameters into query", "base_url")
		}
		if f.Endpoints[name].Budget != nil {
			switch on, err := budget.ParseAction(d.Budget.OnExhausted, budget.Refuse); {
			case err != nil || on.Do == budget.Degrade && on.Model == "":
				fault("want refuse, pause or end", "", "budget", "on_exhausted")
			case on.Do == budget.Degrade:
				fault("an endpoint's budget names no model, because projects do", "let a route of the project have a fallback on: [budget]", "budget")
			case d.Budget.Tokens == 0 && d.Budget.Dollars == 0 && d.Budget.Calls == 0:
				fault("the budget has no limit", "add tokens, dollars or calls", "budget")
			}
		}
		if why := ofSimd()[http.CanonicalHeaderKey(d.Auth)]; d.Auth != "" && !headerForm().MatchString(d.Auth) {
			fault("this is no name of a header", "want bearer, none, or a name like api-key", "auth")
		} else if why != "" {
			fault("no key can be in the header "+d.Auth+": "+why, "want bearer, none, or a name like api-key", "auth")
		}
		for _, h := range slices.Sorted(maps.Keys(f.Endpoints[name].Headers)) {
			what, do := d.wrongHeader(h, f.Endpoints[name].Headers)
			switch {
			case what == "":
			case !headerForm().MatchString(h):
				node, _ := doc.Root.Find("endpoints", name, "headers", h)
				report.At(doc, node.Pos, source.Path("endpoints", name, "headers"), what, do) // "Authorization: KEY" is no name, and is in no path
			default:
				fault(what, do, "headers", h)
			}
		}
	}
}

func nameForm() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) }

// readKey reads the key of a definition; "" = it needs none, or the preset's variable
// is not set. What stands in key_file and key_env may be the key itself, so no error has it.
func readKey(name string, given, d Definition, dir string, getenv func(string) string) (string, error) {
	place := "endpoints." + name + ".key_file"
	if d.KeyFile != "" {
		data, err := readStart(d.KeyFile, dir, maxKeyFile+1)
		if err != nil {
			return "", protocol.Errorf(protocol.KindInvalid, "%s: %w (want the name of a file, not the key)", place, err)
		}
		if len(data) > maxKeyFile {
			return "", protocol.Errorf(protocol.KindInvalid, "%s: the file is larger than %d bytes; want the key in its first line", place, maxKeyFile)
		}
		key, _, _ := strings.Cut(strings.TrimSpace(string(unmarked(data))), "\n")
		if key = strings.TrimSpace(key); key == "" {
			return "", protocol.Errorf(protocol.KindInvalid, "%s: the file is empty; want the key in its first line", place)
		}
		return key, checkKey(place, key)
	}
	if d.KeyEnv == "" || d.Auth == "none" {
		return "", nil
	}
	place = "endpoints." + name + ".key_env"
	key := strings.TrimSpace(getenv(d.KeyEnv))
	switch {
	case given.KeyEnv == "":
		place += " (" + d.KeyEnv + ", of the preset)"
	case key == "":
		return "", protocol.Errorf(protocol.KindInvalid, "%s: the variable that it names is not set (want the name of a variable, such as CLOUD_KEY, not the key)", place)
	}
	return key, checkKey(place, key)
}

const maxKeyFile = 64 << 10

// located is the place of a file that a definition names: in the home of the user, in
// dir, or where it says.
func located(file, dir string) (string, error) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if filepath.IsAbs(file) {
		return file, nil
	}
	return filepath.Join(dir, file), nil
}

// readStart reads at most so many bytes of a file that a definition names. The error does not name the file.
func readStart(file, dir string, most int64) (data []byte, err error) {
	if file, err = located(file, dir); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err == nil {
		defer func() { _ = f.Close() }()
		data, err = io.ReadAll(io.LimitReader(f, most))
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return data, err
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// checkKey refuses what no header can hold, and more than a key, without showing it. place is the field that names it.
// Who is sent "Bearer Bearer k" may answer that k is wrong, and only the whole is known as a secret.
func checkKey(place, key string) error {
	if strings.ContainsAny(key, " \t\"'") {
		return protocol.Errorf(protocol.KindInvalid, "%s: the key has a blank or a quotation mark; give the key alone, without Bearer and without quotation marks", place)
	}
	if strings.ContainsFunc(key, unprintable) {
		return protocol.Errorf(protocol.KindInvalid, "%s: the key has characters that no header can hold; want ASCII", place)
	}
	return nil
}

// auth is how the key is sent.
func (d Definition) auth(key string) string {
	if key == "" {
		return "none"
	}
	return cmp.Or(d.Auth, "bearer")
}
