package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tavernsim/protocol"
)

// File is a file that a script finds beside itself.
type File struct {
	Path string // relative to the folder of the definition, with slashes
	Data []byte
}

// Words are the words of the command of a script; nil if it is none.
func (t *Tool) Words() []string {
	words, _ := split(t.Implementation.Command)
	return words
}

// Files are those of a script. Whoever reads the definition gives them by SetFiles before
// the tool is shared.
func (t *Tool) Files() []File { return t.files }

// IsModule reports whether the program of a script is a module of WebAssembly.
func (t *Tool) IsModule() bool {
	words := t.Words()
	return t.Implementation.Type == Script && len(words) > 0 && strings.HasSuffix(words[0], ".wasm")
}

// SetFiles gives a script its files.
func (t *Tool) SetFiles(files []File) error {
	total := 0
	for _, f := range files {
		total += len(f.Data)
	}
	if t.files = files; total > maxFiles {
		return fmt.Errorf("the files that go with the command have %d bytes; the limit is %d", total, maxFiles)
	}
	return nil
}

// maxFiles bounds the files of one script, in bytes; they go with every call.
const maxFiles = 4 << 20

// Beside picks, of all files of a project, those that go with a script whose definition
// lies in dir: those that the command names, and those that it lists.
func (t *Tool) Beside(dir string, all []string) (names []string, faults []Fault) {
	for i, word := range t.Words() {
		file := path.Join(dir, word)
		if !strings.HasPrefix(file, dir+"/") || !slices.Contains(all, file) {
			continue
		}
		if i == 0 && !strings.Contains(word, "/") {
			faults = append(faults, Fault{Steps: at("implementation", "command"), Message: fmt.Sprintf("the program %s is looked up among those of the system", word), Suggestion: "write ./" + word})
		}
		names = append(names, file)
	}
	for i, written := range t.Implementation.Files {
		wanted, before := path.Join(dir, written), len(names)
		for _, f := range all {
			if strings.HasPrefix(f, dir+"/") && (f == wanted || strings.HasPrefix(f, wanted+"/")) {
				names = append(names, f)
			}
		}
		if len(names) == before || written == "" {
			faults = append(faults, Fault{Steps: at("implementation", "files", strconv.Itoa(i)), Message: fmt.Sprintf("there is no file or folder %q in %s", written, dir)})
		}
	}
	slices.Sort(names)
	return slices.Compact(names), faults
}

// Absent are the words of the command that mean something beside it, of what goes with it nothing.
func (t *Tool) Absent(dir string, names []string) (list []string) {
	for _, word := range t.Words() {
		beside := path.Join(dir, word)
		there := slices.ContainsFunc(names, func(n string) bool { return n == beside || strings.HasPrefix(n, beside+"/") })
		if !there && (strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")) {
			list = append(list, word)
		}
	}
	return list
}

func (c *checker) script() {
	if c.tool.IsModule() && len(c.tool.Servers()) > 0 {
		c.fault(at("needs"), "remove the servers, or use another program", "a module of WebAssembly has no network")
	}
	if _, problem := split(c.tool.Implementation.Command); problem != "" {
		c.fault(at("implementation", "command"), "no shell reads the command; put the rest into a file and name it", "%s", problem)
	}
}

// split reads the words of a command as a shell would, and finds what only a shell could
// carry out. No parameter of a call is a part of it.
func split(command string) (words []string, problem string) {
	if strings.ContainsRune(command, 0) {
		return nil, "the command has a NUL character"
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, fmt.Sprintf("the command cannot be read: %v", err)
	}
	if len(file.Stmts) == 0 {
		return nil, "the command is empty"
	}
	call, simple := file.Stmts[0].Cmd.(*syntax.CallExpr)
	s := file.Stmts[0]
	if !simple || len(file.Stmts) > 1 || len(s.Redirs) > 0 || s.Background || s.Negated || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, "the command is more than one program with its arguments"
	}
	for _, w := range call.Args {
		text, plain := literal(w.Parts, false)
		if !plain {
			return nil, fmt.Sprintf("the word at column %d has something that a shell would replace", w.Pos().Col())
		}
		words = append(words, text)
	}
	return words, ""
}

