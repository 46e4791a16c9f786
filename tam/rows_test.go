package tam

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// The rows T1 to T40 of the decisions about TAM, one test each. Where a row has
// many faces, testdata/golden shows them.

func block(lines ...string) string {
	return startMarker + "\n" + strings.Join(lines, "\n") + "\n" + endMarker + "\n"
}

// one parses a text with exactly one block.
func one(t *testing.T, text string) Block {
	t.Helper()
	r := Parse(text)
	if len(r.Blocks) != 1 {
		t.Fatalf("%d blocks, want 1:\n%s", len(r.Blocks), asJSON(r))
	}
	return r.Blocks[0]
}

func stepOf(t *testing.T, b Block, index int) Command {
	t.Helper()
	for _, c := range b.Commands {
		if c.Index == index {
			return c
		}
	}
	t.Fatalf("no step %d in %+v", index, b.Commands)
	return Command{}
}

func wantParams(t *testing.T, c Command, kv ...string) {
	t.Helper()
	want := Texts{}
	for i := 0; i < len(kv); i += 2 {
		want[kv[i]] = kv[i+1]
	}
	if len(c.Params) != len(want) || len(want) > 0 && !reflect.DeepEqual(c.Params, want) {
		t.Errorf("step %d: params %q, want %q", c.Index, c.Params, want)
	}
}

func wantCodes(t *testing.T, b Block, codes ...Code) {
	t.Helper()
	if !slices.Equal(b.Warnings, codes) {
		t.Errorf("warnings %v, want %v", b.Warnings, codes)
	}
}

func wantRuns(t *testing.T, b Block, runs bool) {
	t.Helper()
	if b.Executable != runs {
		t.Errorf("executable %v, want %v: %v", b.Executable, runs, b.Diagnostics)
	}
}

func TestT01_DelimiterFamilies(t *testing.T) {
	for _, c := range []struct{ open, end, family string }{
		{"»»»", "«««", "std"}, {">>>", "<<<", "angle"}, {"「始」", "「末」", "corner"}, {"》》》", "《《《", "book"},
		{"›››", "‹‹‹", "single"}, {"»»", "««", "double"}, {"{始}", "{末}", "brace"},
	} {
		b := one(t, block("command:"+c.open+"X"+c.end, "a:"+c.open+"1\n2"+c.end))
		wantParams(t, stepOf(t, b, 1), "a", "1\n2")
		if f := b.Commands[0].Fields["a"].Family; f != c.family {
			t.Errorf("family %s, want %s", f, c.family)
		}
	}
	wantParams(t, stepOf(t, one(t, block("command:»»»X<<<", "a:「始」1«««")), 1), "a", "1")
}

func TestT02_CamelCaseIsSplit(t *testing.T) {
	for _, key := range []string{"File-Path 1", "filePath_1", "File Path_1", "FilePath1", "FILE_PATH_1"} {
		wantParams(t, stepOf(t, one(t, block("command_1:»»»X«««", key+":»»»p«««")), 1), "file_path", "p")
	}
}

func TestT03_GluedNumberIsAStepOnlyIfItExists(t *testing.T) {
	b := one(t, block("command1:»»»X«««", "CONTENT1:»»»c«««", "sha256:»»»h«««", "md5:»»»m«««"))
	wantParams(t, stepOf(t, b, 1), "content", "c", "sha256", "h", "md5", "m")
	wantCodes(t, b)
}

func TestT04_UnicodeKeys(t *testing.T) {
	b := one(t, block("**command**:»»»X«««", "文件路径：»»»p«««", "ｎａｍｅ＿２ｘ:»»»n«««", "__a--b__:»»»c«««"))
	wantParams(t, stepOf(t, b, 1), "文件路径", "p", "name_2x", "n", "a_b", "c")
}

