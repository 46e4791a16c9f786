package toolsxml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// One test per rule of the ToolsXML specification (Spec…) and per row of the
// decisions about it (X1 … X23). Rows about execution are tested as far as the
// parsed form must carry what the executor needs.

func root(body string) string { return "<tools>" + body + "</tools>" }

// describe writes the tools in one line each, to compare them at a glance.
func describe(r Result) string {
	var lines []string
	for _, t := range r.Tools {
		run := "-"
		if t.Executable {
			run = "+"
		}
		text := fmt.Sprintf("%q", t.Content)
		switch t.Type {
		case Read, Edit:
			text = ""
			for _, f := range t.Files {
				text += f.Src + ";"
				for _, e := range f.Edits {
					text += fmt.Sprintf("%q>%q;", e.Find, e.Replace)
				}
			}
		case GetValue:
			text = t.Key + "|" + t.Reason + "|" + t.Note
		}
		lines = append(lines, run+string(t.Type)+" "+text)
	}
	return strings.Join(lines, "\n")
}

// expect parses and compares the tools and the codes.
func expect(t *testing.T, src, want string, codes ...Code) Result {
	t.Helper()
	r := Parse(src, Options{})
	if got := describe(r); got != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", src, got, want)
	}
	if !slices.Equal(r.Warnings, codes) && len(r.Warnings)+len(codes) > 0 {
		t.Errorf("%s\nwarnings %v; want %v", src, r.Warnings, codes)
	}
	return r
}

func TestSpecRootElement(t *testing.T) {
	expect(t, "<tools>\n  <!-- 在这里放置一个或多个工具调用 -->\n</tools>", "", EmptyRoot)
	expect(t, root("<command>a</command><command>b</command>"), "+command \"a\"\n+command \"b\"")
}

func TestSpec1Command(t *testing.T) {
	expect(t, root("\n  <command>\n    npm install\n    npm run build\n  </command>\n"), `+command "npm install\nnpm run build"`)
}

func TestSpec2Edit(t *testing.T) {
	expect(t, root(`<edit><file src="a"><find>1</find><replace>2</replace><find>3</find><replace>4</replace></file><file src="b"><find>5</find><replace>6</replace></file></edit>`),
		`+edit a;"1">"2";"3">"4";b;"5">"6";`)
	expect(t, root(`<edit><file src="a"><find>1</find></file></edit>`), `-edit a;`, MissingElement)
	expect(t, root(`<edit><file src="a"><replace>1</replace></file></edit>`), `-edit a;`, MissingElement)
	expect(t, root(`<edit><file src="a"></file></edit>`), `-edit a;`, MissingElement)
	expect(t, root(`<edit></edit>`), `-edit `, MissingElement)
	expect(t, root(`<edit><find>1</find><replace>2</replace></edit>`), `-edit `, UnexpectedElement)
}

func TestSpec3Read(t *testing.T) {
	expect(t, root(`<read><file src="package.json"/><file src="src/"/></read>`), `+read package.json;src/;`)
	expect(t, root(`<read></read>`), `-read `, MissingElement)
	expect(t, root(`<read><search>x</search></read>`), `-read `, MissingElement, NotAvailable)
}

func TestSpec4GetValue(t *testing.T) {
	expect(t, root(`<get_value key="NPM_TOKEN" reason="r" note="n"/>`), `+get_value NPM_TOKEN|r|n`)
	expect(t, root(`<get_value key="NPM_TOKEN" reason="r"/>`), `+get_value NPM_TOKEN|r|`)
	expect(t, root(`<get_value key="A"/>`), `-get_value A||`, MissingAttribute)
	expect(t, root(`<get_value reason="r"/>`), `-get_value |r|`, MissingAttribute)
	expect(t, root(`<get_value key="a b" reason="r"/>`), `-get_value a b|r|`, InvalidAttribute)
}

func TestSpec5Input(t *testing.T) {
	expect(t, root(`<input>y\n</input> <!-- 手动添加换行符 -->`), `+input "y\n"`)
	expect(t, root(`<input>y</input>`), `+input "y"`, InputNoNewline)
}

