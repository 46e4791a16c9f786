package tam

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

// One test per rule of the TAM specification (000) and of section 5 of the
// plugin specification (001); the name carries the section.

func TestSpec000_2_1_MarkersIgnoreCaseBlanksAndFences(t *testing.T) {
	for _, text := range []string{
		"<|[request_tool]|>\ncommand:»»»X«««\n<|[END_tool]|>",
		"  \t<|[REQUEST_TOOL]|>   \n\n command:»»»X«««\n\n   <|[END_TOOL]|>  \n\n",
		"```\n<|[REQUEST_TOOL]|>\ncommand:»»»X«««\n<|[END_TOOL]|>\n```",
		"```json\n<|[REQUEST_TOOL]|>\n```\ncommand:»»»X«««\n```\n<|[END_TOOL]|>\n```\n",
		"<| [REQUEST_TOOL] |>command:»»»X«««<| [END_TOOL] |>",
	} {
		r := Parse(text)
		if len(r.Blocks) != 1 || r.Text != "" || len(r.Calls()) != 1 || len(r.Blocks[0].Warnings) > 0 {
			t.Errorf("%q:\n%s", text, asJSON(r))
		}
	}
}

func TestSpec000_2_2_ValuesHoldAnythingWithoutEscapes(t *testing.T) {
	for _, v := range []string{
		`{"a": [1, "b\n"]}`, "多行\n\n文本", "«", "»", "a < b && c > d", "key: value", "# not a comment", "</tools>",
		"```go\nfunc f() {}\n```", "x, y,", "<|", "a:»b«", "if (x <<= 3) { y >>= 2 }", "\x00\x01",
	} {
		b := one(t, block("command:»»»X«««", "a:»»»"+v+"«««", "b:»»»2«««"))
		if v == "»" { // beside the delimiter it makes a longer run: written apart
			b = one(t, block("command:»»»X«««", "a:»»» "+v+" «««", "b:»»»2«««"))
		}
		wantParams(t, stepOf(t, b, 1), "a", v, "b", "2")
		wantCodes(t, b)
	}
}

func TestSpec000_2_2_OtherDelimitersAreReadWithAWarning(t *testing.T) {
	wantCodes(t, one(t, block("command:>>>X<<<")), AlternateDelimiters)
	wantCodes(t, one(t, block("command:»»»X", "a:»»»1«««")), MissingTerminator)
}