func TestT05_DedentByTheKeysIndentation(t *testing.T) {
	b := one(t, block("  command:»»»X«««", "  a:»»»1", "    2", " 3«««", "b:»»»x:", "  y«««"))
	wantParams(t, stepOf(t, b, 1), "a", "1\n  2\n3", "b", "x:\n  y")
}

func TestT06_RawSpanKeepsTheBytes(t *testing.T) {
	src := block("command:»»»X«««", "  a:»»» 1\r\n    2 «««")
	c := stepOf(t, one(t, src), 1)
	wantParams(t, c, "a", "1\n  2")
	at := c.Fields["a"].ValueSpan
	if raw := src[at[0]:at[1]]; raw != " 1\r\n    2 " {
		t.Errorf("raw %q", raw)
	}
}

func TestT07_BackslashesStay(t *testing.T) {
	b := one(t, block("command:»»»X«««", `a:»»»\n\t\\«««`, "type_hint_a:»»»escaped«««"))
	wantParams(t, stepOf(t, b, 1), "a", `\n\t\\`)
	wantCodes(t, b)
}

func TestT08_OneWarningForDelimiters(t *testing.T) {
	wantCodes(t, one(t, block("# c", "Command-1:>>>X<<<", "a_1:»»»1«««", "b_1:「始」2「末」")), MixedDelimiters)
	wantCodes(t, one(t, block("command:>>>X<<<", "a:>>>1<<<")), AlternateDelimiters)
	wantCodes(t, one(t, block("**Command**:»»»X«««")))
}

func TestT09_StructuralCloserAndNesting(t *testing.T) {
	for _, tail := range []string{"", " ,", " # note", " // note", ",  b:»»»2«««", "```", "  \r", "，"} {
		b := one(t, block("command:»»»X«««", "a:»»»x ««« y«««"+tail))
		if b.Commands[0].Params["a"] != "x ««« y" {
			t.Errorf("tail %q: %q", tail, b.Commands[0].Params)
		}
	}
	quoted := strings.TrimSpace(block("command_1:»»»Y«««", "text_1:»»»a\nb«««"))
	b := one(t, block("command:»»»X«««", "a:»»»see\n"+quoted+"\nend", "«««", "c:»»»3«««"))
	wantParams(t, stepOf(t, b, 1), "a", "see\n"+quoted+"\nend", "c", "3")
	wantCodes(t, b)
}

func TestT10_EscapeHatches(t *testing.T) {
	b := one(t, block("command:»»»X«««", "a:»»»»b:»»»1«««\n«««\n»»»««««", "b:»»»2«««"))
	wantParams(t, stepOf(t, b, 1), "a", "b:»»»1«««\n«««\n»»»", "b", "2")
	b = one(t, block("command:「始」X「末」", "a:「始escape」「末」\nk:「始」「末ESCAPE」", "b:「始」2「末」"))
	wantParams(t, stepOf(t, b, 1), "a", "「末」\nk:「始」", "b", "2")
}

func TestT11_EndMarkerInsideAValue(t *testing.T) {
	b := one(t, block("command:»»»X«««", "a:»»»say "+endMarker+" twice «««"))
	wantParams(t, stepOf(t, b, 1), "a", "say "+endMarker+" twice")
	r := Parse(block("command:»»»X«««", "a:»»»open") + block("command:»»»Y«««", "b:»»»2«««"))
	if len(r.Blocks) != 2 || r.Blocks[0].Commands[0].Params["a"] != "open" {
		t.Fatal(asJSON(r))
	}
	wantCodes(t, r.Blocks[0], MissingTerminator)
}

func TestT12_UnterminatedValue(t *testing.T) {
	b := one(t, block("command:»»»X", "a:»»»1«««", "b:»»»2"))
	wantParams(t, stepOf(t, b, 1), "a", "1", "b", "2")
	wantCodes(t, b, MissingTerminator)
	wantRuns(t, b, true)
	b = one(t, startMarker+"\ncommand:»»»Weather«««\ncity:»»»New Yor")
	if b.Complete || !slices.Contains(b.Warnings, Truncated) {
		t.Error(b)
	}
	wantRuns(t, b, false)
}