func TestSpec5Ctrl(t *testing.T) {
	r := expect(t, root(`<ctrl>c</ctrl><ctrl>C</ctrl>`), "+ctrl \"c\"\n+ctrl \"c\"")
	if b := r.Tools[1].Bytes; len(b) != 1 || b[0] != 3 {
		t.Errorf("bytes %v; want [3]", b)
	}
}

func TestSpecVariables(t *testing.T) {
	r := expect(t, root(`<command>curl -H "Authorization: Bearer $KARYI{GITHUB_TOKEN}" https://x</command>`),
		`+command "curl -H \"Authorization: Bearer $KARYI{GITHUB_TOKEN}\" https://x"`)
	if got := r.Tools[0].Secrets; !slices.Equal(got, []string{"GITHUB_TOKEN"}) {
		t.Errorf("secrets %v", got)
	}
}

func TestX1Places(t *testing.T) {
	one := root("<command>ls</command>")
	for _, src := range []string{
		one, "before " + one + " after", "```xml\n" + one + "\n```", "```\n" + one + "\n```\nafter",
		`{"reply":"hi","tools":"` + one + `"}`, `{"tools":"` + one + `","reply":"hi"}`,
		"```json\n{\"reply\": \"hi\", \"tools\": \"" + one + "\"}\n```", "\ufeff" + one,
	} {
		expect(t, src, `+command "ls"`)
	}
	r := expect(t, one+"\nand\n"+one, "+command \"ls\"\n+command \"ls\"")
	if r.Text != "and" || r.Tools[1].Index != 2 || r.Tools[1].Root != 2 {
		t.Errorf("text %q, second tool %+v", r.Text, r.Tools[1])
	}
	expect(t, `{"reply":"","tools":""}`, "")
	expect(t, `{"reply":"","tools":"<tools><command>echo \"a\\nb\" \u0026\u0026 ls</command></tools>"}`, `+command "echo \"a\\nb\" && ls"`)
	// An array of objects named tools is somebody else's; the text is as it is.
	if r := expect(t, `{"tools":[{"name":"x"}]}`, ""); r.Text != `{"tools":[{"name":"x"}]}` {
		t.Errorf("text %q", r.Text)
	}
	// A cut JSON answer is read as far as it goes.
	expect(t, `{"reply":"a","tools":"<tools><command>ls</command><command>rm -rf /tm`, "-command \"ls\"\n-command \"rm -rf /tm\"",
		MissingRootClose, RootIncomplete, Truncated, JSONRepaired)
}

func TestX1JSONPositions(t *testing.T) {
	src := `{"reply":"é","tools":"<tools>\n\t<foo/>\n</tools>"}`
	r := expect(t, src, `-foo ""`, UnknownTool)
	d := r.Diagnostics[0]
	if at := strings.Index(src, "<foo"); d.Offset != at || d.Line != 1 || d.Col != at {
		t.Errorf("offset %d, line %d, col %d; want offset %d", d.Offset, d.Line, d.Col, at)
	}
}

func TestX2NakedTags(t *testing.T) {
	for _, src := range []string{"<command>ls</command>", "do <read><file src=\"a\"/></read>", `<get_value key="A" reason="b"/>`,
		`{"tools":"<command>ls</command>"}`} {
		expect(t, src, "", MissingRoot)
	}
	expect(t, "the <input> element of a form", "")
	r := expect(t, root("<ctrl>c</ctrl>")+"<command>ls</command>", `+ctrl "c"`, MissingRoot)
	if r.Text != "<command>ls</command>" {
		t.Errorf("text %q", r.Text)
	}
}