// literal joins the parts of a word, if a shell would keep them.
func literal(parts []syntax.WordPart, quoted bool) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		switch x := p.(type) {
		case *syntax.Lit:
			if !quoted && (b.Len() == 0 && strings.HasPrefix(x.Value, "~") || hasPattern(x.Value)) {
				return "", false
			}
			b.WriteString(unescape(x.Value, quoted))
		case *syntax.SglQuoted:
			if x.Dollar {
				return "", false
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			text, plain := literal(x.Parts, true)
			if x.Dollar || !plain {
				return "", false
			}
			b.WriteString(text)
		default:
			return "", false
		}
	}
	return b.String(), true
}

func hasPattern(lit string) bool {
	for i := 0; i < len(lit); i++ {
		switch lit[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescape takes backslashes away: all outside of quotes, within them those that mean something.
func unescape(lit string, quoted bool) string {
	if !strings.Contains(lit, `\`) {
		return lit
	}
	var b strings.Builder
	for i := 0; i < len(lit); i++ {
		if lit[i] == '\\' && i+1 < len(lit) && (!quoted || strings.IndexByte("$`\"\\\n", lit[i+1]) >= 0) {
			if i++; lit[i] == '\n' {
				continue
			}
		}
		b.WriteByte(lit[i])
	}
	return b.String()
}

// Languages of code, in the order of the documentation.
func Languages() []string { return []string{"python", "javascript", "sh"} }

// CodeInterpreter is the tool that runs code which an agent writes. A profile that names it
// in its inventory has it, without a file.
const CodeInterpreter = "CodeInterpreter:execute"

// NewCodeInterpreter makes its definition.
func NewCodeInterpreter() *Tool {
	t := &Tool{
		ID:             CodeInterpreter,
		Description:    "Runs code in an empty folder, without network. What it prints is the answer; say print.",
		Implementation: Implementation{Type: Code},
		Execution:      Execution{Repeat: Free},
	}
	t.Check()
	return t
}

// code gives a tool of the type code its schemas.
func (t *Tool) code() {
	languages := t.Implementation.Languages
	if len(languages) == 0 {
		languages = Languages()
	}
	enum := protocol.ListOf(languages)
	text := map[string]any{"type": "string"}
	t.Parameters = map[string]any{
		"properties": map[string]any{
			"language": map[string]any{"type": "string", "enum": enum, "description": "The language of the code."},
			"code":     map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(MaxCode), "description": "The whole program."},
			"files": map[string]any{"type": "object", "additionalProperties": text, "maxProperties": int64(64),
				"description": "Texts of files that the code finds in its folder, by path."},
			InputsOfCode: map[string]any{"type": "object", "additionalProperties": text, "maxProperties": int64(64),
				"description": "References (fam://agent/PATH, artifact:sha256-…) of files that the code finds as /uri/NAME, by name."},
			"timeout": map[string]any{"type": "number", "exclusiveMinimum": int64(0), "maximum": int64(60), "description": "Seconds of the wall clock."},
		},
		"required": []any{"language", "code"},
	}
	t.OutputSchema = map[string]any{"type": "object", "required": []any{"stdout", "stderr", "exit_code"}}
}

// InputsOfCode is the parameter of code whose values are references.
const InputsOfCode = "inputs"

// MaxCode bounds the code of one call, in characters.
const MaxCode = 256 << 10

func (c *checker) languages() {
	for i, l := range c.tool.Implementation.Languages {
		if !slices.Contains(Languages(), l) {
			c.fault(at("implementation", "languages", fmt.Sprint(i)), "", "%q is no language; want %s", l, strings.Join(Languages(), ", "))
		}
	}
	if c.tool.ownSchema {
		c.fault(at("parameters"), "remove it", "the type code has parameters of its own")
	}
}

// Unsplit says why a command cannot be read as words; "" = it can.
func Unsplit(command string) (problem string) {
	_, problem = split(command)
	return problem
}