func TestT13_MissingEndMarker(t *testing.T) {
	text := startMarker + "\ncommand:»»»X«««\na:»»»1«««\n"
	b := one(t, text)
	wantCodes(t, b, MissingEndMarker)
	wantRuns(t, b, true)
	for _, why := range []protocol.FinishReason{protocol.FinishLength, protocol.FinishFiltered} {
		if b := (Options{Finish: why}).Parse(text).Blocks[0]; b.Executable || b.Complete {
			t.Errorf("%s: runs", why)
		}
		whole := Options{Finish: why}.Parse(block("command:»»»X«««"))
		wantRuns(t, whole.Blocks[0], true)
	}
	if r := Parse(text + block("command:»»»Y«««")); len(r.Blocks) != 2 || !r.Blocks[0].Executable || !r.Blocks[1].Executable {
		t.Error(asJSON(r))
	}
}

func TestT14_Fences(t *testing.T) {
	r := Parse("a\n\n```tam title=x\n" + startMarker + "\n~~~\ncommand:»»»X«««\n~~~\n" + endMarker + "\n```\n\nb")
	if r.Text != "a\n\nb" || len(r.Blocks) != 1 || len(r.Blocks[0].Warnings) > 0 {
		t.Error(asJSON(r))
	}
	if r := Parse(block("command:»»»X«««") + "```go\ncode\n```\n"); r.Text != "```go\ncode\n```\n" {
		t.Errorf("text %q", r.Text)
	}
}

func TestT15_ReasoningIsMasked(t *testing.T) {
	for _, name := range []string{"think", "thinking", "THINK"} {
		r := Parse("<" + name + " a=b>" + block("command:»»»No«««") + "</" + name + ">" + block("command:»»»X«««", "a:»»»<think>1«««"))
		if len(r.Blocks) != 1 || r.Blocks[0].Commands[0].Params["a"] != "<think>1" || r.Text != "" || r.Diagnostics[0].Code != InReasoning {
			t.Error(asJSON(r))
		}
	}
}

func TestT16_MentionsAreNoCalls(t *testing.T) {
	text := "Use `" + startMarker + "` and `" + endMarker + "`.\n"
	if r := Parse(text); r.Text != text || len(r.Blocks) != 0 || r.Diagnostics[0].Code != EmptyBlock {
		t.Error(asJSON(r))
	}
	wantRuns(t, one(t, block("a:»»»1«««")), false)
	long := startMarker + strings.Repeat(" word", 2000) + "\ncommand:»»»X«««"
	if r := Parse(long); r.Text != long || len(r.Blocks) != 0 {
		t.Error("a field behind 4 KiB of prose makes a mention a call")
	}
}

func TestT17_AllBlocksInOrder(t *testing.T) {
	r := Parse(block("request_id:»»»r«««", "command_1:»»»A«««", "common_x:»»»1«««") + "mid\n" + block("command_1:»»»B«««"))
	calls := r.Calls()
	if len(calls) != 2 || calls[0].Tool != "A" || calls[1].Tool != "B" || calls[1].RequestID != "" || len(calls[1].Params) != 0 {
		t.Errorf("%+v", calls)
	}
}

func TestT18_CommentsAreNotes(t *testing.T) {
	b := one(t, block("# one", "// two", "command:»»»X««« # three", "a:»»»# in\n// value«««"))
	if !slices.Equal(b.Notes, []string{"one", "two", "three"}) {
		t.Errorf("notes %q", b.Notes)
	}
	wantParams(t, stepOf(t, b, 1), "a", "# in\n// value")
	wantCodes(t, b)
}