func TestX3MissingRootClose(t *testing.T) {
	expect(t, "<tools><command>ls</command>", `+command "ls"`, MissingRootClose)
	expect(t, "<tools><command>ls</command>\n```", `+command "ls"`, MissingRootClose)
	expect(t, "<tools><read><file src='a'/></read></tool", `+read a;`, MissingRootClose)
	expect(t, "<tools><command>ls", `-command "ls"`, MissingRootClose, Truncated)
	expect(t, "<tools><command>ls</comma", `-command "ls</comma"`, MissingRootClose, Truncated)
	expect(t, "<tools><command>ls</command><read><file src=\"a", "-command \"ls\"\n-read a;",
		MissingRootClose, RootIncomplete, Truncated, UnclosedTag, UnclosedQuote)
	expect(t, "<tools><command>ls</command><get_value key=\"a\" reason=\"b\"", "-command \"ls\"\n-get_value ||",
		MissingRootClose, RootIncomplete, UnclosedTag, Truncated)
	expect(t, "<tools><command>a</command>\nthen\n<tools><command>b</command></tools>", "+command \"a\"\n+command \"b\"", MissingRootClose)
	r := expect(t, "<tools><command>ls</command>\nThat lists files.", `+command "ls"`, MissingRootClose)
	if r.Text != "That lists files." {
		t.Errorf("text %q", r.Text)
	}
	for _, finish := range []protocol.FinishReason{protocol.FinishLength, protocol.FinishFiltered} {
		if r := Parse("<tools><command>ls</command>", Options{Finish: finish}); r.Tools[0].Executable {
			t.Errorf("runs although the provider reported %s", finish)
		}
	}
	if r := Parse(root("<command>ls</command>"), Options{Finish: protocol.FinishLength}); !r.Tools[0].Executable {
		t.Error("a closed root does not run after length")
	}
}

func TestX4StructuralClosers(t *testing.T) {
	expect(t, root(`<command>grep '</command>' f</command>`), `+command "grep '</command>' f"`)
	expect(t, root(`<command>echo '<command>a</command>' '<command>b</command>'</command><ctrl>c</ctrl>`),
		"+command \"echo '<command>a</command>' '<command>b</command>'\"\n+ctrl \"c\"")
	expect(t, root(`<command>grep '</tools>' f</command>`), `+command "grep '</tools>' f"`)
	expect(t, root(`<command>echo '<input type="text">' > a.html</command>`), `+command "echo '<input type=\"text\">' > a.html"`)
	expect(t, root(`<command>ls</command> <!-- a --> <!-- b --> <read><file src="a"/></read>`), "+command \"ls\"\n+read a;")
	expect(t, root(`<edit><file src="a"><find>x</find>y</find><replace>p</replace>q</replace></file></edit>`), `+edit a;"x</find>y">"p</replace>q";`)
	// The last one wins when none is followed by structure.
	expect(t, root(`<command>a</command>b</command> so`), `+command "a</command>b"`, IgnoredText)
	expect(t, root("<command>ls</command>\nThen:\n<command>rm x</command>"), "+command \"ls\"\n+command \"rm x\"", IgnoredText)
	expect(t, root(`<edit><file src="a"><find>1</find> by <replace>2</replace></file><file src="b"><find>3</find><replace>4</replace></file></edit>`),
		`+edit a;"1">"2";b;"3">"4";`, IgnoredText)
}

func TestX4MissingClosers(t *testing.T) {
	expect(t, root(`<command>ls`), `+command "ls"`, MissingClose)
	expect(t, root(`<command>ls<command>pwd</command>`), "+command \"ls\"\n+command \"pwd\"", MissingClose)
	expect(t, root("<command>ls\n<command>pwd</command>"), "+command \"ls\"\n+command \"pwd\"", MissingClose)
	expect(t, root("<command>npm init\n<input>y\\n</input>"), "+command \"npm init\"\n+input \"y\\n\"", MissingClose)
	expect(t, root(`<edit><file src="a"><find>1<replace>2</replace></file></edit>`), `+edit a;"1">"2";`, MissingClose)
	expect(t, root(`<edit><file src="a"><find>1</find><replace>2</file></edit>`), `+edit a;"1">"2";`, MissingClose)
	expect(t, root(`<edit><file src="a"><find>1</find><replace>2<find>3</find><replace>4</replace></file></edit>`), `+edit a;"1">"2";"3">"4";`, MissingClose)
	expect(t, root(`<edit><file src="a"><find>1</find><replace>2</edit><edit><file src="b"><find>3</find><replace>4</replace></file></edit>`),
		"+edit a;\"1\">\"2\";\n+edit b;\"3\">\"4\";", MissingClose)
	expect(t, root(`<edit><file src="a"><find>1</find></file><file src="b"><find>3</find><replace>4</replace></file></edit>`),
		`-edit a;b;"3">"4";`, MissingElement)
	expect(t, root(`<edit><file src="a"><find>1</find><replace>2</replace><file src="b"><find>3</find><replace>4</replace></edit>`),
		`+edit a;"1">"2";b;"3">"4";`, MissingClose)
	expect(t, root(`<read><file src="a"><file src="b"/>`), `+read a;b;`, MissingClose)
	expect(t, "<tools><command>ls</tools> and <tools><command>pwd</command></tools>", "+command \"ls\"\n+command \"pwd\"", MissingClose)
}