func TestSpec000_2_3_KeyNormalisation(t *testing.T) {
	for raw, want := range map[string]string{
		"File-Path 1": "file_path_1", "filePath_1": "file_path_1", "File Path_1": "file_path_1",
		"  a  ": "a", "ABC": "abc", "a--b__c  d": "a_b_c_d", "HTTPServer": "http_server", "md5Sum": "md5_sum", "a.b/c": "a_b_c",
	} {
		if got := normaliseKey(raw); got != want {
			t.Errorf("normaliseKey(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestSpec000_3_1_StepsRunInNumericOrder(t *testing.T) {
	calls := Parse(block("command_3:»»»C«««", "file_path_1:»»»a«««", "command_1:»»»A«««", "command_2:»»»B«««")).Calls()
	if len(calls) != 3 || calls[0].Tool != "A" || calls[1].Tool != "B" || calls[2].Tool != "C" || calls[0].Params["file_path"] != "a" {
		t.Errorf("%+v", calls)
	}
}

func TestSpec000_3_3_URIFormat(t *testing.T) {
	calls := Parse(block("command_1:»»»X«««", "uri_image_1:»»»fam://project-data/images/input.png«««")).Calls()
	if calls[0].URIs["image"] != "fam://project-data/images/input.png" || len(calls[0].Params) != 0 {
		t.Errorf("%+v", calls)
	}
}

func TestSpec000_4_CommandIsRequired(t *testing.T) {
	b := one(t, block("a:»»»1«««"))
	wantCodes(t, b, NoCommand)
	wantRuns(t, b, false)
}

func TestSpec000_4_OnErrorAndRetry(t *testing.T) {
	c := Parse(block("command_1:»»»X«««", "command_2:»»»Y«««", "on_error_1:»»»continue«««", "retry_1:»»»3«««")).Calls()
	if c[0].OnError != protocol.OnErrorContinue || c[0].Retry != 3 || c[1].OnError != protocol.OnErrorStop || c[1].Retry != 0 {
		t.Errorf("%+v", c)
	}
}

func TestSpec000_4_TypeHintURICommonRequestIDComment(t *testing.T) {
	b := one(t, block("request_id:»»»req-abc-123«««", "comment:»»»Debug note...«««", "common_project_id:»»»proj-123«««",
		"command_2:»»»X«««", "type_hint_payload_2:»»»json«««", "payload_2:»»»{}«««", "uri_source_file_2:»»»fam://s«««", "param_name_2:»»»p«««"))
	c := stepOf(t, b, 2)
	wantParams(t, c, "payload", "{}", "project_id", "proj-123", "param_name", "p")
	if b.RequestID != "req-abc-123" || c.TypeHints["payload"] != "json" || c.URIs["source_file"] != "fam://s" || !slices.Equal(b.Notes, []string{"Debug note..."}) {
		t.Errorf("%+v", b)
	}
}

// specification texts as they stand in the golden files
func goldenInput(t *testing.T, name string) string {
	t.Helper()
	for _, c := range goldenCases(t) {
		if c.name == name {
			return c.input
		}
	}
	t.Fatal("no golden file " + name)
	return ""
}

func TestSpec000_5_1_SingleStep(t *testing.T) {
	r := Parse(goldenInput(t, "000_5.1_single_step"))
	wantParams(t, stepOf(t, r.Blocks[0], 1), "file_path", "/path/to/main.js", "search_string", `console.log("old");`, "replace_string", `console.log("new");`)
	if r.Text != "我来修改。" {
		t.Errorf("text %q", r.Text)
	}
}

func TestSpec000_5_2_Workflow(t *testing.T) {
	b := one(t, goldenInput(t, "000_5.2_workflow"))
	dir := "fam://project-x/reports/today"
	wantParams(t, stepOf(t, b, 1), "prompt", "一只戴着宇航头盔的猫头鹰，赛博朋克风格", "output_uri", "@{common_output_dir}/cover.png", "output_dir", dir)
	wantParams(t, stepOf(t, b, 2), "file_path", "@{common_output_dir}/run.log", "content", "-- Report generation started at @{timestamp} --", "output_dir", dir)
	if c := stepOf(t, b, 3); c.TypeHints["payload"] != "json" || !strings.HasPrefix(c.Params["payload"], "{\n  \"title\"") || stepOf(t, b, 1).OnError != protocol.OnErrorContinue {
		t.Errorf("%+v", b)
	}
	wantCodes(t, b)
}

func TestSpec000_5_3_Lenient(t *testing.T) {
	b := one(t, goldenInput(t, "000_5.3_lenient"))
	wantParams(t, stepOf(t, b, 1), "file_path", "/logs/today.log", "content", "start…\nanother line")
	wantCodes(t, b, MixedDelimiters)
	if !slices.Equal(b.Notes, []string{"我的计划"}) {
		t.Error(b.Notes)
	}
}

func TestSpec001_5_1_1_Single(t *testing.T) {
	b := one(t, goldenInput(t, "001_5.1.1_single"))
	wantParams(t, stepOf(t, b, 1), "parameter_a", "参数值 A", "parameter_b", "参数值 B，\n可以是多行。")
}

func TestSpec001_5_1_2_Serial(t *testing.T) {
	b := one(t, goldenInput(t, "001_5.1.2_serial"))
	wantParams(t, stepOf(t, b, 1), "file_path", "/logs/today.log", "content", "任务开始...")
	wantParams(t, stepOf(t, b, 2), "file_path", "/logs/today.log", "content", `\n添加新记录。`)
}

func TestParse_PlainTextCostsNothing(t *testing.T) {
	text := prose(8*kib) + "<table> and <i>, x <| y, <|im_end|>"
	if n := testing.AllocsPerRun(20, func() { Parse(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReformat_Canonical(t *testing.T) {
	got := Reformat(block("Command_1: >>>File.Write<<<", "path:»»»p«««", "content:「始RAW」a\n「末RAW」") +
		block("request_id:»»»r«««", "command_1:»»»Doc«««", "on_error_1:»»»CONTINUE«««", "n_1:»»»3«««", "type_hint_n_1:»»»JSON«««", "text_1:»»»»k:»»»v««« ««««",
			"command_2:»»»Shell«««", "retry_2:»»»2«««", "uri_in_2:»»»fam://i«««", "sha1_2:»»»x«««") +
		block("command:»»»Run«««", "common_command:»»»ls«««", "# a note"))
	want := block("command:»»»File.Write«««", "content:「始RAW」a\n「末RAW」", "path:»»»p«««") +
		block("request_id:»»»r«««", "", "command_1:»»»Doc«««", "on_error_1:»»»continue«««", "type_hint_n_1:»»»json«««", "n_1:»»»3«««", "text_1:「始RAW」k:»»»v«««「末RAW」",
			"", "command_2:»»»Shell«««", "retry_2:»»»2«««", "uri_in_2:»»»fam://i«««", "sha1_2:»»»x«««") +
		block("common_command:»»»ls«««", "# a note", "command:»»»Run«««")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReformat_LeavesWhatItCannotWrite(t *testing.T) {
	head, middle := startMarker+"\ncommand:»»»X«««\na:»»»"+strings.Repeat("x", 128*kib)+"«««\ncommand:»»»Y«««\na:»»»", "«««\n"
	large := head + strings.Repeat("y", 256*kib-len(head)-len(middle)) + middle + endMarker
	if !Parse(large).Blocks[0].Executable {
		t.Fatal("the block does not run")
	}
	for _, text := range []string{
		block("command_1:»»»X«««", "a_2:>>>1<<<"), // an orphan
		block("a:>>>1<<<"), // nothing to run
		large,              // with step numbers it is beyond the limit
	} {
		if got := Reformat(text); got != text {
			t.Errorf("%.200q is rewritten as %.200q", text, got)
		}
	}
}

func TestReformat(t *testing.T) {
	src := "Hello.\n```\n" + block("# plan", "Command: >>>X<<<", "A:»»» 1 «««") + "```\nBad: " + block("a:»»»1«««") + "end"
	want := "Hello.\n```\n" + block("# plan", "command:»»»X«««", "a:»»»1«««") + "```\nBad: " + block("a:»»»1«««") + "end"
	got := Reformat(src)
	if got != want || Reformat(got) != got {
		t.Errorf("%s", got)
	}
}

func TestPretty(t *testing.T) {
	src := goldenInput(t, "000_5.3_lenient")
	want := `1 │ <|[REQUEST_TOOL]|>
2 │   # 我的计划
3 │   Command_1: >>>File.Write<<<
  │   ^^^^^^^^^^^^^^ warning mixed_delimiters_used: received delimiters of several families (here angle); expected »»» and ««« throughout
4 │   File-Path 1:»»» /logs/today.log «««
5 │   CONTENT1:»»»start…
6 │   another line«««
7 │ <|[END_TOOL]|>
8 │ 
` + "block 1: runs\n  step 1: File.Write (2 params)\n"
	if got := Pretty(src, Parse(src)); got != want {
		t.Errorf("%s", got)
	}
}

// TestDoc_Examples runs every pair of ```tam and ```json blocks of the format
// page: the first parsed is the second.
func TestDoc_Examples(t *testing.T) {
	raw := doctest.Page(t, "formats/tam.md")
	pairs := regexp.MustCompile("(?s)~~~~tam\n(.*?)~~~~\n.*?~~~~json\n(.*?)~~~~\n").FindAllStringSubmatch(raw, -1)
	if len(pairs) < 2 {
		t.Fatalf("%d examples", len(pairs))
	}
	for _, p := range pairs {
		if got := goldenJSON(t, Parse(p[1])); got != p[2] {
			t.Errorf("the page is wrong about\n%s\ngot\n%s", p[1], got)
		}
	}
}