func TestT19_JunkAndBareValues(t *testing.T) {
	b := one(t, block("- command:»»»X«««,", "* **a**: »»»1«««", "hello there", "b: 2"))
	wantParams(t, stepOf(t, b, 1), "a", "1")
	wantCodes(t, b, IgnoredText)
	known := Options{IsTool: func(id string) bool { return id == "File.Write" }}
	b = known.Parse(block("command: `File.Write`", "a:»»»1«««")).Blocks[0]
	wantCodes(t, b, BareValue)
	wantRuns(t, b, true)
	b = known.Parse(block("command: Other", "a:»»»1«««")).Blocks[0]
	wantRuns(t, b, false)
}

func TestT20_SingleCommandIsStepOne(t *testing.T) {
	wantParams(t, stepOf(t, one(t, block("command:»»»X«««", "a_1:»»»1«««")), 1), "a", "1")
	wantParams(t, stepOf(t, one(t, block("command:»»»X«««", "image_1:»»»1«««", "image_2:»»»2«««")), 1), "image_1", "1", "image_2", "2")
	wantParams(t, stepOf(t, one(t, block("command:»»»X«««", "a:»»»0«««", "a_1:»»»1«««")), 1), "a", "0", "a_1", "1")
}

func TestT21_CommandBesideCommandN(t *testing.T) {
	b := one(t, block("command:»»»X«««", "command_1:»»»X«««"))
	if wantCodes(t, b); len(b.Commands) != 1 {
		t.Error(b.Commands)
	}
	b = one(t, block("command:»»»X«««", "command_1:»»»Y«««"))
	wantCodes(t, b, MixedCommandIndexing)
	if stepOf(t, b, 0).ToolID != "X" || b.Commands[0].Index != 0 {
		t.Error(b.Commands)
	}
	b = one(t, block("command:»»»X«««", "command_2:»»»Y«««"))
	if wantCodes(t, b); stepOf(t, b, 1).ToolID != "X" || stepOf(t, b, 2).ToolID != "Y" {
		t.Error(b.Commands)
	}
}

func TestT22_RepeatedCommand(t *testing.T) {
	b := one(t, block("command:»»»X«««", "a:»»»1«««", "command:»»»X«««", "a:»»»2«««", "command:»»»Y«««"))
	wantCodes(t, b, RepeatedCommand)
	wantParams(t, stepOf(t, b, 1), "a", "1")
	wantParams(t, stepOf(t, b, 2), "a", "2")
	wantParams(t, stepOf(t, b, 3))
}

func TestT23_UnindexedParam(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "a:»»»1«««", "command_2:»»»Y«««"))
	wantCodes(t, b, UnindexedParam)
	wantParams(t, stepOf(t, b, 1), "a", "1")
	wantParams(t, stepOf(t, b, 2))
}

func TestT24_OrphanIsReported(t *testing.T) {
	r := Parse(block("command_1:»»»X«««", "a_5:»»»1«««"))
	wantCodes(t, r.Blocks[0], OrphanParam)
	wantParams(t, stepOf(t, r.Blocks[0], 1))
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].Message, "command_5") || p[0].NotRun {
		t.Error(p)
	}
	if in := r.Calls()[0]; in.Orphans["a_5"] != "1" {
		t.Error(in)
	}
}

func TestT25_NumericOrderWithGaps(t *testing.T) {
	b := one(t, block("command_10:»»»C«««", "command_2:»»»B«««", "command_01:»»»A«««", "x_11:»»»no«««", "x_1:»»»1«««"))
	var got []int
	for _, c := range b.Commands {
		got = append(got, c.Index)
	}
	if !slices.Equal(got, []int{1, 2, 10}) {
		t.Error(got)
	}
	wantParams(t, stepOf(t, b, 1), "x", "1")
	wantCodes(t, b, OrphanParam)
}

func TestT26_OnlyTheLastNumberIsTheStep(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "step_2_name_1:»»»n«««"))
	wantParams(t, stepOf(t, b, 1), "step_2_name", "n")
}