func TestX4QuotedBlock(t *testing.T) {
	quoted := "cat > a <<E\n<tools>\n<command>ls</command>\n</tools>\nE"
	expect(t, root("<command>"+quoted+"</command><command>b</command>"), fmt.Sprintf("+command %q\n+command \"b\"", quoted))
	quoted = "echo '<tools><command>ls</command></tools>' > f"
	expect(t, root("<command>"+quoted+"</command>"), fmt.Sprintf("+command %q", quoted))
	// Here documents may hold bare tags as well.
	quoted = "cat > a <<E\n<command>\nE"
	expect(t, root("<command>"+quoted+"</command>"), fmt.Sprintf("+command %q", quoted))
}

// In a here document, closers are text, also those that structure follows.
func TestX4HereDocuments(t *testing.T) {
	for _, script := range []string{
		"cat > a <<EOF\n</command>\n</tools>\nEOF\nls",
		"cat > a <<'EOF'\n<command>ls</command>\n<command>pwd</command>\n</tools>\nEOF",
		"cat > a <<-\\E.1\n\t</command><read/>\n\tE.1\necho b",
		"cat <<A <<\"B C\"\n</command></tools>\nA\n</command></tools>\nB C",
		"git commit -m \"$(cat <<'EOF'\nit's </command>\n</tools>\nEOF\n)\"",
		"# don't <<X\necho $((1<<2)) \"<<Y\" '<<Z' <<<W $'\\'<<V' $# ${a#<<U}",
		"echo $[1<<2] \"$[a[1]<<2]\"",
		"a[1<<2]=3; if true; then a[b[1]<<3]=1; fi\n  c[1<<4]=5",
		"tr a[ b <<E\n</command></tools>\nE",
		"x=`cat <<EOF\nhi\nEOF`",
		"x=\"`cat <<EOF # it's\nhi \\`</command>\n</tools> `\" && cat <<B\n</command></tools>\nB",
		"cat <<A `sed 's/\\`//' <<B\n</command></tools>\nB\necho\necho\n`\n</command></tools>\nA",
		"x=`echo a # it's`; cat <<A\n</command></tools>\nA",
		"cat <<'EOF'\\\nEOF\n</command></tools>\nEOFEOF",
		"cat <<E\\ F\n</command></tools>\nE F",
		"if ((1<<2)); then cat <<E\n</command></tools>\nE\nfi",
		"x=1 y+=$z a[1<<2]=3; if n[0]=1 b[1<<2]=3; then :; fi",
		"x=\"$(cat <<EOF\n</command></tools>\nEOF)\" && diff <(cat <<-E\n\t</command></tools>\n\tE ) b",
		"x=$( (cat <<EOF\n)</command></tools>\nEOF); ls)\ncat <<E\n</command></tools>\nE",
	} {
		expect(t, root("<command>"+script+"</command><ctrl>c</ctrl>"), fmt.Sprintf("+command %q\n+ctrl \"c\"", script))
	}
	// With an indent, as the specification writes scripts.
	expect(t, root("\n  <command>\n    cat > a <<EOF\n    </command>\n    </tools>\n    EOF\n  </command>\n"), `+command "cat > a <<EOF\n</command>\n</tools>\nEOF"`)
	// What has no end does not run, and neither does what is within it, if it may be.
	expect(t, root("<command>cat > a <<EOF\nx</command><ctrl>c</ctrl>"), "-command \"cat > a <<EOF\\nx\"\n+ctrl \"c\"", OpenHereDoc)
	expect(t, root("<command>(cat <<EOF\nx\nEOF)</command><ctrl>c</ctrl>"), "-command \"(cat <<EOF\\nx\\nEOF)\"\n+ctrl \"c\"", OpenHereDoc)
	expect(t, root("<command>cat > a <<EOF\nx</command>\n<command>cat > b <<EOF\ny\nEOF</command>"),
		`-command "cat > a <<EOF\nx</command>\n<command>cat > b <<EOF\ny\nEOF"`, OpenHereDoc)
	// A last line that was forgotten is not found in a later element, or behind it: that would be run as shell.
	for _, rest := range []string{
		"</tools>\nI forgot:\nEOF\n<tools><command>ls</command>",
		"<edit><file src=\"a\"><find>1</find><replace>\nEOF\n</replace></file></edit><command>ls</command>",
		"\n<command>cat > b <<EOF\ny\nEOF\n<command>ls</command>",
		"<command>cat > b <<'B'\ncat <<EOF\nz\nEOF\nB\n</command>",
		"<command session=\"b\">cat > b <<EOF\ny\nEOF\n</command>",
		"<command>cat > b <<EOF\ny\n<command>ls\nEOF\n</command>",
		"<command>cat > b <<EOF\ny\nEOF\ncat > c <<C\nz\nC\n</command>",
	} {
		text := "cat > a <<EOF\nx</command>" + rest
		expect(t, root("<command>"+text), fmt.Sprintf("-command %q", strings.TrimSpace(strings.TrimSuffix(text, "</command>"))), OpenHereDoc)
	}
	// Without a closer, too, a command ends in front of the next one: within a document nobody knows.
	expect(t, root("<command>cat > a <<EOF\nx\nEOF\n<command>ls $((1<<2))\n<command>pwd</command>"),
		"+command \"cat > a <<EOF\\nx\\nEOF\"\n+command \"ls $((1<<2))\"\n+command \"pwd\"", MissingClose)
	expect(t, root("<command>cat > a <<EOF\nx\n<command>cat > b <<EOF\ny\nEOF\n</command><ctrl>c</ctrl>"),
		"-command \"cat > a <<EOF\\nx\\n<command>cat > b <<EOF\\ny\\nEOF\"\n+ctrl \"c\"", OpenHereDoc)
	// Commands in a document that end by themselves take nothing from it.
	script := "cat > a <<EOF\n</command>\n<command>cat <<X\nx\nX</command>\n<command session=\"b\">ls</command>\n</tools>\nEOF\nls '<command>'"
	expect(t, root("<command>"+script+"</command>"), fmt.Sprintf("+command %q", script))
	// CDATA says where the script ends.
	expect(t, root("<command><![CDATA[cat > a <<EOF\nx]]></command>"), `+command "cat > a <<EOF\nx"`)
}

func TestX5Entities(t *testing.T) {
	for in, want := range map[string]string{
		"a &amp;&amp; b":                "a && b",
		"a && b &amp; c":                "a && b &amp; c",
		"a < b &amp; c":                 "a < b &amp; c",
		"&lt;&gt;&quot;&apos;":          `<>"'`,
		"&#65;&#x42;&#X43;":             "ABC",
		"&amp;lt;":                      "&lt;",
		"&nbsp;&amp;":                   "&nbsp;&amp;",
		"&#0;&amp;":                     "&#0;&amp;",
		"&#xD800;":                      "&#xD800;",
		"&#x110000;":                    "&#x110000;",
		"sleep 1 &":                     "sleep 1 &",
		"<![CDATA[a &amp; b]]>":         "a &amp; b",
		" <![CDATA[a]]> ":               "a",
		"a<![CDATA[&amp;]]>":            "a<![CDATA[&amp;]]>",
		"<![CDATA[a]]> b]]>":            "a]]> b",
		"<![CDATA[</command>]]>":        "</command>",
		"<![CDATA[a]]]]><![CDATA[>b]]>": "a]]>b",
	} {
		if r := Parse(root("<command>"+in+"</command>"), Options{}); r.Tools[0].Content != want || !r.Tools[0].Executable {
			t.Errorf("%q became %q; want %q", in, r.Tools[0].Content, want)
		}
	}
}