func TestT27_Duplicates(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "File Path_1:»»»1«««", "filePath_1:»»»2«««"))
	wantParams(t, stepOf(t, b, 1), "file_path", "2")
	wantCodes(t, b, DuplicateKey)
	b = one(t, block("command_1:»»»X«««", "command_1:»»»Y«««"))
	wantCodes(t, b, DuplicateCommand)
	wantRuns(t, b, false)
}

func TestT28_URIs(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "uri_image_1:»»»fam://a«««", "output_uri_1:»»»o«««", "uri_1:»»»u«««"))
	wantParams(t, stepOf(t, b, 1), "output_uri", "o", "uri", "u")
	if u := stepOf(t, b, 1).URIs; len(u) != 1 || u["image"] != "fam://a" {
		t.Error(u)
	}
	b = one(t, block("command:»»»X«««", "a:»»»1«««", "uri_a:»»»fam://a«««", "b:»»»«««", "uri_b:»»»fam://b«««"))
	wantCodes(t, b, URIConflict)
	wantParams(t, stepOf(t, b, 1), "a", "1")
	if u := stepOf(t, b, 1).URIs; len(u) != 1 || u["b"] != "fam://b" {
		t.Error(u)
	}
}

func TestT29_TypeHints(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "a_1:»»»{}«««", "type_hint_a_1:»»»JSON«««", "b_1:»»»x«««", "type_hint_b_1:»»»what«««", "type_hint_c_1:»»»json«««"))
	if h := stepOf(t, b, 1).TypeHints; len(h) != 2 || h["a"] != "json" || h["b"] != "text" {
		t.Error(h)
	}
	wantCodes(t, b, UnknownTypeHint, OrphanHint)
}

func TestT30_CommonParams(t *testing.T) {
	b := one(t, block("command_1:»»»X«««", "command_2:»»»Y«««", "dir_2:»»»own«««", "common_dir:»»»all«««"))
	wantParams(t, stepOf(t, b, 1), "dir", "all")
	wantParams(t, stepOf(t, b, 2), "dir", "own")
	if b.Common["dir"] != "all" || !slices.Equal(b.Commands[0].Inherited, []string{"dir"}) || len(b.Commands[1].Inherited) > 0 {
		t.Errorf("%+v", b)
	}
}

func TestT31_ReservedNames(t *testing.T) {
	b := one(t, block("comment:»»»for people«««", "request_id:»»»r«««", "command:»»»AddComment«««", "comment_1:»»»text«««"))
	wantParams(t, stepOf(t, b, 1), "comment", "text")
	if b.RequestID != "r" || !slices.Equal(b.Notes, []string{"for people"}) {
		t.Error(b)
	}
}

func TestT32_Controls(t *testing.T) {
	b := one(t, block("on_error:»»»CONTINUE«««", "retry:»»»3«««", "command_1:»»»X«««", "command_2:»»»Y«««", "on_error_2:»»»stop«««", "retry_2:»»»11«««"))
	x, y := stepOf(t, b, 1), stepOf(t, b, 2)
	if x.OnError != protocol.OnErrorContinue || x.Retry != 3 || y.OnError != protocol.OnErrorStop || y.Retry != 10 {
		t.Errorf("%+v %+v", x, y)
	}
	wantCodes(t, b, InvalidControlValue)
	for _, bad := range []string{"on_error:»»»perhaps«««", "retry:»»»-1«««", "retry:»»»two«««"} {
		b := one(t, block("command:»»»X«««", bad))
		wantCodes(t, b, InvalidControlValue)
		if c := stepOf(t, b, 1); c.OnError != protocol.OnErrorStop || c.Retry != 0 {
			t.Errorf("%s: %+v", bad, c)
		}
	}
}

func TestT33_RequestIDReachesEveryCall(t *testing.T) {
	calls := Parse(block("request_id:»»»r-1«««", "command_1:»»»X«««", "command_2:»»»Y«««")).Calls()
	if len(calls) != 2 || calls[0].RequestID != "r-1" || calls[1].RequestID != "r-1" || calls[0].ID == calls[1].ID {
		t.Errorf("%+v", calls)
	}
}