func TestX6OtherForm(t *testing.T) {
	for _, c := range []struct{ find, text, other string }{
		{"a &amp; b", "a & b", "a &amp; b"},
		{"a && &amp;", "a && &amp;", "a && &"},
		{"<p>&lt;</p>", "<p>&lt;</p>", "<p><</p>"},
		{"plain", "plain", "plain"},
		{"<![CDATA[&amp;]]>", "&amp;", "&amp;"},
	} {
		r := Parse(root(`<edit><file src="f"><find>`+c.find+`</find><replace>`+c.find+`</replace></file></edit>`), Options{})
		e := r.Tools[0].Files[0].Edits[0]
		if e.Find != c.text || e.FindOther != c.other || e.Replace != c.text || e.ReplaceOther != c.other {
			t.Errorf("%q gave %+v", c.find, e)
		}
	}
}

func TestX7Comments(t *testing.T) {
	expect(t, root("<!-- <command>no</command> --><command>a <!-- b --></command><!-- c -->"), `+command "a <!-- b -->"`)
	expect(t, "<tools><command>a</command><!-- <command>no</command></tools>", `+command "a"`, MissingRootClose, UnclosedComment)
	expect(t, "<tools><command>a</command> b <!-- <tools><command>no</command></tools>", `+command "a"`, MissingRootClose, IgnoredText, UnclosedComment)
	expect(t, "<!-- "+root("<command>a</command>")+" -->", "")
}

func TestX8Attributes(t *testing.T) {
	for in, want := range map[string]string{
		`<file src="a b"/>`: "a b;", `<file src='a "b"'/>`: `a "b";`, `<file src=a/>`: "a;", `<file src = "a" />`: "a;",
		`<FILE SRC="a"/>`: "a;", `<file src="a&amp;b"/>`: "a&b;", `<file src="a&b"/>`: "a&b;", `<file src="a>b"/>`: "a>b;",
		`<file>a</file>`: "a;", `<file> a &amp; b </file>`: "a & b;", `<file src="a"></file>`: "a;", `<file src='it's'/>`: "it's;",
	} {
		expect(t, root("<read>"+in+"</read>"), "+read "+want)
	}
	expect(t, root(`<read><file src="a" src="b"/></read>`), "+read a;", DuplicateAttribute)
	expect(t, root(`<read><file src="a" lines="1-2"/></read>`), "+read a;", UnknownAttribute)
	expect(t, root(`<read><file src=""/></read>`), "-read ", MissingAttribute)
	expect(t, root("<read><file src=\"a>\n<file src=\"b\"/></read>"), "+read a;b;", MissingClose, UnclosedQuote)
	expect(t, root("<read><file src=\"a/>\n<file src=\"b\"/></read>"), "+read a;b;", UnclosedQuote)
	expect(t, root("<read><file src=\"a\"\n<file src=\"b\"/></read>"), "+read a;b;", UnclosedTag, MissingClose)
	expect(t, root(`<command timeout="5">ls</command>`), `+command "ls"`, UnknownAttribute)
}

func TestX9TagCase(t *testing.T) {
	expect(t, "<TOOLS><Command>ls</COMMAND><Get_Value KEY='A' Reason='b'/></Tools>", "+command \"ls\"\n+get_value A|b|")
}

func TestX10UnknownTags(t *testing.T) {
	expect(t, root(`<python>x</python><command>ls</command>`), "-python \"x\"\n+command \"ls\"", UnknownTool)
	expect(t, root(`<执行>x</执行><command>ls</command>`), "-执行 \"x\"\n+command \"ls\"", UnknownTool)
	expect(t, root(`<dry_run><command>rm x</command></dry_run><command>ls</command>`), "-dry_run \"<command>rm x</command>\"\n+command \"ls\"", UnknownTool)
	expect(t, root(`<sleep><command>ls</command>`), "-sleep \"\"\n+command \"ls\"", UnknownTool)
	expect(t, root(`<mcp>{"a":1}</mcp><search query="x"/>`), "-mcp \"{\\\"a\\\":1}\"\n-search \"\"", NotAvailable)
	expect(t, root(`<edit><file src="a"><insert>x</insert></file></edit>`), "-edit a;", UnexpectedElement)
}

func TestX11CommandLayout(t *testing.T) {
	for in, want := range map[string]string{
		"\n  a\n    b\n  ":        "a\n  b",
		"\n\ta\n\t\tb\n":          "a\n\tb",
		"\n  a\n\tb\n":            "  a\n\tb",
		"\n\n  a\n\n":             "\na\n",
		"python -c \"\n  x\n\"":   "python -c \"\n  x\n\"",
		"\n  cat <<E\n  x\n  E\n": "cat <<E\nx\nE",
		"a\r\nb":                  "a\nb",
		"a \\ ":                   "a \\ ",
		"\n  a && \\\n    b\n":    "a && \\\n  b",
	} {
		if got := Parse(root("<command>"+in+"</command>"), Options{}).Tools[0].Content; got != want {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
	}
}

func TestX12EditForm(t *testing.T) {
	r := expect(t, root(`<edit><file src="a"><find all>x</find><replace></replace><find nth='3'>y</find><replace/></file></edit>`), `+edit a;"x">"";"y">"";`)
	if e := r.Tools[0].Files[0].Edits; !e[0].All || e[1].Nth != 3 {
		t.Errorf("pairs %+v", e)
	}
	expect(t, root(`<edit><file src="new"><find></find><replace>x</replace></file></edit>`), `+edit new;"">"x";`)
	expect(t, root("<edit><file src='a'><find>\n  x\n</find><replace> y </replace></file></edit>"), `+edit a;"\n  x\n">" y ";`)
	expect(t, root(`<edit><file src="a"><find nth="0">x</find><replace>y</replace></file></edit>`), `-edit a;"x">"y";`, InvalidAttribute)
	expect(t, root(`<edit><file src="a"><find nth="2" all="true">x</find><replace>y</replace></file></edit>`), `-edit a;"x">"y";`, InvalidAttribute)
	r = Parse(root("<edit><file src='a'><find>a\r\nb</find><replace>c\r\nd</replace></file></edit>"), Options{})
	if e := r.Tools[0].Files[0].Edits[0]; e.Find != "a\nb" || e.Replace != "c\nd" {
		t.Errorf("line ends: %+v", e)
	}
}

func TestX13ReadForm(t *testing.T) {
	expect(t, root(`<read><file src="src"/><file src="src/"/><file src=" a "/></read>`), "+read src;src/;a;")
}

func TestX15CommandIsAScript(t *testing.T) {
	// The body goes to the shell as one script; nothing joins or splits it.
	expect(t, root("<command>cd a\nexport B=1; ls |\\\n sort</command>"), `+command "cd a\nexport B=1; ls |\\\n sort"`)
}

func TestX16And17InputStaysSeparate(t *testing.T) {
	expect(t, root("<command>read x\n</command><input>1\\n</input>"), "+command \"read x\"\n+input \"1\\n\"")
}

func TestX18InputEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`y\n`: "y\n", `\r\t\e\0\\n`: "\r\t\x1b\x00\\n", `\x41\xfF`: "A\xff", `\u4f60`: "你", `\ud83d\ude00`: "😀",
		`\ud83d`: `\ud83d`, `\q\x4\u12`: `\q\x4\u12`, `a\`: `a\`, "\n   y\\n\n  ": "y\n", "\n  a\n    b\n": "a\n  b",
		" y": " y", "a &amp; b": "a & b", "<![CDATA[<y>\\n]]>": "<y>\n", "y\n": "y\n",
	} {
		r := Parse(root("<input>"+in+"</input>"), Options{})
		got := r.Tools[0].Content
		if got != want || !r.Tools[0].Executable {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
		ends := strings.HasSuffix(want, "\n") || strings.HasSuffix(want, "\r")
		if slices.Contains(r.Warnings, InputNoNewline) == ends {
			t.Errorf("%q: warnings %v", in, r.Warnings)
		}
	}
	expect(t, root(`<input>\n</input>`), `+input "\n"`)
	expect(t, root(`<input> </input>`), `+input " "`, InputNoNewline)
	expect(t, root(`<input></input>`), `-input ""`, EmptyValue)
}

func TestX19Control(t *testing.T) {
	for c := byte('a'); c <= 'z'; c++ {
		r := Parse(root("<ctrl>"+string(c)+"</ctrl>"), Options{})
		if b := r.Tools[0].Bytes; len(b) != 1 || b[0] != c-'a'+1 {
			t.Errorf("%c: bytes %v", c, b)
		}
	}
	for in, want := range map[string]string{
		"[": "[=1b", `\`: `\=1c`, "]": "]=1d", "^": "^=1e", "_": "_=1f", "?": "?=7f",
		"Ctrl+C": "c=03", "ctrl-d": "d=04", "CONTROL Z": "z=1a", "C-x": "x=18", "^C": "c=03", "^[": "[=1b", "^^": "^=1e", "Ctrl + [": "[=1b",
		"ESC": "esc=1b", "escape": "esc=1b", "Tab": "tab=09", "Enter": "enter=0d", "return": "enter=0d", "up": "up=1b5b41", "backspace": "backspace=7f",
		"SIGINT": "", "1": "", "": "", "cc": "", "ctrl+": "", "^CC": "", "é": "",
	} {
		r := Parse(root("<ctrl> "+in+" </ctrl>"), Options{})
		tool := r.Tools[0]
		got := ""
		if tool.Executable {
			got = fmt.Sprintf("%s=%x", tool.Content, tool.Bytes)
		}
		if got != want {
			t.Errorf("%q gave %q; want %q", in, got, want)
		}
	}
}

func TestX20GetValueIsForTheNextRound(t *testing.T) {
	r := expect(t, root(`<command>echo $KARYI{A}</command><get_value key="A" reason="r"/><read><file src="$KARYI{A}"/></read><command>echo $KARYI{B} $$KARYI{A}</command>`),
		"-command \"echo $KARYI{A}\"\n+get_value A|r|\n-read $KARYI{A};\n+command \"echo $KARYI{B} $$KARYI{A}\"", ValueNotReady)
	if d := r.Diagnostics; len(d) != 2 || d[0].Tool != 1 || d[1].Tool != 3 || d[0].Severity != finding.Error {
		t.Errorf("diagnostics %+v", d)
	}
	// Several roots are one round.
	expect(t, root(`<get_value key="A" reason="r"/>`)+root(`<command>$KARYI{A}</command>`), "+get_value A|r|\n-command \"$KARYI{A}\"", ValueNotReady)
}

func TestX21References(t *testing.T) {
	text := "a $KARYI{A} $$KARYI{B} $$$KARYI{C} $KARYI{1} $KARYI{_x9} $karyi{D} $KARYI{E F} $KARYI{"
	var got []string
	for r := range rawtext.References(text) {
		if !r.Malformed {
			got = append(got, fmt.Sprintf("%s%s", text[r.Start:r.End], map[bool]string{true: " escaped"}[r.Escaped]))
		}
	}
	want := []string{"$KARYI{A}", "$ escaped", "$ escaped", "$KARYI{_x9}"}
	if !slices.Equal(got, want) {
		t.Errorf("references %q; want %q", got, want)
	}
	r := Parse(root(`<edit><file src="$KARYI{S}"><find>$KARYI{F}$KARYI{S}</find><replace>$KARYI{R}</replace></file></edit>`+
		`<get_value key="K" reason="$KARYI{N}"/><input>$KARYI{I}\n</input><command>&#36;KARYI{Z} &amp;</command>`), Options{})
	for i, want := range [][]string{{"S", "F", "R"}, {"N"}, {"I"}, {"Z"}} {
		if !slices.Equal(r.Tools[i].Secrets, want) {
			t.Errorf("tool %d: secrets %v; want %v", i+1, r.Tools[i].Secrets, want)
		}
	}
	// Parsing comes first: a reference cannot make tags, and an escape in input
	// is decoded before the reference is found.
	expect(t, root("<input>\\x24KARYI{A}\\n</input>"), `+input "$KARYI{A}\n"`)
	expect(t, root("<command>$KARYI{a-b}</command>"), `+command "$KARYI{a-b}"`, MalformedReference)
}

func TestX22And23ParsedFormHoldsPlaceholders(t *testing.T) {
	// Redaction and policy look at the parsed form: it never holds a value, and
	// the script is whole.
	r := Parse(root("<command>a; b $KARYI{X} | c</command>"), Options{})
	if c := r.Calls("c"); c[0].Params["content"] != "a; b $KARYI{X} | c" {
		t.Errorf("call %+v", c[0])
	}
}