func TestT34_URIsOfParamsAreCarriedVerbatim(t *testing.T) {
	calls := Parse(block("command_1:»»»X«««", "output_uri_1:»»»fam://o«««", "command_2:»»»Y«««", "uri_in_2:»»»fam://o«««")).Calls()
	if calls[0].Params["output_uri"] != "fam://o" || calls[1].URIs["in"] != "fam://o" {
		t.Errorf("%+v", calls)
	}
}

func TestT35_ReferencesStay(t *testing.T) {
	b := one(t, block("command:»»»X«««", "a:»»»@{common_dir}/@{timestamp}«««", "common_dir:»»»d«««"))
	wantParams(t, stepOf(t, b, 1), "a", "@{common_dir}/@{timestamp}", "dir", "d")
}

func TestT36_ToolIDsStayVerbatim(t *testing.T) {
	for _, id := range []string{"File.Write", "BilibiliFetch:getSubtitle", "workflow:x", "ReadPrivateStateTool"} {
		if got := stepOf(t, one(t, block("command:»»» "+id+" «««")), 1).ToolID; got != id {
			t.Errorf("%q, want %q", got, id)
		}
	}
}

func TestT37_LineEndsAndInvisibleCharacters(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(block("\u200bcom\u200bmand\u00a0:»»»X«««", "a:»»»1\n2\u200b3«««"), "\n", "\r\n")
	text = strings.Replace(text, "REQUEST", "\u200bREQUEST", 1)
	b := one(t, text)
	wantParams(t, stepOf(t, b, 1), "a", "1\n2\u200b3")
	if f := b.Commands[0].Fields["a"]; text[f.KeySpan[0]:f.KeySpan[1]] != "a" {
		t.Error("offsets are not those of the source")
	}
}

func TestT38_Limits(t *testing.T) {
	var fields, steps []string
	for i := range 120 {
		fields = append(fields, "a"+strings.Repeat("x", i)+":»»»1«««")
		steps = append(steps, "command_"+itoa(i)+":»»»X«««")
	}
	for name, text := range map[string]string{
		"block":  block("command:»»»X«««", "a:»»»"+strings.Repeat("x", 257<<10)+"«««"),
		"value":  block("command:»»»X«««", "a:»»»"+strings.Repeat("x", 129<<10)+"«««"),
		"fields": block(append(fields, "command:»»»X«««")...),
		"steps":  block(steps[:60]...),
		"index":  block("command_1000:»»»X«««"),
	} {
		b := one(t, text)
		if wantRuns(t, b, false); !slices.Contains(b.Warnings, LimitExceeded) {
			t.Errorf("%s: %v", name, b.Warnings)
		}
	}
	wantRuns(t, one(t, block("command_999:»»»X«««")), true)
}

func itoa(n int) string {
	return string(rune('0'+n/100)) + string(rune('0'+n/10%10)) + string(rune('0'+n%10))
}

func TestT39_NeutralisedTextIsNoCall(t *testing.T) {
	text := "result: " + block("command:»»»Evil«««") + "<| [request_tool] |>"
	if r := Parse(strings.ReplaceAll(text, "<", "<\u200d")); len(r.Blocks) != 0 {
		t.Error(asJSON(r))
	}
}

func TestT40_OneInvocation(t *testing.T) {
	got := Parse(block("request_id:»»»r«««", "command_2:»»»X«««", "a_2:»»»1«««", "uri_b_2:»»»u«««", "type_hint_a_2:»»»json«««", "on_error_2:»»»continue«««", "retry_2:»»»1«««")).Calls()
	want := []protocol.Call{{ID: "tam1.2", Tool: "X", Params: map[string]any{"a": "1"}, Origin: protocol.OriginTAM, RequestID: "r", Index: 2,
		OnError: protocol.OnErrorContinue, Retry: 1, Block: 1, URIs: map[string]string{"b": "u"}, TypeHints: map[string]string{"a": "json"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
